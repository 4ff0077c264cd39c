package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
	"github.com/relock-dev/relock/internal/worktree"
)

// toolCaches are directories that the tools fill. On disk, their content is nobody's work.
// If it is committed, the tools read it, and no reviewer does.
var toolCaches = []string{".terraform", ".terragrunt-cache"}

// inToolCache reports whether a file is below such a directory.
func inToolCache(name string) bool { return worktree.Within(name, toolCaches) }

// withPassed adds to an inventory the lock files that a search of a tree has passed over.
// Each is judged by its hashes, or counted as excluded, or named as not looked at.
func withPassed(ctx context.Context, j job, s inventory, t tree, passed []scan.Passed) inventory {
	if len(passed) == 0 {
		return s
	}
	opts := j.scan
	below := newPassedLocks(t)
	var judged []string
	for _, p := range passed {
		name := path.Join(p.Dir, lockfile.Name)
		switch {
		case p.Why == scan.NotSelected:
			s.excluded = append(s.excluded, j.names(t).Of(name))
			continue
		case p.Why == scan.NotListed && opts.Excludes(p.Dir):
			s.excluded = append(s.excluded, j.names(t).Of(p.Dir)+"/")
			continue
		case p.Why == scan.NotListed:
			s.unseen.add(notReadable, j.names(t).Of, p.Dir+"/")
			continue
		}
		names, err := below.locks(p.Dir)
		if err != nil { // the path exists and is unreadable
			s.unseen.add(notReadable, j.names(t).Of, p.Dir+"/")
		}
		for _, name := range names {
			dir := path.Dir(name)
			switch {
			case !opts.Selects(dir):
				s.excluded = append(s.excluded, j.names(t).Of(name))
			case p.Why == scan.NotUTF8:
				s.unseen.add(notReadable, j.names(t).Of, name)
			case judgesHashes(j, s.extent, name):
				judged = append(judged, dir)
			case s.extent.touched == nil:
				s.unseen.add(inHiddenDir, j.names(t).Of, name)
			}
		}
	}
	for _, m := range scan.Alone(ctx, t.FS(), judged, opts) {
		f := found{tree: t, module: markUncontacted(j, m), hashesOnly: true}
		switch {
		case j.ask.touched != nil && !j.ask.touched(m):
		case j.ask.verb == verbs.Verify:
			s.found = append(s.found, f)
		default:
			s.hashesOnly = append(s.hashesOnly, f)
		}
	}
	return s
}

// judgesHashes reports whether a run judges a lock file that no search reaches: verify
// always does, and a check does if the change touches the file.
func judgesHashes(j job, narrowed extent, name string) bool {
	switch {
	case j.ask.verb == verbs.Verify:
		return true
	case j.ask.verb != verbs.Check || j.ask.change == nil && j.ask.touched == nil:
		return false
	case narrowed.changed == nil: // it is unknown what was changed
		return true
	}
	return narrowed.changed.anywhere || narrowed.changed.hasFile(name)
}

// passedLocks finds the lock files of a repository below directories. In git these are the
// files of HEAD, and files on disk that git does not ignore. Outside of git it looks at the
// disk only, and on GitHub at the commit only.
type passedLocks struct {
	tree    tree
	ignored *worktree.IgnoreFiles
	head    *worktree.Revision // nil: there is none, or it is unreadable
}

func newPassedLocks(t tree) passedLocks {
	k := passedLocks{tree: t, ignored: worktree.ReadIgnoreFiles(t.root)}
	if t.remote != nil || t.loose {
		return k
	}
	if head, err := t.at("HEAD"); err == nil {
		k.head = &head
	}
	return k
}

// locks are the existing lock files at and below a directory, sorted.
func (k passedLocks) locks(dir string) ([]string, error) {
	if k.tree.remote != nil {
		return locksBelow(k.tree.FS(), dir)
	}
	names, there, err := k.inHead(dir)
	if err != nil {
		return nil, err
	}
	// If HEAD has the directory, it reads HEAD, since the disk may have very many files
	// there.
	base := path.Base(dir)
	if own := slices.Contains(toolCaches, base); !own && (!there || base != "node_modules") {
		more, err := k.onDisk(dir)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		_, err := os.Lstat(k.tree.path(name))
		return err != nil
	}), nil
}

// inHead are the lock files of HEAD there. there reports whether HEAD has the directory.
func (k passedLocks) inHead(dir string) (names []string, there bool, err error) {
	if k.head == nil {
		return nil, false, nil
	}
	err = k.head.Walk(dir, func(name string, typ fs.FileMode) error {
		if lockfile.Is(name) && (typ.IsRegular() || typ == fs.ModeSymlink) {
			names = append(names, name)
		}
		return nil
	})
	if errors.Is(err, worktree.ErrNoDirectory) {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, fmt.Errorf("reading what HEAD has in %s: %w", dir, err)
	}
	return names, true, nil
}

