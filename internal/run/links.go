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

// toolDirs are directories of git, the tools and package managers. They have no files of
// people.
var toolDirs = []string{".git", ".terraform", ".terragrunt-cache", "node_modules"}

// inToolDir reports whether a file is below one of toolDirs.
func inToolDir(name string) bool { return worktree.Within(name, toolDirs) }

// linkedLocks are the lock files of a tree that are links, and the files that such links
// lead to, also hidden ones. It includes links that only the commit has. Outside of a
// repository it looks at the root modules only, since there is no other limit.
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
	for _, name := range c.missing { // a sparse checkout may lack them
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

// markShared marks root modules whose lock files are links, or are the target of links.
// relock does not write these. It would replace a link by a file, and the target belongs to
// several root modules [hashicorp/terraform#27158, hashicorp/terraform#32707].
func markShared(t tree, roots []scan.RootModule, c committed) error {
	linked, err := linkedLocks(t, roots, c)
	for i, m := range roots {
		roots[i].Shared = linked[path.Join(m.Dir, lockfile.Name)]
	}
	return err
}

// leaveOutShared removes such root modules from an inventory before a verb that writes, and
// notes that the run did not look at them. If one cannot be read, that is still an error.
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

// errLinkedLock is why relock does not replace a lock file.
var errLinkedLock = errors.New("it is a link, in whose place a file would be put")
