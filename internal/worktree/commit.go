package worktree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
)

// Committed is the file tree of a commit. Names, modes and links come
// from git's tree objects. A content comes from the disk if it is the commit's, else from
// git's objects. Each is read when it is needed, so the tree has no bound.
//
// A submodule has the files of its recorded commit if the disk has that commit checked out,
// and else none. A listing shows a submodule as irregular, so that a search does not enter
// it: its files belong to another repository.
func Committed(of Revision) *filetree.Lazy {
	return &filetree.Lazy{Source: &commitSource{root: of.root, stored: of.stored, top: of.commit.TreeHash, dirs: map[string]*treeList{}}}
}

// commitSource is the Source of Committed. go-git's storage is for one goroutine.
type commitSource struct {
	root   string
	stored *filesystem.Storage
	top    plumbing.Hash

	mu   sync.Mutex
	dirs map[string]*treeList
}

// treeList is a tree object, in this repository or in a submodule of it.
type treeList struct {
	of      *commitSource // the repository that has the object
	entries map[string]object.TreeEntry
}

// HasAll reports whether the clone has all that a run reads of a commit: the lists of all
// directories, and the files that are read, on disk or as objects. A partial clone of which
// a part is checked out lacks some.
func HasAll(of Revision, reads func(name string) bool) bool {
	top, err := of.commit.Tree()
	if err != nil {
		return false
	}
	return nil == walkTree(top, func(name string, entry object.TreeEntry) error {
		if entry.Mode != filemode.Symlink && (!isFile(entry.Mode) || !reads(name)) || of.stored.HasEncodedObject(entry.Hash) == nil {
			return nil
		}
		content, err := file.ReadAtMost(filepath.Join(of.root, filepath.FromSlash(name)), mostOfBlob)
		if err == nil && plumbing.ComputeHash(plumbing.BlobObject, content) != entry.Hash {
			err = fs.ErrNotExist
		}
		return err
	})
}

// Lstat implements filetree.Source.
func (c *commitSource) Lstat(name string) (fs.FileInfo, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if name == "." {
		return filetree.InfoOf(".", fs.ModeDir|0o755, 0), nil
	}
	entry, _, err := c.entry(name)
	if err != nil {
		return nil, err
	}
	if entry.Mode == filemode.Submodule {
		return filetree.InfoOf(entry.Name, fs.ModeDir|0o755, 0), nil
	}
	return infoOf(entry), nil
}

// ReadLink implements filetree.Source.
func (c *commitSource) ReadLink(name string) (string, error) {
	content, err := c.read(name)
	return string(content), err
}

// ReadDir implements filetree.Source.
func (c *commitSource) ReadDir(name string) ([]fs.DirEntry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir, err := c.directory(name)
	if err != nil {
		return nil, err
	}
	list := make([]fs.DirEntry, 0, len(dir.entries))
	for _, entry := range dir.entries {
		list = append(list, fs.FileInfoToDirEntry(infoOf(entry)))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// ReadFile implements filetree.Source.
func (c *commitSource) ReadFile(name string) ([]byte, error) { return c.read(name) }

// read returns the content of a file, or the target of a link.
func (c *commitSource) read(name string) ([]byte, error) {
	c.mu.Lock()
	entry, of, err := c.entry(name)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if entry.Mode != filemode.Symlink {
		content, err := file.ReadAtMost(filepath.Join(c.root, filepath.FromSlash(name)), mostOfBlob)
		if err == nil && plumbing.ComputeHash(plumbing.BlobObject, content) == entry.Hash {
			return content, nil
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	blob, err := object.GetBlob(of.stored, entry.Hash)
	switch {
	case errors.Is(err, plumbing.ErrObjectNotFound):
		return nil, errors.New("the clone lacks its content")
	case err != nil:
		return nil, err
	case blob.Size > mostOfBlob:
		return nil, fmt.Errorf("it is larger than %d MiB", mostOfBlob>>20)
	}
	r, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(r)
	return content, errors.Join(err, r.Close())
}

// mostOfBlob bounds a file of a commit, in bytes. Package tfconfig reads no larger one.
const mostOfBlob = 16 << 20

// entry returns what a directory has at a path, and the repository of that directory.
func (c *commitSource) entry(name string) (object.TreeEntry, *commitSource, error) {
	dir, err := c.directory(path.Dir(name))
	if err != nil {
		return object.TreeEntry{}, nil, err
	}
	entry, there := dir.entries[path.Base(name)]
	if !there {
		return entry, nil, fs.ErrNotExist
	}
	return entry, dir.of, nil
}

// directory reads the list of a directory, once.
func (c *commitSource) directory(name string) (*treeList, error) {
	if known := c.dirs[name]; known != nil {
		return known, nil
	}
	id, of := c.top, c
	if name != "." {
		entry, above, err := c.entry(name)
		if err != nil {
			return nil, err
		}
		id, of = entry.Hash, above
		switch entry.Mode {
		case filemode.Dir:
		case filemode.Submodule:
			of = c.submodule(name, entry.Hash)
			if of == nil {
				c.dirs[name] = &treeList{}
				return c.dirs[name], nil
			}
			id = of.top
		default:
			return nil, fs.ErrNotExist
		}
	}
	tree, err := object.GetTree(of.stored, id)
	if err != nil {
		return nil, fmt.Errorf("reading the list of a directory in the commit: %w", err)
	}
	dir := &treeList{of: of, entries: make(map[string]object.TreeEntry, len(tree.Entries))}
	for _, entry := range tree.Entries {
		if !fs.ValidPath(entry.Name) || entry.Name != path.Base(entry.Name) || entry.Name == "." {
			return nil, filetree.ErrName // a search would go in circles
		}
		dir.entries[entry.Name] = entry
	}
	c.dirs[name] = dir
	return dir, nil
}

// submodule is the repository of a submodule on disk; nil if the disk does not have the
// recorded commit checked out.
func (c *commitSource) submodule(name string, recorded plumbing.Hash) *commitSource {
	root := filepath.Join(c.root, filepath.FromSlash(name))
	if _, err := os.Lstat(filepath.Join(root, ".git")); err != nil {
		return nil
	}
	clone, err := OpenClone(root)
	if err != nil {
		return nil
	}
	head, err := clone.At("HEAD")
	if err != nil || head.commit.Hash != recorded {
		return nil
	}
	return &commitSource{root: root, stored: clone.stored, top: head.commit.TreeHash}
}

// infoOf describes an entry of a tree object.
func infoOf(entry object.TreeEntry) fs.FileInfo {
	mode := typeOf(entry.Mode)
	switch {
	case mode.IsDir(), entry.Mode == filemode.Executable:
		mode |= 0o755
	default:
		mode |= 0o644
	}
	return filetree.InfoOf(entry.Name, mode, 0)
}
