package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/filetree"
)

// Revision is a commit of a Clone. A partial clone need not hold its files.
type Revision struct {
	Commit string // its id
	name   string // by which somebody asked for it
	commit *object.Commit
	stored *filesystem.Storage
	root   string // of the working tree, as in Clone
}

// Parents are the ids of the commits on which the revision was made. A shallow clone need
// not hold those commits.
func (r Revision) Parents() []string {
	return collect.Mapped(r.commit.ParentHashes, plumbing.Hash.String)
}

// ErrNoDirectory says that a clone holds no list of files for a directory of a revision.
var ErrNoDirectory = errors.New("there is no such directory")

// Walk calls visit with all that the revision has below a directory ("." is its top), by
// path, directories before what is in them. The type is 0 of a file, executable or not,
// fs.ModeDir, fs.ModeSymlink, or fs.ModeIrregular of a submodule. It reads the tree
// objects alone, which costs as much as git ls-tree -r. The error is ErrNoDirectory if
// the clone holds no such directory, and another one if it lacks one below that.
func (r Revision) Walk(dir string, visit func(name string, typ fs.FileMode) error) error {
	at, err := r.commit.Tree()
	if err == nil && dir != "." {
		at, err = at.Tree(dir)
	}
	if errors.Is(err, plumbing.ErrObjectNotFound) || errors.Is(err, object.ErrDirectoryNotFound) {
		return ErrNoDirectory
	}
	if err != nil {
		return err
	}
	return walkTree(at, func(name string, entry object.TreeEntry) error {
		return visit(path.Join(dir, name), typeOf(entry.Mode))
	})
}

// Link is what the link at a path leads to.
func (r Revision) Link(name string) (string, error) {
	top, err := r.commit.Tree()
	if err != nil {
		return "", err
	}
	entry, err := top.FindEntry(name)
	if err != nil {
		return "", err
	}
	target, err := blobContent(r.stored, entry.Hash)
	return string(target), err
}

// Blob is git's id of the content of a file; empty if the revision has none, or an empty
// one. It takes no content, which a partial clone may lack.
func (r Revision) Blob(name string) (string, error) {
	top, err := r.commit.Tree()
	if err != nil {
		return "", fmt.Errorf("reading the tree of %s: %w", r.Commit, err)
	}
	entry, err := top.FindEntry(name)
	if errors.Is(err, object.ErrEntryNotFound) || errors.Is(err, object.ErrDirectoryNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("looking for %s in the commit %s: %w", name, r.Commit, err)
	}
	if entry.Hash == plumbing.ComputeHash(plumbing.BlobObject, nil) {
		return "", nil
	}
	return entry.Hash.String(), nil
}

// Files returns a file tree of those of the named files that the revision has. ok is false if
// one of them is a link or cannot be read.
func (r Revision) Files(names []string) (files fs.FS, ok bool) {
	contents := map[string][]byte{}
	for _, name := range names {
		f, err := r.commit.File(name)
		if errors.Is(err, object.ErrFileNotFound) {
			continue
		}
		if err != nil || !isFile(f.Mode) {
			return nil, false
		}
		contents[name], err = readObject(f)
		if err != nil {
			return nil, false
		}
	}
	var none filetree.Builder
	files, err := filetree.Overlay(none.Tree(), contents)
	return files, err == nil
}

// Contents reads those files of the revision that are taken, by path. Links are left out,
// so that what they lead to is missing there.
func (r Revision) Contents(takes func(name string) bool) (contents map[string][]byte, err error) {
	contents = map[string][]byte{}
	size := 0
	top, err := r.commit.Tree()
	if err == nil {
		err = walkTree(top, func(name string, entry object.TreeEntry) error {
			if !isFile(entry.Mode) || !takes(name) {
				return nil
			}
			content, err := entryContent(top, entry)
			contents[name] = content
			size += len(content)
			if size > mostOfRevision {
				return fmt.Errorf("its configuration is larger than %d MiB", mostOfRevision>>20)
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", r.name, err)
	}
	return contents, nil
}

// Tree is Committed, or an error if the clone lacks some of the files that are read.
func (r Revision) Tree(reads func(name string) bool) (*filetree.Lazy, error) {
	if !HasAll(r, reads) {
		return nil, fmt.Errorf("reading revision %s: the clone lacks files of it", r.name)
	}
	return Committed(r), nil
}

// mostOfRevision bounds the files that are read of a revision, as github.Snapshot does.
const mostOfRevision = 128 << 20

// entryContent reads what a tree has of a file or a link.
func entryContent(top *object.Tree, entry object.TreeEntry) ([]byte, error) {
	f, err := top.TreeEntryFile(&entry)
	if err != nil {
		return nil, err
	}
	return readObject(f)
}

// readObject reads a file or a link.
func readObject(f *object.File) ([]byte, error) {
	r, err := f.Reader()
	if err != nil {
		return nil, err
	}
	content, err := ReadBounded(r)
	return content, errors.Join(err, r.Close())
}

// walkTree calls visit with all that is in a tree of git, by path, directories before
// what is in them. The error wraps object.ErrDirectoryNotFound if the list of a directory
// is missing: go-git's own walker takes that for the end.
func walkTree(top *object.Tree, visit func(name string, entry object.TreeEntry) error) error {
	var walk func(at *object.Tree, dir string) error
	walk = func(at *object.Tree, dir string) error {
		for _, entry := range at.Entries {
			name := path.Join(dir, entry.Name)
			if err := visit(name, entry); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if entry.Mode != filemode.Dir {
				continue
			}
			below, err := at.Tree(entry.Name)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := walk(below, name); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(top, "")
}

// isFile reports whether git's mode is that of a file, executable or not, or of nothing.
func isFile(m filemode.FileMode) bool {
	return slices.Contains([]filemode.FileMode{filemode.Empty, filemode.Regular, filemode.Deprecated, filemode.Executable}, m)
}

// typeOf is the type of what git has with a mode.
func typeOf(m filemode.FileMode) fs.FileMode {
	switch {
	case isFile(m):
		return 0
	case m == filemode.Dir:
		return fs.ModeDir
	case m == filemode.Symlink:
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}
