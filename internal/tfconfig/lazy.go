package tfconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"

	regular "github.com/relock-dev/relock/internal/file" // the type file is another here
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/memo"
)

var errLarge = fmt.Errorf("it is larger than %d MiB", maxFile>>20)

// LazyFiles is a file tree, an fs.ReadLinkFS and fs.ReadDirFS, that is read lazily: each
// directory and each description of a file once.
type LazyFiles struct {
	fs.FS
	lists memo.Once[string, entryList]
	infos memo.Once[string, fileInfo]
}

type entryList struct {
	entries []fs.DirEntry
	err     error
}

type fileInfo struct {
	fs.FileInfo
	err error
}

// ReadDir returns the entries of a directory without links in its path, sorted by name.
func (l *LazyFiles) ReadDir(dir string) ([]fs.DirEntry, error) {
	list := l.lists.Get(dir, func() entryList {
		entries, err := fs.ReadDir(l.FS, dir)
		return entryList{entries, err}
	})
	return list.entries, list.err
}

// Lstat describes a file without links in its directory's path.
func (l *LazyFiles) Lstat(name string) (fs.FileInfo, error) {
	info := l.infos.Get(name, func() fileInfo {
		info, err := fs.Lstat(l.FS, name)
		return fileInfo{info, err}
	})
	return info.FileInfo, info.err
}

// ReadLink implements fs.ReadLinkFS.
func (l *LazyFiles) ReadLink(name string) (string, error) { return fs.ReadLink(l.FS, name) }

// Follow describes what a path leads to, through links, and returns its path without
// them. It fails with an error of filetree.Resolve or of the file system.
func (l *LazyFiles) Follow(name string) (string, fs.FileInfo, error) {
	real, err := filetree.Resolve(l, path.Clean(name))
	if err != nil {
		return "", nil, err
	}
	info, err := l.Lstat(real)
	return real, info, err
}

// Linked reports whether a path leads through a link, even if to nothing.
func (l *LazyFiles) Linked(name string) bool {
	n := &noting{LazyFiles: l}
	_, _ = filetree.Resolve(n, path.Clean(name)) // an error leads nowhere
	return n.linked
}

// noting notes whether a link is read.
type noting struct {
	*LazyFiles
	linked bool
}

// ReadLink implements fs.ReadLinkFS.
func (n *noting) ReadLink(name string) (string, error) {
	n.linked = true
	return n.LazyFiles.ReadLink(name)
}

// errPointer is why a file cannot be read of which Git LFS keeps the content.
var errPointer = errors.New("it is a pointer of Git LFS, whose content is not here: check out with lfs: true, or run git lfs pull")

// Unheld says why what was read of a file is not its content; nil if it is. A pointer
// begins with this line [github.com/git-lfs/git-lfs docs/spec.md, "The Pointer"].
func Unheld(src []byte) error {
	if bytes.HasPrefix(src, []byte("version https://git-lfs.github.com/spec/v1\n")) {
		return errPointer
	}
	return nil
}

// Readable says why the content of a file is not read; nil if it is.
func Readable(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular(): // a named pipe would keep the run waiting for ever
		return regular.ErrIrregular
	case info.Size() > maxFile:
		return errLarge
	}
	return nil
}
