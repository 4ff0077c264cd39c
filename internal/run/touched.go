package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/versionfile"
	"github.com/relock-dev/relock/internal/worktree"
)

// Change says which two states a check compares.
type Change struct {
	// Base and Head are commits on GitHub: the change is what Head has since it left Base.
	// Straight says that Head must descend from Base.
	Base, Head string
	Straight   bool
	// Revision names a commit of the checkout's repository, and replaces both: the change
	// is what the working tree has since it left that commit.
	Revision string
	// Unknown is why the change is unknown. Then everything is checked, and counts as new.
	Unknown string
}

type changed struct {
	dirs      map[string]bool // of the files
	files     map[string]bool // with all directories above them, which end in a slash
	versioned []string        // directories whose version file was changed
	// anywhere says that a link or a submodule was changed. It may replace any file.
	anywhere bool
	// differs reports on files that paths may not name; nil if paths name all.
	differs func(name string) bool
}

// newChanged sorts the changed paths.
func newChanged(paths []filetree.ChangedPath) *changed {
	c := &changed{dirs: map[string]bool{}, files: map[string]bool{}}
	for _, p := range paths {
		dir := path.Dir(p.Path)
		c.dirs[dir], c.files[p.Path], c.anywhere = true, true, c.anywhere || !p.File
		for above := dir; !c.files[above+"/"]; above = path.Dir(above) {
			c.files[above+"/"] = true
		}
		if dir, ok := versionfile.For(p.Path); ok {
			c.versioned = append(c.versioned, dir)
		}
	}
	return c
}

// touches reports whether a change matters to a root module. It does if one of these was
// changed: a file beside it or beside a local module that it calls, a file that its
// configuration reads, the version file of its tool, or what it keeps below itself. Any
// change matters if the root module was read through a link, or if a link was changed.
func (c *changed) touches(m scan.RootModule) bool {
	return c.anywhere || m.AnyChange && len(c.dirs) > 0 || c.concerns(m)
}

// concerns reports whether a root module depends on one of the files by name.
func (c *changed) concerns(m scan.RootModule) bool {
	return slices.ContainsFunc(slices.Concat([]string{m.Dir}, m.Made.Sources, m.All().Dirs), c.inDir) || c.inInstalled(m.Dir) ||
		slices.ContainsFunc(m.Files, c.hasFile) ||
		slices.ContainsFunc(c.versioned, func(top string) bool { return top == "." || strings.HasPrefix(m.Dir+"/", top+"/") })
}

// inDir reports whether a file or a test in the directory of a module was changed.
func (c *changed) inDir(dir string) bool {
	return c.dirs[dir] || c.dirs[path.Join(dir, tfconfig.TestDir)]
}

// inInstalled reports whether something changed in what a root module keeps for the tools:
// providers, or installed modules.
func (c *changed) inInstalled(dir string) bool {
	return slices.ContainsFunc([]string{scan.PluginDir, ".terraform"}, func(name string) bool { return c.files[path.Join(dir, name)+"/"] })
}

// hasFile reports whether a file was changed, or a path that should be a directory above
// it. A name with a slash at its end means all files below.
func (c *changed) hasFile(whole string) bool {
	for name := whole; name != "."; name = path.Dir(name) {
		if c.files[name] {
			return true
		}
	}
	return c.differs != nil && c.differs(whole)
}

// withoutUntouched removes root modules without a lock file of which no own file was
// changed, since their modules are unknown. c may be nil.
func (c *changed) withoutUntouched(diagnostics []problem.Problem) []problem.Problem {
	if c == nil {
		return diagnostics
	}
	return slices.DeleteFunc(slices.Clone(diagnostics), func(d problem.Problem) bool {
		return d.Code == problem.CodeUnlocked && !c.dirs[d.Place.Path]
	})
}

// changedPathsIn marks which changed paths are files in a file tree.
func changedPathsIn(fsys fs.FS, names []string) []filetree.ChangedPath {
	paths := make([]filetree.ChangedPath, len(names))
	for i, name := range names {
		info, err := fs.Lstat(fsys, name)
		paths[i] = filetree.ChangedPath{Path: name, File: err != nil || info.Mode().IsRegular()}
	}
	return paths
}

