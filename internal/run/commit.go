package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/worktree"
)

// atCommit replaces a checkout by the commit that it is at, for pull requests: other files
// on the disk are only for its owner. The target stays a checkout if there is no repository
// or no commit, or if the base branch on GitHub does not have that commit. Then the base
// branch must be read from GitHub. The notices say what is read.
func atCommit(ctx context.Context, j job, t target) (target, []problem.Problem, error) {
	root, err := t.oneRoot(j.env.WorkDir)
	if err != nil {
		return t, nil, err
	}
	clone, err := worktree.OpenClone(root)
	if err != nil && t.checkout.Commit != "" {
		return t, readElsewhere("the checkout is no git repository", t.base), nil
	}
	if err != nil {
		return t, nil, &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreadable, Message: err.Error()}}
	}
	if clone.Unborn() {
		return t, readElsewhere("the branch that is checked out has no commit", t.base), nil
	}
	head, err := clone.At("HEAD")
	if err != nil {
		return t, nil, err
	}
	on, err := isOnBase(ctx, j, t, head.Commit)
	if err != nil {
		return t, nil, err
	}
	if !on {
		return t, readElsewhere("the base branch does not have HEAD", t.base), nil
	}
	differ, _, err := clone.Changed(head, relevant)
	if err == nil && worktree.HasAll(head, func(name string) bool { return name == j.settings.Own || reads(name) }) {
		return t.at(j.env.WorkDir, &Remote{FS: worktree.Committed(head), Commit: head.Commit}), differing(j, differ), nil
	}
	repo, err := j.clients.reach(j.access, t.repository)
	if err != nil {
		return t, nil, err
	}
	remote, err := Snapshot(ctx, repo, head.Commit)
	if err != nil {
		return t, nil, fmt.Errorf("reading HEAD, which this clone does not have in whole: %w", err)
	}
	return t.at(j.env.WorkDir, remote), differing(j, differ), nil
}

// oneRoot is the repository of all directories, which must be in one. A runner without git
// makes no .git: then it is the working directory.
func (t target) oneRoot(workDir string) (root string, err error) {
	dirs := t.dirs
	if len(dirs) == 0 {
		dirs = []string{everything}
	}
	_, inClone := worktree.FindRoot(workDir)
	if !inClone && t.checkout.Commit != "" {
		return workDir, nil
	}
	for i, dir := range dirs {
		at, found := worktree.FindRoot(file.Absolute(workDir, dir))
		if !found {
			err := notFound("%s is in no git repository", dir)
			err.Problem.Hint = "name a directory of a checkout, or a repository with --repo OWNER/NAME"
			return "", err
		}
		if i > 0 && at != root {
			err := notFound("%s is in another repository than %s, and a pull request is about one", dir, dirs[0])
			err.Problem.Hint = "run relock pr once in each repository"
			return "", err
		}
		root = at
	}
	return root, nil
}

// isOnBase reports whether the base branch on GitHub has a commit. GitHub is not asked if
// the event says that the branch is at this commit.
func isOnBase(ctx context.Context, j job, t target, commit string) (bool, error) {
	if t.checkout.Commit == commit && t.checkout.Branch == t.base && t.base != "" {
		return true, nil
	}
	repo, err := j.clients.reach(j.access, t.repository)
	if err != nil {
		return false, err
	}
	d, err := repo.Difference(ctx, t.base, commit)
	if errors.Is(err, github.ErrNotFound) {
		return false, nil
	}
	return err == nil && d.MergeBase == commit, err
}

// readElsewhere says that the base branch is read from GitHub.
func readElsewhere(why, base string) []problem.Problem {
	return []problem.Problem{{
		Code: problem.CodeUnseen, Severity: problem.SeverityWarning,
		Message: why + ", so " + base + " is read from GitHub, and the files on disk are not", Hint: "push what the pull requests must know of",
	}}
}

// mostDiffering is how many files one line names.
const mostDiffering = 3

// differing says which files on disk differ from HEAD. For people who try settings in a dry
// run, the configuration file on disk counts.
func differing(j job, differ []filetree.ChangedPath) (notices []problem.Problem) {
	files := map[string]bool{}
	for _, d := range differ {
		own := d.Path == j.settings.Own || slices.Contains(settings.FileNames, d.Path)
		switch {
		case own && triesSettings(j.env, j.settings):
			notices = append(notices, problem.Problem{
				Code: problem.CodeSettings, Severity: problem.SeverityWarning, Place: problem.Place{Path: d.Path},
				Message: "this dry run goes by the configuration file on disk, which differs from that of HEAD", Hint: "commit it: other runs go by what is committed",
			})
		case own, reads(d.Path), scan.Notices(d.Path):
			files[d.Path] = true
		}
	}
	if len(files) == 0 {
		return notices
	}
	message := collect.Count(len(files), "file differs from HEAD and is not read: ", "files differ from HEAD and are not read: ")
	return append(notices, problem.Problem{
		Code: problem.CodeUnseen, Severity: problem.SeverityWarning, Message: message + collect.First(slices.Sorted(maps.Keys(files)), mostDiffering),
		Hint: "commit and push them; relock check and relock upgrade read the disk",
	})
}

// triesSettings reports whether a person tries settings before they are committed: in a dry
// run on their own machine.
func triesSettings(env Env, c settings.Settings) bool { return c.DryRun && !env.OnGitHub }

