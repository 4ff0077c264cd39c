package run

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
	"github.com/relock-dev/relock/internal/worktree"
)

// withLocks adds to an inventory the lock files of a tree for which no root module was
// found. The root modules of the tree begin at the index first. An ask that judges adds
// each lock file. Any other ask names those in hidden directories as not looked at.
// Excluded ones are named, too.
func withLocks(j job, s inventory, l lockList, first int, left func(dir string) bool) inventory {
	show := j.names(l.tree).Of
	read := map[string]int{}
	for i := first; i < len(s.found); i++ {
		if m := s.found[i].module; m.Lock != nil {
			read[m.Lock.Path] = i
		} else if problem.AnyError(m.Problems) {
			read[path.Join(m.Dir, lockfile.Name)] = i
		}
	}
	for _, dir := range l.unlisted {
		switch {
		case !l.tree.covers(path.Clean(dir)):
		case left(path.Clean(dir)):
			s.excluded = append(s.excluded, show(path.Clean(dir))+"/")
		default:
			s.unseen.add(notReadable, show, dir)
		}
	}
	for _, name := range l.names() {
		i, isRead := read[name]
		switch {
		case j.ask.judges() && left(path.Dir(name)), !j.ask.judges() && !isRead && !j.scan.Selects(path.Dir(name)):
			s.excluded = append(s.excluded, show(name))
		case !j.ask.judges() && isRead:
		case !j.ask.judges() && !utf8.ValidString(name):
			s.unseen.add(notReadable, show, name)
		case !j.ask.judges():
			if s.extent.touched == nil && isHidden(j.scan.Enters, path.Dir(name)) {
				s.unseen.add(inHiddenDir, show, name)
			}
		default:
			s = withJudged(j, s, l, name, i, isRead)
		}
	}
	return s
}

// isHidden reports whether a search does not enter a directory, or one above it.
func isHidden(enters func(dir string) bool, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if !enters(dir) {
			return true
		}
	}
	return false
}

// withJudged adds a lock file that is judged. That of a root module counts as read if the
// root module was read with the very same bytes.
func withJudged(j job, s inventory, l lockList, name string, i int, isRead bool) inventory {
	added := j.ask.verb == verbs.Check && mayAdd(s.extent, l, name)
	if j.ask.verb == verbs.Check && !added {
		return s
	}
	content, err := l.read(name)
	var lock *lockfile.File // of the root module
	if isRead {
		lock = s.found[i].module.Lock
	}
	if lock != nil && err == nil && bytes.Equal(content, lock.Source) {
		s.found[i].added = added
		return s
	}
	lacking := err != nil && l.absent[name] // in a partial clone
	switch named := slices.Contains(l.commit.missing, name) && s.extent.differs == nil; {
	case named && lacking:
		s.unseen.add(notInCheckout, j.names(l.tree).Of, name)
		return s
	case named && j.ask.verb == verbs.Check:
		s.unseen.add(onlyHashes, j.names(l.tree).Of, name)
	}
	m := scan.Alone(name, content, err, j.scan)
	if isRead && lock == nil && m.Lock == nil { // the root module has the error
		return s
	}
	if lacking {
		m.Tree.Diagnostics[0].Hint = scan.CheckOut(path.Dir(name))
	}
	if j.ask.pull == nil || s.extent.touched(m) {
		s.alone = append(s.alone, found{tree: l.tree, module: m, added: added, content: content, result: upgrade.Result{Module: m, Diagnostics: m.Tree.Diagnostics}})
	}
	return s
}

// mayAdd reports whether a lock file may have entries that the base lacks. It may if the
// file was changed, in the change or on disk alone, or what its link leads to. One that is
// read through links may, too, if any link was changed.
// A file of a submodule may have some if another commit of the submodule was recorded.
func mayAdd(e extent, l lockList, name string) bool {
	if dir := l.submodule(name); dir != "" {
		return e.differs == nil || e.differs.files[dir]
	}
	if e.differs == nil || e.differs.hasFile(name) || l.edited(name) {
		return true
	}
	to, err := filetree.Resolve(l.tree.FS(), name)
	return to != name && (e.differs.anywhere || err == nil && e.differs.hasFile(to))
}

