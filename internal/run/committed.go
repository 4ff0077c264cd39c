package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verbs"
)

// committed is what the commit of a file tree has, whatever of it is on disk: the
// question "which lock files are tracked" is
//
//	c, err := committedIn(ctx, j, t)
//	for _, name := range c.locks() { … } // links to lock files included
//
// It reads the tree objects of HEAD, not the index, which may be a sparse one, and not
// the contents, which a partial clone need not have. That costs a full checkout as much
// as git ls-tree -r: ask only where the answer is used. Through GitHub it is the file
// tree that is there already, and where no repository is, what is on disk.
type committed struct {
	// names are the files and links that a run reads, sorted. modes are git's, also of
	// directories and, of a sparse checkout, of whatever else there is.
	names []string
	modes map[string]filemode.FileMode
	// unknown says that the clone has not all tree objects, and nobody could be asked:
	// what is not here may be there all the same.
	unknown bool
	// missing are files that are not on disk though no local change deleted them, and
	// deleted the others that are not.
	missing, deleted []string
	// links are what lock files that are links lead to, as far as the clone has that.
	links  map[string]string
	sparse bool // the checkout is
}

// reads reports whether what a commit has at a path is taken down.
func (c committed) reads(name string, mode filemode.FileMode) bool {
	return c.sparse || mode == filemode.Dir || scan.Reads(name)
}

// locks are the paths of the lock files, sorted.
func (c committed) locks() []string {
	return slices.DeleteFunc(slices.Clone(c.names), func(name string) bool { return !isLock(name) })
}

// absent reports whether a directory is in the commit and not on disk, as far as that
// is known.
func (c committed) absent(dir string) bool {
	return c.unknown || len(c.missing) > 0 && c.modes[dir] == filemode.Dir
}

// committedIn reads what the commit of a file tree has. If a partial clone has no tree
// objects, GitHub is asked in an Action's run: one request.
func committedIn(ctx context.Context, j job, t tree) (committed, error) {
	c := committed{modes: map[string]filemode.FileMode{}, links: map[string]string{}, sparse: t.remote == nil && sparse(t)}
	if t.remote != nil || t.loose {
		return c.listed(t)
	}
	err := c.readHead(t)
	if err != nil {
		err = c.ask(ctx, j, t)
	}
	if err != nil {
		return c, fmt.Errorf("reading what HEAD has: %w", err)
	}
	for name, mode := range c.modes {
		if mode != filemode.Dir && scan.Reads(name) {
			c.names = append(c.names, name)
		}
	}
	slices.Sort(c.names)
	c.compare(t)
	return c, nil
}

// listed is what a file tree has that is no checkout.
func (c committed) listed(t tree) (committed, error) {
	err := fs.WalkDir(t.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir() && name != ".":
			return fs.SkipDir
		case err != nil:
			return err
		case d.IsDir():
			c.modes[name] = filemode.Dir
		case scan.Reads(name):
			c.names = append(c.names, name)
			if c.modes[name] = filemode.Regular; d.Type() == fs.ModeSymlink {
				c.modes[name] = filemode.Symlink
			}
		}
		return nil
	})
	slices.Sort(c.names)
	return c, err
}

// readHead reads the tree objects of HEAD. A repository without a commit has nothing.
func (c *committed) readHead(t tree) error {
	repo, err := openClone(t.root)
	if err != nil {
		return err
	}
	head, err := repo.head()
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	commit, err := repo.commit(head.Hash())
	if err != nil {
		return err
	}
	top, err := commit.Tree()
	if err != nil {
		return err
	}
	return walkTree(top, func(name string, entry object.TreeEntry) error {
		if c.reads(name, entry.Mode) {
			c.modes[name] = entry.Mode
		}
		if entry.Mode == filemode.Symlink && isLock(name) {
			target, _ := repo.content(entry.Hash) // empty if a partial clone does not have that
			c.links[name] = string(target)
		}
		return nil
	})
}

