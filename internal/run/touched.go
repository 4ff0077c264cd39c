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
	"github.com/relock-dev/relock/internal/tfconfig"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/versionfile"
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
	// Unknown is why the change is unknown. Then everything is checked.
	Unknown string
}

// changed are the changed files.
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

// TouchedBy returns a function that selects the root modules of a commit that a change of
// these files may affect. relock judges those.
func TouchedBy(files *Remote, names []string) func(scan.RootModule) bool {
	return newChanged(changedPathsIn(files.FS, names)).touches
}

// ConcernedBy returns a function that selects the root modules of a commit that depend on
// one of these files by name. relock writes those.
func ConcernedBy(files *Remote, names []string) func(scan.RootModule) bool {
	return newChanged(changedPathsIn(files.FS, names)).concerns
}

// extent limits a run to some root modules.
type extent struct {
	touched func(scan.RootModule) bool                 // nil: all
	changed *changed                                   // nil: unknown
	before  func(ctx context.Context) (*Remote, error) // the base of the change; nil: unknown
	// base reads the files with which entries of lock files are compared, to see which ones
	// are new; nil: no base is known. A base may be known although the changed files are
	// not.
	base func(ctx context.Context) (*Remote, error)
}

// readOnce reads the files of a commit at the first call, and once.
func readOnce(read func(context.Context) (*Remote, error)) func(context.Context) (*Remote, error) {
	var once sync.Once
	var files *Remote
	var err error
	return func(ctx context.Context) (*Remote, error) {
		once.Do(func() { files, err = read(ctx) })
		return files, err
	}
}

// baseOf reads the base of a change on GitHub; nil if the change does not name it.
func baseOf(j job, change *Change) func(context.Context) (*Remote, error) {
	if change == nil || change.Base == "" || change.Unknown != "" {
		return nil
	}
	return readOnce(func(ctx context.Context) (*Remote, error) {
		repo, err := j.clients.reach(j.access, j.target.repository)
		if err != nil {
			return nil, err
		}
		return Snapshot(ctx, repo, change.Base)
	})
}

// narrow limits a check to the root modules that a change touches. If the change is
// unknown, all are checked: that finds more, never less.
func narrow(ctx context.Context, j job, trees []tree) (extent, []problem.Problem, error) {
	change, wide := j.ask.change, extent{touched: j.ask.touched, base: j.ask.base}
	if change == nil {
		return wide, nil, nil
	}
	wide.base = baseOf(j, change)
	if j.ask.verb == verbs.Verify {
		return wide, nil, nil
	}
	unknown := change.Unknown
	var changed *changed
	var err error
	if change.Revision != "" {
		if len(trees) != 1 {
			return wide, nil, errors.New("--touched is about one repository; the directories are in several")
		}
		changed, err = changedInCheckout(trees[0], change.Revision)
		if errors.Is(err, errUnborn) {
			unknown = err.Error()
		} else if err != nil {
			return wide, nil, err
		} else {
			wide.base = readOnce(func(context.Context) (*Remote, error) { return filesAt(trees[0], change.Revision, j.settings.Own) })
			wide.before = wide.base
		}
	} else if unknown == "" {
		var files []string
		var known bool
		files, known, unknown, err = changedOnGitHub(ctx, j)
		if known {
			wide.before = wide.base
		}
		if ctx.Err() != nil {
			return wide, nil, err
		}
		if err != nil {
			d := problem.Of(err)
			d.Severity, d.Message = problem.SeverityWarning, "all root modules are checked, since it is not known what changed: "+d.Message
			return wide, []problem.Problem{d}, nil
		}
		changed = newChanged(changedPathsIn(trees[0].FS(), files))
	}
	if unknown != "" {
		j.env.Log.Info("all root modules are checked", "reason", unknown)
		return wide, nil, nil
	}
	return extent{touched: changed.touches, changed: changed, before: wide.before, base: wide.base}, nil, nil
}

// changedOnGitHub are the changed files according to GitHub, or the reason why GitHub does
// not list them. known reports whether the base of the change is that of the head.
func changedOnGitHub(ctx context.Context, j job) (files []string, known bool, unknown string, err error) {
	change := j.ask.change
	repo, err := j.clients.reach(j.access, j.target.repository)
	if err != nil {
		return nil, false, "", err
	}
	d, err := repo.Difference(ctx, change.Base, change.Head)
	known = err == nil && (d.Straight || !change.Straight)
	switch {
	case errors.Is(err, github.ErrNotFound):
		return nil, known, "GitHub does not know one of the commits " + change.Base + " and " + change.Head, nil
	case err != nil:
		return nil, known, "", err
	case !d.Complete:
		return nil, known, "GitHub does not list so many files", nil
	case change.Straight && !d.Straight:
		return nil, known, fmt.Sprintf("%s does not descend from %s", change.Head, change.Base), nil
	}
	return d.Files, known, "", nil
}