// leftOut returns a function that reports whether the run leaves out a directory. Only the
// settings that judge can exclude a lock file that is judged: those of the base. They are
// read if the settings at hand exclude one.
func leftOut(j job, inForce func() (settings.Settings, error)) func(dir string) bool {
	return func(dir string) bool {
		if !j.ask.judges() || !j.scan.Excludes(dir) {
			return j.scan.Excludes(dir)
		}
		by, _ := inForce() // in error, nothing is excluded
		return scan.Options{Exclude: by.Exclude}.Excludes(dir)
	}
}

// baseLocks has the lock files of the base that are judged themselves. A hash of an excluded
// file is not known: one change would put it there, and the next one would copy it.
type baseLocks struct {
	contents map[string][]byte
	fork     map[string][]byte // those of the commit where the change left the base
	known    lockfile.Known
}

// same reports whether the base has a lock file with the same content at a path, or had it
// where the change left the base.
func (b baseLocks) same(name string, content []byte) bool {
	return content != nil && (bytes.Equal(b.contents[name], content) || bytes.Equal(b.fork[name], content))
}

// below counts the lock files below a directory.
func (b baseLocks) below(dir string) int {
	n := 0
	for name := range b.contents {
		if strings.HasPrefix(name, dir+"/") {
			n++
		}
	}
	return n
}

// has reports whether a finding about a lock file is about nothing that the base lacks. A
// finding about an entry is about all its hashes, or those that are refuted.
func (b baseLocks) has(d problem.Problem, f found) bool {
	if f.module.Lock == nil {
		return false
	}
	of, about := lockfile.Pinned{Addr: d.Subject.Addr, Version: d.Subject.Version}, []provider.Hash{d.Subject.Hash}
	switch {
	case d.Code == problem.CodeReReleased:
		for _, s := range f.result.Refuted {
			if s.Addr == of.Addr && s.Version == of.Version {
				about = append(about, s.Hash)
			}
		}
	case d.Subject.Hash == "":
		l, _ := f.module.Lock.Lock(of.Addr)
		about = lockfile.Claims(l)
	}
	return b.known.Has(of, about)
}

// blameChange divides the findings of a check into those that the change has added, which
// are errors, and those that the base has, which are warnings. An added hash that is not
// proven is an error, too. Without a base, as on a person's command line, everything counts
// as added; then an h1 that only a download could prove is no error.
func blameChange(ctx context.Context, j job, p planned) planned {
	if ctx.Err() != nil {
		return p
	}
	submodules := changedSubmodules(p.inventory)
	var base baseLocks
	var err error
	if p.extent.base != nil && (len(submodules) > 0 || slices.ContainsFunc(p.all(), found.mayBlame)) {
		base, err = readLocks(ctx, p.inventory)
	}
	if err != nil {
		d := problem.Of(err)
		d.Severity, d.Message = problem.SeverityError, "it is not known what the change adds: the base could not be read: "+d.Message
		p.report.Diagnostics = append(p.report.Diagnostics, d)
	}
	alone := j.ask.change == nil && p.extent.base == nil
	for _, all := range [][]found{p.found, p.alone} {
		for i, f := range all {
			name, content := f.lock()
			switch {
			case alone:
				all[i].result = f.withoutDownloads()
			case !f.added || base.same(name, content):
				all[i] = f.blamed(p.inForce, func(problem.Problem) bool { return true })
			default:
				all[i] = f.blamed(p.inForce, func(d problem.Problem) bool { return base.has(d, f) })
			}
			if f.added && !alone && worktree.Within(name, toolCaches) {
				all[i].result.Findings = append(all[i].result.Findings, lockInToolCache(name))
			}
		}
	}
	for _, dir := range submodules {
		if n := base.below(dir); n > 0 {
			m := scan.RootModule{Root: scan.Root{Dir: dir, Alone: true}}
			p.alone = append(p.alone, found{tree: p.trees[0], module: m, result: upgrade.Result{Module: m, Findings: []problem.Problem{replacedBySubmodule(dir, n)}}})
		}
	}
	return p
}

// mayBlame reports whether the lock file has anything for which it matters what the base
// has.
func (f found) mayBlame() bool {
	return f.added && (len(f.result.Findings)+len(f.result.Undecided) > 0 || f.module.Lock == nil || slices.ContainsFunc(f.module.Lock.Locks, isBare))
}

func isBare(l lockfile.Lock) bool { return len(l.Hashes) == 0 }