// ask asks GitHub for the tree of HEAD, in an Action's run that is about a repository
// there. Elsewhere, and where GitHub does not have the commit, it stays unknown.
func (c *committed) ask(ctx context.Context, j job, t tree) error {
	c.unknown = true
	sha, err := headOf(t, j.target)
	if err != nil || !j.env.OnGitHub || j.target.Repository == "" {
		return err
	}
	repo, err := j.hubs.reach(j.req.Hub, j.target.Repository)
	if err != nil {
		return nil // nobody can be asked, and unknown says so
	}
	entries, err := repo.Entries(ctx, sha)
	if err != nil {
		return nil // likewise
	}
	c.unknown = false
	for name, mode := range entries {
		if m := gitMode(mode); c.reads(name, m) {
			c.modes[name] = m
		}
	}
	return nil
}

// gitMode is git's mode of what a file tree has.
func gitMode(mode fs.FileMode) filemode.FileMode {
	switch mode.Type() {
	case fs.ModeDir:
		return filemode.Dir
	case fs.ModeSymlink:
		return filemode.Symlink
	}
	return filemode.Regular
}

// compare says which names are not on disk, and why. A sparse checkout leaves out what
// its index marks so. If the index cannot be read, since it is a sparse one itself, all
// that is not there counts as left out.
func (c *committed) compare(t tree) {
	var gone []string
	for name, mode := range c.modes {
		if mode == filemode.Dir || mode == filemode.Submodule {
			continue
		}
		if _, err := os.Lstat(t.path(name)); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	if len(gone) == 0 || !c.sparse {
		c.deleted = gone
		return
	}
	checkedOut := map[string]bool{}
	if repo, err := openClone(t.root); err == nil {
		if index, err := repo.stored.Index(); err == nil {
			for _, e := range index.Entries {
				checkedOut[e.Name] = !e.SkipWorktree
			}
		}
	}
	for _, name := range gone {
		if checkedOut[name] {
			c.deleted = append(c.deleted, name)
		} else {
			c.missing = append(c.missing, name)
		}
	}
}

// notOnDisk notes which lock files a checkout lacks, and takes out of an inventory the
// root modules of which it has a part: what is required there is not known. A pull
// request keeps what it has for lock files that a local change deleted; elsewhere they
// are gone. Of the diagnostics of the scan it returns those that are still true.
func notOnDisk(j job, s *inventory, t tree, c committed, diagnostics []problem.Problem) []problem.Problem {
	lacks := newChanged(asFiles(c.missing))
	unseen := map[string]bool{}
	for _, name := range c.locks() {
		unseen[name] = lacks.beside(path.Dir(name))
	}
	s.found = slices.DeleteFunc(s.found, func(f found) bool {
		lacking := f.tree.root == t.root && lacks.names(f.module)
		if lacking {
			unseen[path.Join(f.module.Dir, lockfile.Name)] = true
		}
		return lacking
	})
	for name, missing := range unseen {
		if missing {
			s.blind.add(notInCheckout, j.names(t).Of, name)
		}
	}
	if c.unknown {
		s.blind.add(notInCheckout, j.names(t).Of, "./")
	}
	for _, name := range c.deleted {
		if isLock(name) && j.req.Verb == verbs.PR {
			s.blind.add(deletedHere, j.names(t).Of, name)
		}
	}
	diagnostics = slices.DeleteFunc(slices.Clone(diagnostics), func(d problem.Problem) bool { return unseen[d.Place.File()] })
	return append(diagnostics, unchecked(s, c)...)
}

// asFiles are paths of files.
func asFiles(names []string) []filetree.ChangedPath {
	paths := make([]filetree.ChangedPath, len(names))
	for i, name := range names {
		paths[i] = filetree.ChangedPath{Path: name, File: true}
	}
	return paths
}

// unchecked are errors about lock files that the change touches and the checkout lacks.
func unchecked(s *inventory, c committed) (errs []problem.Problem) {
	for _, name := range c.missing {
		if s.extent.changed != nil && s.extent.changed.files[name] && isLock(name) {
			errs = append(errs, problem.Problem{
				Code: problem.CodeUnseen, Message: "the change to the lock file is not checked: the sparse checkout lacks it",
				Place: problem.Place{Path: name}, Hint: scan.CheckOut(path.Dir(name)),
			})
		}
	}
	return errs
}