// extent limits a run to some root modules, and reads what they are compared with.
type extent struct {
	touched func(scan.RootModule) bool // nil: all
	// differs are the files that the change, or the pull request of a comment, may have
	// changed; nil: unknown.
	differs *changed
	// base reads the files with which entries of lock files are compared, to see which ones
	// are new; nil: there is no base, and all are. A base may be known although the changed
	// files are not.
	base func(ctx context.Context) (*Remote, error)
}

// readOnce reads files at the first call, and once.
func readOnce(read func(context.Context) (*Remote, error)) func(context.Context) (*Remote, error) {
	var once sync.Once
	var files *Remote
	var err error
	return func(ctx context.Context) (*Remote, error) {
		once.Do(func() { files, err = read(ctx) })
		return files, err
	}
}

// filesOnGitHub reads a commit of the target's repository.
func filesOnGitHub(j job, commit string) func(context.Context) (*Remote, error) {
	return readOnce(func(ctx context.Context) (*Remote, error) {
		repo, err := j.clients.reach(j.access, j.target.repository)
		if err != nil {
			return nil, err
		}
		return Snapshot(ctx, repo, commit)
	})
}

// narrow limits a check to the root modules that a change touches. If the change is
// unknown, all are checked: that finds more, never less.
func narrow(ctx context.Context, j job, trees []tree) (extent, []problem.Problem, error) {
	change, e, unknown := j.ask.change, extent{base: j.ask.base}, ""
	if pull := j.ask.pull; pull != nil {
		e.differs = newChanged(changedPathsIn(trees[0].FS(), pull.Files))
		e.touched = e.differs.touches
		if pull.ByName {
			e.touched = e.differs.concerns
		}
	}
	if change == nil {
		return e, nil, nil
	}
	var err error
	if change.Revision != "" {
		if len(trees) != 1 {
			return e, nil, errors.New("--touched is about one repository; the directories are in several")
		}
		e, unknown, err = changedInCheckout(ctx, j, trees[0])
		if err != nil {
			return e, nil, err
		}
	} else {
		e, unknown, err = changedOnGitHub(ctx, j, trees[0])
		if ctx.Err() != nil {
			return e, nil, err
		}
		if err != nil {
			return e, []problem.Problem{about("all root modules are checked, since it is not known what changed", problem.SeverityWarning, err)}, nil
		}
	}
	if unknown != "" {
		j.env.Log.Info("all root modules are checked", "reason", unknown)
	}
	if e.differs != nil {
		e.touched = e.differs.touches
	}
	return e, nil, nil
}

// changedOnGitHub is the extent of a change on GitHub, or the reason why GitHub does not
// list the changed files. A verification, which looks at all files, does not ask for them.
func changedOnGitHub(ctx context.Context, j job, t tree) (e extent, unknown string, err error) {
	change := j.ask.change
	if change.Unknown != "" {
		return e, change.Unknown, nil
	}
	e.base = filesOnGitHub(j, change.Base)
	if j.ask.verb == verbs.Verify {
		return e, "", nil
	}
	repo, err := j.clients.reach(j.access, j.target.repository)
	if err != nil {
		return e, "", err
	}
	d, err := repo.Difference(ctx, change.Base, change.Head)
	switch {
	case errors.Is(err, github.ErrNotFound):
		return e, "GitHub does not know one of the commits " + change.Base + " and " + change.Head, nil
	case err != nil:
		return e, "", err
	case !d.Complete:
		return e, manyFiles, nil
	case change.Straight && !d.Straight:
		return e, fmt.Sprintf("%s does not descend from %s", change.Head, change.Base), nil
	}
	e.differs = newChanged(changedPathsIn(t.FS(), d.Files))
	return e, "", nil
}

// manyFiles is why changed files are unknown.
const manyFiles = "GitHub does not list so many files"

