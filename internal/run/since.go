package run

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
)

// changedSince returns the paths that differ between where HEAD left a revision and the
// working tree. Of contents that are not committed those count that the scan reads;
// differs tells of any other file.
func changedSince(t tree, revision string) (paths []filetree.ChangedPath, differs func(name string) bool, err error) {
	base, head, err := parted(t, revision)
	if err != nil {
		return nil, nil, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: fmt.Sprintf("finding out what changed since %s: %v", revision, err),
			Hint: "fetch the whole history, with fetch-depth: 0 for actions/checkout, or git fetch --unshallow",
		}}
	}
	changes, err := object.DiffTree(base, head)
	if err != nil {
		return nil, nil, fmt.Errorf("comparing %s with HEAD: %w", revision, err)
	}
	for _, c := range changes {
		for _, e := range []object.ChangeEntry{c.From, c.To} {
			if e.Name != "" {
				paths = append(paths, filetree.ChangedPath{Path: e.Name, File: ofFile(c.From.TreeEntry.Mode) && ofFile(c.To.TreeEntry.Mode)})
			}
		}
	}
	w, err := readWorkingTree(t, head)
	if err != nil {
		return nil, nil, err
	}
	return append(paths, w.changed()...), w.differs, nil
}

// parted are the trees of the commit where HEAD left a revision, and of HEAD.
func parted(t tree, revision string) (base, head *object.Tree, err error) {
	from, err := commitOf(t, revision)
	if err != nil {
		return nil, nil, err
	}
	at, err := commitOf(t, "HEAD")
	if err != nil {
		return nil, nil, err
	}
	// A shallow clone ends where commits name parents that it lacks.
	common, err := at.MergeBase(from)
	if err != nil || len(common) == 0 {
		return nil, nil, fmt.Errorf("the clone does not hold the commit at which HEAD left it")
	}
	if base, err = common[0].Tree(); err != nil {
		return nil, nil, err
	}
	head, err = at.Tree()
	return base, head, err
}

// ofFile reports whether git's mode is that of a file, executable or not, or of nothing.
func ofFile(m filemode.FileMode) bool {
	return slices.Contains([]filemode.FileMode{filemode.Empty, filemode.Regular, filemode.Deprecated, filemode.Executable}, m)
}

// workingTree is what is on disk beside what HEAD has: an index may be out of date.
type workingTree struct {
	tree tree
	head map[string]object.TreeEntry // of all that it has, by path
	disk map[string]fs.FileMode      // types, likewise
	// sparse says that not all of HEAD needs to be on disk.
	sparse bool
}

func readWorkingTree(t tree, head *object.Tree) (workingTree, error) {
	w := workingTree{tree: t, head: map[string]object.TreeEntry{}, disk: map[string]fs.FileMode{}}
	err := walkTree(head, func(name string, entry object.TreeEntry) error {
		w.head[name] = entry
		return nil
	})
	if err != nil {
		return w, fmt.Errorf("reading the tree of HEAD: %w", err)
	}
	w.sparse = sparse(t)
	return w, w.list()
}

