package run

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/worktree"
)

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
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.types)), func(name string) bool { return c.types[name].IsDir() || !lockfile.Resembles(name) })
}

// absent reports whether a directory is known to be in the commit and not on disk.
func (c committed) absent(dir string) bool {
	return c.unknown || len(c.missing) > 0 && c.types[dir].IsDir()
}

// readCommitted reads HEAD of a checkout. It costs as much as git ls-tree -r. If a partial
// clone lacks tree objects, an Action's run makes one request to GitHub.
func readCommitted(ctx context.Context, j job, t tree) (committed, error) {
	c := committed{types: map[string]fs.FileMode{}, links: map[string]string{}, sparse: worktree.Sparse(t.root)}
	err := c.readHead(t)
	if err != nil {
		err = c.askGitHub(ctx, j, t)
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
		if typ == fs.ModeSymlink && lockfile.Is(name) {
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
	lacks := newChanged(changedFiles(c.missing))
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

// changedFiles are paths of files.
func changedFiles(names []string) []filetree.ChangedPath {
	paths := make([]filetree.ChangedPath, len(names))
	for i, name := range names {
		paths[i] = filetree.ChangedPath{Path: name, File: true}
	}
	return paths
}