// ignores reports whether git ignores a path.
func (k passedLocks) ignores(name string) bool {
	if k.tree.loose {
		return false
	}
	file, _ := k.ignored.By(name)
	return file != ""
}

// onDisk are the lock files on disk that git does not ignore.
func (k passedLocks) onDisk(dir string) (names []string, err error) {
	err = filepath.WalkDir(k.tree.path(dir), func(file string, d fs.DirEntry, err error) error {
		rel, wrong := filepath.Rel(k.tree.root, file)
		name := filepath.ToSlash(rel)
		own := d != nil && d.IsDir() && (d.Name() == ".git" || slices.Contains(toolCaches, d.Name()))
		ignored := wrong == nil && !own && d != nil && (d.IsDir() || d.Name() == lockfile.Name) && k.ignores(name)
		switch {
		case d != nil && d.IsDir() && (own || ignored):
			return fs.SkipDir
		case err != nil || wrong != nil:
			return errors.Join(err, wrong)
		case d.Name() == lockfile.Name && !ignored && (d.Type().IsRegular() || d.Type() == fs.ModeSymlink):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// locksBelow are the lock files of a commit at and below a directory.
func locksBelow(fsys fs.FS, dir string) (names []string, err error) {
	err = fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == lockfile.Name && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// judgeHashes judges the hashes of lock files that no search reaches, and reports problems
// of their location. Nothing is planned for them.
func judgeHashes(ctx context.Context, j job, p planned) planned {
	for i, f := range p.hashesOnly {
		p.hashesOnly[i].result = upgrade.Result{Module: f.module, Diagnostics: f.module.Tree.Diagnostics}
		if f.module.Lock != nil {
			p.hashesOnly[i].result.New = f.module.Lock.Locks
		}
	}
	if len(p.hashesOnly) == 0 {
		return p
	}
	accountAll(ctx, j, p.hashesOnly)
	base := func() (*Remote, error) { return p.extent.before(ctx) }
	for _, f := range p.hashesOnly {
		found := len(f.result.Findings)
		if found > 0 && p.extent.before != nil {
			f.result = downgradeKnownHashes(base, f.result)
		}
		forgiven := len(f.result.Findings) < found
		if name := path.Join(f.module.Dir, lockfile.Name); inToolCache(name) && p.extent.changed != nil {
			f.result.Findings = append(f.result.Findings, lockInToolCache(name))
		}
		m := describe(j, f)
		m.HashesOnly, m.Forgiven = true, forgiven
		p.report.Modules = append(p.report.Modules, m)
	}
	return p
}

// downgradeKnownHashes turns findings into warnings, for entries that the change leaves as
// they were. If the base cannot be read, the findings stay.
func downgradeKnownHashes(base func() (*Remote, error), r upgrade.Result) upgrade.Result {
	files, err := base()
	if err != nil {
		return r
	}
	name := path.Join(r.Module.Dir, lockfile.Name)
	src, err := fs.ReadFile(files.FS, name)
	if err != nil {
		return r
	}
	before, _ := lockfile.Parse(src, name)
	if before == nil {
		return r
	}
	r.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f problem.Problem) bool {
		same := len(diff.Locks(only(before.Locks, f.Subject.Addr), only(r.Module.Lock.Locks, f.Subject.Addr), nil)) == 0
		if same {
			r.Diagnostics = append(slices.Clip(r.Diagnostics), foundOnBase(f))
		}
		return same
	})
	return r
}

// lockInToolCache is the finding about a lock file that a change adds or changes in a
// tool's own directory.
func lockInToolCache(name string) problem.Problem {
	meaning, _ := problem.MeaningOf(problem.CodeLockInCache)
	return problem.Problem{
		Code: problem.CodeLockInCache, Severity: meaning.Severity, Hint: meaning.Help, Place: problem.Place{Path: name, Line: 1},
		Message: "the change adds or changes a lock file in a directory that the tools fill by themselves",
	}
}

// hashSuspects are the entries of a lock file that no search reaches. Only providers of the
// run count whose registries may be asked.
func hashSuspects(j job, m scan.RootModule) []verify.Suspect {
	var suspects []verify.Suspect
	admitted := j.contact()
	only := unseenLocks{only: j.plan.Only}
	if m.Lock == nil {
		return nil
	}
	for _, l := range m.Lock.Locks {
		if only.isAbout(l.Addr) && m.Lock.Disputed[l.Addr] == nil && (admitted == nil || admitted(string(l.Addr.Host))) {
			suspects = append(suspects, verify.Suspect{Tool: m.Tool, Lock: l, Path: m.Lock.Path, Left: true, Depth: verify.WithPackages})
		}
	}
	return suspects
}