// list lists what is on disk, but for what git and the tools keep for themselves.
func (w workingTree) list() error {
	return filepath.WalkDir(w.tree.root, func(file string, d fs.DirEntry, err error) error {
		switch own := slices.Contains(toolDirs, d.Name()); {
		case err != nil && d.IsDir() && file != w.tree.root:
			return fs.SkipDir // what HEAD has in it counts as changed
		case err != nil:
			return err
		case d.IsDir() && own:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		name, err := filepath.Rel(w.tree.root, file)
		if err != nil {
			return err
		}
		w.disk[filepath.ToSlash(name)] = d.Type()
		return nil
	})
}

// changed are the paths that are not as in HEAD, as far as the scan reads their
// contents.
func (w workingTree) changed() []filetree.ChangedPath {
	var paths []filetree.ChangedPath
	files := w.tree.FS()
	for name, typ := range w.disk {
		entry, committed := w.head[name]
		file := typ == 0 && ofFile(entry.Mode)
		if !file && (typ != fs.ModeSymlink || entry.Mode != filemode.Symlink || w.linkDiffers(name)) ||
			file && committed && reads(name) && w.differs(name) || file && !committed && w.matters(name) {
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
		if inToolDir(name) && (!isLock(name) || !w.edited(name)) { // which was not listed
			continue
		}
		if _, there := w.disk[name]; !there && !w.sparse && entry.Mode != filemode.Dir && entry.Mode != filemode.Submodule {
			paths = append(paths, filetree.ChangedPath{Path: name, File: ofFile(entry.Mode)})
		}
	}
	return paths
}

// inToolDir reports whether a file is below a directory that is not listed.
func inToolDir(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool { return slices.Contains(toolDirs, dir) })
}

// edited reports whether a file of HEAD that was not listed has another content on disk.
func (w workingTree) edited(name string) bool {
	content, err := os.ReadFile(w.tree.path(name))
	return err != nil || plumbing.ComputeHash(plumbing.BlobObject, content) != w.head[name].Hash
}

// matters reports whether a file that is not committed may matter: by its name, or since
// HEAD does not have its directory, which may be a module.
func (w workingTree) matters(name string) bool {
	return scan.Notices(name) || w.head[path.Dir(name)].Mode != filemode.Dir && path.Dir(name) != "."
}

// linkDiffers reports whether a link on disk leads elsewhere than in HEAD.
func (w workingTree) linkDiffers(name string) bool {
	target, err := os.Readlink(w.tree.path(name))
	return err != nil || plumbing.ComputeHash(plumbing.BlobObject, []byte(filepath.ToSlash(target))) != w.head[name].Hash
}

// differs reports whether the content of a file on disk is not that in HEAD.
func (w workingTree) differs(name string) bool {
	if typ, there := w.disk[name]; !there || typ != 0 {
		return false
	}
	return w.edited(name)
}

// errNotHeld is why a file of a revision cannot be read.
var errNotHeld = errors.New("its content is none that a run reads")

// filesAt is the tree of a revision, with the contents of the files that a run may read
// and of those that links to such lead to.
func filesAt(t tree, revision string) (*Remote, error) {
	commit, err := commitOf(t, revision)
	if err != nil {
		return nil, err
	}
	listed, err := revisionTree(commit, func(string) bool { return false })
	if err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", revision, err)
	}
	linked := map[string]bool{}
	for _, name := range listed.Names() {
		if info, err := listed.Lstat(name); err != nil || info.Mode().Type() != fs.ModeSymlink || !reads(name) {
			continue
		}
		if to, err := filetree.Resolve(listed, name); err == nil {
			linked[to] = true
		}
	}
	files, err := revisionTree(commit, func(name string) bool { return reads(name) || linked[name] })
	if err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", revision, err)
	}
	return &Remote{FS: files, Commit: commit.Hash.String()}, nil
}

// revisionTree is the tree of a commit, with all links and the contents of the files
// that are kept. A clone need not have others.
func revisionTree(commit *object.Commit, keep func(name string) bool) (*filetree.Tree, error) {
	top, err := commit.Tree()
	if err != nil {
		return nil, err
	}
	b := filetree.Builder{Limits: filetree.Limits{Bytes: mostBase}}
	err = walkTree(top, func(name string, entry object.TreeEntry) error {
		switch link := entry.Mode == filemode.Symlink; {
		case !ofFile(entry.Mode) && !link:
			return b.AddDir(name)
		case !link && !keep(name):
			return b.AddMissing(name, 0o644, 0, errNotHeld)
		}
		return addBlob(&b, top, name, entry)
	})
	if err != nil {
		return nil, err
	}
	return b.Tree(), nil
}

// addBlob adds a file or a link of a commit.
func addBlob(b *filetree.Builder, top *object.Tree, name string, entry object.TreeEntry) error {
	f, err := top.TreeEntryFile(&entry)
	if err != nil {
		return err
	}
	r, err := f.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	content, err := readBounded(r)
	switch {
	case err != nil:
		return err
	case entry.Mode == filemode.Symlink:
		return b.AddLink(name, string(content))
	}
	return b.AddFile(name, 0o644, content)
}

// treeOf is a file tree of nothing but these files.
func treeOf(files map[string][]byte) (fs.FS, error) {
	var archive txtar.Archive
	for _, name := range slices.Sorted(maps.Keys(files)) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: files[name]})
	}
	return txtar.FS(&archive)
}