// relevant are the files of a working tree that matter to a run.
var relevant = worktree.Filter{Reads: reads, Notices: scan.Notices, Unlisted: toolDirs, Kept: locksAnything}

// errUnborn is why the changes since a revision are unknown.
var errUnborn = errors.New("the repository has no commit yet")

// changedInCheckout is the extent of what a working tree has changed since it left a revision,
// or the reason why that is unknown. Uncommitted contents count if the scan reads them.
// GitHub is asked for the history that a clone lacks.
func changedInCheckout(ctx context.Context, j job, t tree) (e extent, unknown string, err error) {
	e, err = sinceFork(j, t)
	if errors.Is(err, errUnborn) {
		return e, err.Error(), nil
	}
	if err != nil {
		var refused error
		e, refused = sinceForkOnGitHub(ctx, j, t)
		if refused != nil {
			hint := problem.Of(err).Hint
			if hint != "" && problem.Coded(refused, problem.CodeSettings) {
				hint += "; or set GITHUB_REPOSITORY and GITHUB_TOKEN"
			}
			return e, "", &problem.Error{Problem: problem.Problem{
				Code: problem.CodeUnreadable, Message: fmt.Sprintf("finding out what changed since %s: %v; GitHub does not say so either: %v", j.ask.change.Revision, err, refused),
				Hint: hint,
			}}
		}
	}
	// The configuration file comes from the working tree, not from the base.
	if c := e.differs; c != nil {
		c.anywhere = c.anywhere || slices.ContainsFunc(settings.FileNames, func(name string) bool { return c.files[name] })
		return e, "", nil
	}
	return e, manyFiles, nil
}

// sinceFork is the extent of a change according to a clone.
func sinceFork(j job, t tree) (e extent, err error) {
	clone, err := t.clone()
	if err != nil {
		return e, err
	}
	if clone.Unborn() {
		return e, errUnborn
	}
	fork, err := clone.Fork(j.ask.change.Revision)
	if err != nil {
		return e, err
	}
	base, err := clone.At(j.ask.change.Revision)
	if err != nil {
		return e, err
	}
	e.differs, err = changedSince(clone, fork, nil)
	e.base = filesAt(t, base.Commit, j.settings.Own)
	return e, err
}

// sinceForkOnGitHub is the extent of a change according to GitHub, which must know HEAD. The
// revision may be a branch there, or a commit.
func sinceForkOnGitHub(ctx context.Context, j job, t tree) (e extent, err error) {
	repo, err := j.clients.reach(j.access, j.target.repository)
	if err != nil {
		return e, err
	}
	clone, err := t.clone()
	if err != nil {
		return e, err
	}
	head, err := clone.At("HEAD")
	if err != nil {
		return e, err
	}
	base := strings.TrimPrefix(j.ask.change.Revision, "origin/")
	if at, err := clone.At(j.ask.change.Revision); err == nil {
		base = at.Commit
	}
	d, err := repo.Difference(ctx, base, head.Commit)
	if err != nil {
		return e, err
	}
	e.base = filesOnGitHub(j, d.Base)
	if d.Complete {
		e.differs, err = changedSince(clone, head, changedPathsIn(t.FS(), d.Files))
	}
	return e, err
}

// changedSince are further changed paths, and those that differ between a working tree and
// a commit.
func changedSince(clone worktree.Clone, commit worktree.Revision, more []filetree.ChangedPath) (*changed, error) {
	paths, differs, err := clone.Changed(commit, relevant)
	if err != nil {
		return nil, err
	}
	c := newChanged(slices.Concat(more, paths))
	c.differs = differs
	return c, nil
}

// filesAt reads the tree of a commit, with the contents of the files that a run may read.
// config is the name of the configuration file; empty: one of the usual names.
func filesAt(t tree, commit, config string) func(context.Context) (*Remote, error) {
	return readOnce(func(context.Context) (*Remote, error) {
		at, err := t.at(commit)
		if err != nil {
			return nil, err
		}
		files, err := at.Tree(func(name string) bool { return name == config || reads(name) })
		return &Remote{FS: files, Commit: commit}, err
	})
}