// committed is the content of a checkout's HEAD, and which part of it is not on disk. It
// reads HEAD, since a sparse index does not list everything. The zero value means that
// nothing is missing.
type committed struct {
	// types are the files, links, directories and submodules that a run reads, by path, and
	// all other paths in a sparse checkout. They have the form of worktree.Revision.Walk.
	types map[string]fs.FileMode
	// unknown says that the clone lacks tree objects, and that GitHub could not be asked. A
	// path that is not listed may exist.
	unknown bool
	// deleted are files that a local change deleted. missing are all other files that are
	// not on disk.
	missing, deleted []string
	// links are the targets of lock files that are links, as far as the clone has them.
	links  map[string]string
	sparse bool // the checkout is sparse
}

// reads reports whether a path of a commit is listed.
func (c committed) reads(name string, typ fs.FileMode) bool {
	return c.sparse || typ.IsDir() || typ == fs.ModeIrregular || scan.Reads(name)
}

// submodules are the paths of the submodules.
func (c committed) submodules() (names []string) {
	for name, typ := range c.types {
		if typ == fs.ModeIrregular {
			names = append(names, name)
		}
	}
	return names
}

// locks are the paths of the lock files, sorted.
func (c committed) locks() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.types)), func(name string) bool { return c.types[name].IsDir() || !locksAnything(name) })
}

// absent reports whether a directory is known to be in the commit and not on disk.
func (c committed) absent(dir string) bool {
	return c.unknown || len(c.missing) > 0 && c.types[dir].IsDir()
}

// readCommitted reads HEAD of a checkout: the disk may lack files of it, and may have others.
// It costs as much as git ls-tree -r. If a partial clone lacks tree objects, an Action's run
// makes one request to GitHub.
func readCommitted(ctx context.Context, j job, t tree) (committed, error) {
	if t.remote != nil || t.loose {
		return committed{}, nil
	}
	c := committed{types: map[string]fs.FileMode{}, links: map[string]string{}, sparse: worktree.Sparse(t.root)}
	err := c.readHead(t)
	if err != nil {
		err = c.askGitHub(ctx, j, t)
	}
	if err != nil && !c.sparse {
		return committed{}, nil // what the disk has is enough
	}
	if err != nil {
		return c, fmt.Errorf("reading what HEAD has: %w", err)
	}
	var files []string
	for name, typ := range c.types {
		if !typ.IsDir() && typ != fs.ModeIrregular { // a submodule need not be checked out
			files = append(files, name)
		}
	}
	c.missing, c.deleted = worktree.NotOnDisk(t.root, files)
	return c, nil
}

// readHead reads the tree objects of HEAD. A repository without a commit has none.
func (c *committed) readHead(t tree) error {
	clone, err := t.clone()
	if err != nil {
		return err
	}
	if clone.Unborn() {
		return nil
	}
	head, err := clone.At("HEAD")
	if err != nil {
		return err
	}
	return head.Walk(".", func(name string, typ fs.FileMode) error {
		if c.reads(name, typ) {
			c.types[name] = typ
		}
		if typ == fs.ModeSymlink && locksAnything(name) {
			target, err := head.Link(name)
			if err != nil {
				target = "" // a partial clone lacks the content
			}
			c.links[name] = target
		}
		return nil
	})
}

// askGitHub reads the tree of HEAD from GitHub, in an Action's run about a repository
// there. Otherwise, or if GitHub lacks the commit, the tree stays unknown.
func (c *committed) askGitHub(ctx context.Context, j job, t tree) error {
	c.unknown = true
	sha, err := headOf(t, j.target)
	if err != nil || !j.env.OnGitHub || j.target.repository == "" {
		return err
	}
	repo, err := j.clients.reach(j.access, j.target.repository)
	if err != nil {
		return nil // relock cannot ask, and unknown says so
	}
	entries, err := repo.Entries(ctx, sha)
	if err != nil {
		return nil // GitHub lacks the commit, and unknown says so
	}
	c.unknown = false
	for name, mode := range entries {
		if c.reads(name, mode.Type()) {
			c.types[name] = mode.Type()
		}
	}
	return nil
}

// headOf is the commit that is checked out. If the runner has no git, its checkout has no
// .git. Then the commit is the one that started the workflow.
func headOf(t tree, of target) (string, error) {
	clone, err := t.clone()
	if err != nil && of.checkout != nil && of.checkout.Commit != "" {
		return of.checkout.Commit, nil
	}
	if err != nil {
		return "", err
	}
	return clone.Head()
}

// leaveOutMissing notes which lock files a checkout lacks. It removes root modules from the
// inventory whose files are partly missing, since their requirements are unknown. A file
// that a local change deleted is gone. It returns the diagnostics of the scan that are still
// true.
func leaveOutMissing(j job, s *inventory, t tree, c committed, diagnostics []problem.Problem) []problem.Problem {
	lacks := newChanged(changedPathsIn(t.FS(), c.missing))
	unseen := map[string]bool{}
	for _, name := range c.locks() {
		unseen[name] = lacks.inDir(path.Dir(name))
	}
	s.found = slices.DeleteFunc(s.found, func(f found) bool {
		lacking := f.tree.root == t.root && lacks.concerns(f.module)
		if lacking {
			unseen[path.Join(f.module.Dir, lockfile.Name)] = true
		}
		return lacking
	})
	for name, missing := range unseen {
		if missing && !j.ask.judges() { // what is judged is read from HEAD
			s.unseen.add(notInCheckout, j.names(t).Of, name)
		}
	}
	if c.unknown {
		s.unseen.add(notInCheckout, j.names(t).Of, "./")
	}
	return slices.DeleteFunc(slices.Clone(diagnostics), func(d problem.Problem) bool { return unseen[d.Place.File()] })
}
