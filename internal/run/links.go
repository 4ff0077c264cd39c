package run

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/worktree"
)

// toolDirs are directories that git, the tools and package managers keep for
// themselves: nobody's files are there.
var toolDirs = []string{".git", ".terraform", ".terragrunt-cache", "node_modules"}

// inToolDir reports whether a file is below one of toolDirs.
func inToolDir(name string) bool { return worktree.Within(name, toolDirs) }

// linkedLocks are the lock files of a tree that are links, and those that such links
// lead to, hidden ones included, and those that
// only the commit has. Outside of a repository nothing says how far to look:
// there it is the root modules themselves.
func linkedLocks(t tree, roots []scan.RootModule, c committed) (map[string]bool, error) {
	fsys, linked := t.FS(), map[string]bool{}
	note := func(name string) {
		if info, err := fs.Lstat(fsys, name); err != nil || info.Mode().Type() != fs.ModeSymlink {
			return
		}
		linked[name] = true
		if to, err := filetree.Resolve(fsys, name); err == nil {
			linked[to] = true
		}
	}
	for _, name := range c.missing { // which a sparse checkout lacks
		if target := c.links[name]; target != "" {
			linked[path.Join(path.Dir(name), target)] = true
		}
	}
	if t.loose {
		for _, m := range roots {
			note(path.Join(m.Dir, lockfile.Name))
		}
		return linked, nil
	}
	return linked, fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil: // a directory that cannot be read
			return fs.SkipDir
		case d.IsDir() && slices.Contains(toolDirs, d.Name()):
			return fs.SkipDir
		case d.Type() == fs.ModeSymlink && lockfile.Is(name):
			note(name)
		}
		return nil
	})
}

// markShared marks the root modules whose lock files links lead from or to. What writes
// leaves these alone: replacing a link puts a file in its place, and what it leads to
// is the lock file of several root modules
// [hashicorp/terraform#27158, hashicorp/terraform#32707].
func markShared(t tree, roots []scan.RootModule, c committed) error {
	linked, err := linkedLocks(t, roots, c)
	for i, m := range roots {
		roots[i].Shared = linked[path.Join(m.Dir, lockfile.Name)]
	}
	return err
}

// leaveOutShared takes those out of an inventory that something is written of, and notes
// that they were not looked at. One that cannot be read fails all the same.
func leaveOutShared(j job, s *inventory) {
	if j.ask.to == nil {
		return
	}
	s.found = slices.DeleteFunc(s.found, func(f found) bool {
		spared := f.module.Shared && f.module.Lock != nil
		if spared {
			s.unseen.add(behindLink, j.names(f.tree).Of, path.Join(f.module.Dir, lockfile.Name))
		}
		return spared
	})
}

// errLinkedLock is why a lock file is not replaced.
var errLinkedLock = errors.New("it is a link, in whose place a file would be put")
