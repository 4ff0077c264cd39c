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
	// dirs are where directories lead, so that a path costs no more where it is deep.
	dirs memo.Once[string, wayOrErr]
}

type wayOrErr struct {
	filetree.Way
	err error
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
	at, err := l.way(path.Clean(name))
	if err != nil {
		return "", nil, err
	}
	info, err := l.Lstat(at.Path)
	return at.Path, info, err
}

// way is where a clean path leads, from where its directory does.
func (l *LazyFiles) way(name string) (filetree.Way, error) {
	dir, base := path.Split(name)
	if dir == "" || dir == "/" || base == ".." {
		return filetree.Way{}.Resolve(l, name)
	}
	dir = path.Clean(dir)
	above := l.dirs.Get(dir, func() wayOrErr {
		at, err := l.way(dir)
		return wayOrErr{at, err}
	})
	if above.err != nil {
		return above.Way, above.err
	}
	return above.Resolve(l, base)
}

// Linked reports whether a path leads through a link, even if to nothing.
func (l *LazyFiles) Linked(name string) bool {
	at, _ := l.way(path.Clean(name)) // an error leads nowhere
	return at.Linked()
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
