package run

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/worktree"
)

// toolDirs are directories of git, the tools and package managers. They have no files of
// people.
var toolDirs = append([]string{".git", "node_modules"}, toolCaches...)

func inToolDir(name string) bool { return worktree.Within(name, toolDirs) }

// toolCaches are directories that the tools fill. On disk, their content is nobody's work.
// If it is committed, the tools read it, and no reviewer does.
var toolCaches = []string{".terraform", ".terragrunt-cache"}

// lockList has the lock files of a tree. It is made from names alone: no configuration can
// hide a lock file. Of a commit it has all files. Of a checkout it has the files on disk
// that git does not ignore, and those of HEAD. Outside of git it has the files on disk in
// the directories of the run.
type lockList struct {
	tree   tree
	commit committed
	types  map[string]fs.FileMode // by name: regular files and links
	// unlisted are directories that could not be listed. They end in a slash.
	unlisted []string
	absent   map[string]bool // HEAD has them, and the disk does not
	// submodules are directories with files of other repositories.
	submodules []string
	head       func() (worktree.Revision, error)
	// rest is the tree of HEAD with the content of the absent files.
	rest func() (fs.FS, error)
}

// listLocks lists the lock files of a tree. c is what is known of HEAD.
func listLocks(t tree, c committed) lockList {
	l := lockList{tree: t, commit: c, types: map[string]fs.FileMode{}, absent: map[string]bool{}, submodules: c.submodules()}
	for _, name := range c.locks() {
		l.types[name] = c.types[name]
	}
	for _, name := range slices.Concat(c.missing, c.deleted) {
		l.absent[name] = true
	}
	starts := []string{"."}
	if t.loose {
		starts = t.dirs
	}
	for _, dir := range starts {
		l.walk(strings.TrimSuffix(dir, "/..."))
	}
	l.head = sync.OnceValues(func() (worktree.Revision, error) { return t.at("HEAD") })
	l.rest = sync.OnceValues(func() (fs.FS, error) {
		head, err := l.head()
		if err != nil {
			return nil, err
		}
		return head.Tree(func(name string) bool { return l.absent[name] && lockfile.Resembles(name) })
	})
	return l
}

// names are the lock files in the directories of the run, sorted.
func (l lockList) names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l.types)), func(name string) bool { return !l.tree.covers(path.Dir(name)) })
}

// shared are the lock files that are links, and the files that such links lead to. relock
// does not write these. It would replace a link by a file, and the target belongs to several
// root modules [hashicorp/terraform#27158, hashicorp/terraform#32707].
func (l lockList) shared() map[string]bool {
	shared, files := map[string]bool{}, l.tree.FS()
	for name, typ := range l.types {
		if typ != fs.ModeSymlink {
			continue
		}
		shared[name] = true
		if to, err := filetree.Resolve(files, name); err == nil {
			shared[to] = true
		} else if target := l.commit.links[name]; l.absent[name] && target != "" {
			shared[path.Join(path.Dir(name), target)] = true
		}
	}
	return shared
}

// walk adds the lock files in a directory of the tree, and below it.
func (l *lockList) walk(start string) {
	skips := l.skips()
	l.each(start, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			l.unlisted = append(l.unlisted, strings.TrimPrefix(name+"/", "./"))
			return fs.SkipDir
		case name != start && skips(name, d.IsDir()):
			if d.IsDir() {
				return fs.SkipDir
			}
		case lockfile.Resembles(name) && (d.Type().IsRegular() || d.Type() == fs.ModeSymlink):
			l.types[name] = d.Type()
		}
		return nil
	})
}

// each calls visit with all that is in a directory of the tree, and below it.
func (l *lockList) each(start string, visit fs.WalkDirFunc) {
	if l.tree.remote != nil {
		_ = fs.WalkDir(l.tree.FS(), start, visit) // visit gets each error
		return
	}
	_ = filepath.WalkDir(l.tree.path(start), func(file string, d fs.DirEntry, err error) error {
		name, outside := filepath.Rel(l.tree.root, file)
		if outside != nil {
			return outside
		}
		return visit(filepath.ToSlash(name), d, err)
	})
}

// skips returns a function that reports whether a listing leaves out a file or a directory
// on disk. Files of HEAD are listed in any case. A directory node_modules of HEAD may have
// very many other files on disk.
func (l *lockList) skips() func(name string, isDir bool) bool {
	if l.tree.remote != nil {
		return func(string, bool) bool { return false }
	}
	ignored := worktree.ReadIgnoreFiles(l.tree.root)
	return func(name string, isDir bool) bool {
		base := path.Base(name)
		switch {
		case isDir && (base == ".git" || slices.Contains(toolCaches, base) || base == "node_modules" && l.commit.types[name].IsDir()):
			return true
		case l.tree.loose || !isDir && !lockfile.Resembles(name):
			return false
		}
		if isDir {
			return ignored.ByDir(name).Path != ""
		}
		return ignored.By(name).Path != ""
	}
}

// read returns the content of a lock file. The content of a link is that of its target,
// which must be in the tree.
func (l lockList) read(name string) ([]byte, error) {
	files := l.tree.FS()
	if l.absent[name] {
		var err error
		files, err = l.rest()
		if err != nil {
			return nil, err
		}
	}
	to, err := filetree.Resolve(files, name)
	if err != nil {
		return nil, err
	}
	if l.absent[name] || l.tree.remote != nil {
		f, err := files.Open(to)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return worktree.ReadBounded(f)
	}
	f, err := file.Open(l.tree.path(to))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return worktree.ReadBounded(f)
}

// submodule is the submodule that has a file; empty if the repository itself has it.
func (l lockList) submodule(name string) string {
	i := slices.IndexFunc(l.submodules, func(dir string) bool { return strings.HasPrefix(name, dir+"/") })
	if i < 0 {
		return ""
	}
	return l.submodules[i]
}

// edited reports whether a lock file on disk differs from that of HEAD: the link, or the
// content. If that is unknown, a lock file on disk counts as edited.
func (l lockList) edited(name string) bool {
	if l.tree.remote != nil {
		return false
	}
	head, err := l.head()
	to, lost := filetree.Resolve(l.tree.FS(), name)
	if err != nil || lost != nil {
		return !l.absent[name]
	}
	content, err := l.read(name)
	if err != nil || differsFrom(head, to, content) {
		return true
	}
	if to == name {
		return false
	}
	target, err := os.Readlink(l.tree.path(name))
	return err == nil && differsFrom(head, name, []byte(filepath.ToSlash(target)))
}

// differsFrom reports whether a revision has another content at a path.
func differsFrom(at worktree.Revision, name string, content []byte) bool {
	id, err := at.Blob(name)
	return err != nil || id != blobID(content)
}

// blobID is git's id of a content; empty for an empty file.
func blobID(content []byte) string {
	if len(content) == 0 {
		return ""
	}
	return github.BlobID(content)
}