// lock is the path and the content of the lock file; the content is nil if it is not known.
func (f found) lock() (name string, content []byte) {
	if lock := f.module.Lock; lock != nil {
		return lock.Path, lock.Source
	}
	return path.Join(f.module.Dir, lockfile.Name), f.content
}

// changedSubmodules are the submodules of the tree that the change adds or moves. git lists
// no other directory as changed.
func changedSubmodules(s inventory) (dirs []string) {
	if s.extent.differs == nil {
		return nil
	}
	files := s.trees[0].FS()
	for name := range s.extent.differs.files {
		if info, err := fs.Lstat(files, name); err == nil && info.IsDir() {
			dirs = append(dirs, name)
		}
	}
	return dirs
}

// replacedBySubmodule is the finding that a change puts a submodule in the place of lock
// files.
func replacedBySubmodule(dir string, n int) problem.Problem {
	return problem.Problem{
		Code: problem.CodeHashUnproven, Severity: problem.SeverityError, Place: problem.Place{Path: dir},
		Message: fmt.Sprintf("a submodule takes the place of %d lock files of the base, and nothing proves what it has instead", n),
		Hint:    "keep the lock files in this repository",
	}
}

// readLocks reads the lock files of the base. It also reads those of the commit at which
// the change left the base, unless that is the base itself.
func readLocks(ctx context.Context, s inventory) (b baseLocks, err error) {
	by, err := s.inForce()
	if err != nil {
		return b, err
	}
	files, err := s.extent.base(ctx)
	if err != nil {
		return b, err
	}
	b.contents, err = judgedLocks(files.FS, by)
	b.known = lockfile.Known{}
	for name, content := range b.contents {
		if lock, _ := lockfile.Parse(content, name); lock != nil {
			for _, l := range lock.Locks {
				b.known.Add(l)
			}
		}
	}
	if err != nil || s.extent.fork == nil {
		return b, err
	}
	files, err = s.extent.fork(ctx)
	if err == nil && files != nil {
		b.fork, err = judgedLocks(files.FS, by)
	}
	return b, err
}

// judgedLocks reads the lock files of a file tree, except for those that the settings of the
// base exclude.
func judgedLocks(files fs.FS, by settings.Settings) (map[string][]byte, error) {
	contents, err := lockfile.Contents(files)
	opts := scan.Options{Exclude: by.Exclude}
	maps.DeleteFunc(contents, func(name string, _ []byte) bool { return opts.Excludes(path.Dir(name)) })
	return contents, err
}

// blamed is the root module with its findings as errors or, if the base has the same, as
// warnings.
func (f found) blamed(inForce func() (settings.Settings, error), onBase func(problem.Problem) bool) found {
	r := f.result
	var findings, undecided []problem.Problem
	for _, d := range r.Findings {
		if onBase(d) {
			r.Diagnostics, f.forgiven = append(slices.Clip(r.Diagnostics), foundOnBase(d)), true
		} else {
			findings = append(findings, d)
		}
	}
	if f.content != nil && f.module.Lock == nil {
		r.Diagnostics = collect.Mapped(r.Diagnostics, func(d problem.Problem) problem.Problem {
			if onBase(d) {
				return asOnBase(d)
			}
			return d
		})
	}
	if f.added && f.module.Lock != nil {
		for _, l := range f.module.Lock.Locks {
			if d := verify.Unhashed(l, f.module.Lock.Path); isBare(l) && !onBase(d) {
				findings = append(findings, d)
			}
		}
	}
	for _, d := range r.Undecided {
		if !f.added || onBase(d) {
			undecided = append(undecided, d)
			continue
		}
		by, _ := inForce() // in error, none is less severe
		d.Severity = verify.SeverityOf(by.Severities, d.Code, by.Strict)
		findings = append(findings, d)
	}
	slices.SortStableFunc(findings, verify.ByEntry)
	r.Findings, r.Undecided = findings, undecided
	f.result = r
	return f
}

// withoutDownloads is the result of a run without a base. An h1 that only a download could
// prove stays undecided. Any other hash that is not proven is a finding.
func (f found) withoutDownloads() upgrade.Result {
	r := f.result
	var undecided []problem.Problem
	for _, d := range r.Undecided {
		if d.Subject.Hash.Scheme() == provider.SchemeH1 {
			undecided = append(undecided, d)
		} else {
			r.Findings = append(slices.Clip(r.Findings), d)
		}
	}
	r.Undecided = undecided
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
