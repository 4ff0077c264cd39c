package worktree

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/relock-dev/relock/internal/filetree"
)

// Filter says which files of a working tree matter to the question what changed.
type Filter struct {
	// Reads reports whether the content of a file matters, by its path.
	Reads func(name string) bool
	// Notices reports whether a file matters because it exists and HEAD lacks it.
	Notices func(name string) bool
	// Unlisted are the names of directories whose files on disk do not matter,
	// except for files of HEAD for which Kept is true.
	Unlisted []string
	Kept     func(name string) bool
}

// changedBetween are the paths at which two commits differ.
func changedBetween(from, to Revision) (paths []filetree.ChangedPath, err error) {
	before, err := from.commit.Tree()
	if err != nil {
		return nil, err
	}
	after, err := to.commit.Tree()
	if err != nil {
		return nil, err
	}
	changes, err := object.DiffTree(before, after)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		for _, e := range []object.ChangeEntry{c.From, c.To} {
			if e.Name != "" {
				paths = append(paths, filetree.ChangedPath{Path: e.Name, File: isFile(c.From.TreeEntry.Mode) && isFile(c.To.TreeEntry.Mode)})
			}
		}
	}
	return paths, nil
}

// workingTree compares the files on disk with those of HEAD: an index may be out
// of date.
type workingTree struct {
	root   string
	filter Filter
	head   map[string]object.TreeEntry // of all that it has, by path
	disk   map[string]fs.FileMode      // types, by path
	// sparse says that not all of HEAD needs to be on disk.
	sparse bool
}

func readWorkingTree(root string, head Revision, f Filter) (workingTree, error) {
	w := workingTree{root: root, filter: f, head: map[string]object.TreeEntry{}, disk: map[string]fs.FileMode{}}
	top, err := head.commit.Tree()
	if err != nil {
		return w, err
	}
	err = walkTree(top, func(name string, entry object.TreeEntry) error {
		w.head[name] = entry
		return nil
	})
	if err != nil {
		return w, fmt.Errorf("reading the tree of HEAD: %w", err)
	}
	w.sparse = Sparse(root)
	return w, w.list()
}

// list lists what is on disk, except for the directories that the filter leaves out.
func (w workingTree) list() error {
	return filepath.WalkDir(w.root, func(file string, d fs.DirEntry, err error) error {
		switch own := slices.Contains(w.filter.Unlisted, d.Name()); {
		case err != nil && d.IsDir() && file != w.root:
			return fs.SkipDir // what HEAD has in it counts as changed
		case err != nil:
			return err
		case d.IsDir() && own:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		name, err := filepath.Rel(w.root, file)
		if err != nil {
			return err
		}
		w.disk[filepath.ToSlash(name)] = d.Type()
		return nil
	})
}

// changed are the paths that are not as in HEAD, as far as they matter.
func (w workingTree) changed() []filetree.ChangedPath {
	var paths []filetree.ChangedPath
	files := os.DirFS(w.root)
	for name, typ := range w.disk {
		entry, committed := w.head[name]
		file := typ == 0 && isFile(entry.Mode)
		if !file && (typ != fs.ModeSymlink || entry.Mode != filemode.Symlink || w.linkDiffers(name)) ||
			file && committed && w.filter.Reads(name) && w.differs(name) || file && !committed && w.matters(name) {
			paths = append(paths, filetree.ChangedPath{Path: name, File: file})
		}
		// A file that is read through a link may have any name.
		if typ == fs.ModeSymlink {
			if to, err := filetree.Resolve(files, name); err == nil && w.differs(to) {
				paths = append(paths, filetree.ChangedPath{Path: to, File: true})
			}
		}
	}
	for name, entry := range w.head {
		if Within(name, w.filter.Unlisted) && (!w.filter.Kept(name) || !w.edited(name)) { // which was not listed
			continue
		}
		if _, there := w.disk[name]; !there && !w.sparse && entry.Mode != filemode.Dir && entry.Mode != filemode.Submodule {
			paths = append(paths, filetree.ChangedPath{Path: name, File: isFile(entry.Mode)})
		}
	}
	return paths
}

// Within reports whether a path is below a directory with one of these names.
func Within(name string, dirs []string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool { return slices.Contains(dirs, dir) })
}

// path is where a file is on disk.
func (w workingTree) path(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }

// edited reports whether a file of HEAD that was not listed has another content on disk. Line
// ends do not count: git may have converted them, as it does on Windows.
func (w workingTree) edited(name string) bool {
	content, err := os.ReadFile(w.path(name))
	return err != nil || plumbing.ComputeHash(plumbing.BlobObject, content) != w.head[name].Hash &&
		plumbing.ComputeHash(plumbing.BlobObject, bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))) != w.head[name].Hash
}

// matters reports whether an uncommitted file may matter: by its path, or because
// its directory is new and may be a module.
func (w workingTree) matters(name string) bool {
	return w.filter.Notices(name) || w.head[path.Dir(name)].Mode != filemode.Dir && path.Dir(name) != "."
}

// linkDiffers reports whether a link on disk leads elsewhere than in HEAD.
func (w workingTree) linkDiffers(name string) bool {
	target, err := os.Readlink(w.path(name))
	return err != nil || plumbing.ComputeHash(plumbing.BlobObject, []byte(filepath.ToSlash(target))) != w.head[name].Hash
}

// differs reports whether the content of a file on disk is not that in HEAD.
func (w workingTree) differs(name string) bool {
	if typ, there := w.disk[name]; !there || typ != 0 {
		return false
	}
	return w.edited(name)
}
