package filetree

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/memo"
)

// Source is where a Lazy reads. It is asked for paths without links, but perhaps at
// their ends; entries are sorted by name. What it returns is not changed.
type Source interface {
	Lstat(name string) (fs.FileInfo, error)
	ReadLink(name string) (string, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	ReadFile(name string) ([]byte, error)
}

// SourceOf reads the files of a file system, which should be an fs.ReadLinkFS.
func SourceOf(fsys fs.FS) Source { return sourceFS{fsys} }

type sourceFS struct{ fsys fs.FS }

func (f sourceFS) Lstat(name string) (fs.FileInfo, error)     { return fs.Lstat(f.fsys, name) }
func (f sourceFS) ReadLink(name string) (string, error)       { return fs.ReadLink(f.fsys, name) }
func (f sourceFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.fsys, name) }
func (f sourceFS) ReadFile(name string) ([]byte, error)       { return fs.ReadFile(f.fsys, name) }

// Lazy is a file tree that is read elsewhere when somebody asks, and once: each
// directory, description and link, and with KeepsContents each file. It is an fs.FS
// with ReadDir, ReadFile, Stat, Lstat and ReadLink, in which a path leads through
// links as Resolve says; beside the tree is nothing. It is safe for concurrent use.
type Lazy struct {
	Source        Source
	KeepsContents bool // for trees of which the same files are read again and again

	lists    memo.Once[string, heard[[]fs.DirEntry]]
	infos    memo.Once[string, heard[fs.FileInfo]]
	targets  memo.Once[string, heard[string]]
	contents memo.Once[string, heard[[]byte]]
	// dirs are where directories lead, so that a path costs no more where it is deep.
	dirs memo.Once[string, heard[Way]]
}

// heard is what a Source says of a path.
type heard[V any] struct {
	value V
	err   error
}

func hear[V any](value V, err error) heard[V] { return heard[V]{value, err} }

// Follow describes what a path leads to, through links, and returns its path without
// them. It fails with an error of Resolve or of the Source.
func (l *Lazy) Follow(name string) (string, fs.FileInfo, error) {
	at, err := l.way(path.Clean(name), true)
	if err != nil {
		return "", nil, err
	}
	info, err := l.describe(at.Path)
	return at.Path, info, err
}

// Linked reports whether a path leads through a link, even if to nothing.
func (l *Lazy) Linked(name string) bool {
	at, _ := l.way(path.Clean(name), true) // an error leads nowhere
	return at.Linked()
}

// List returns the entries of a directory, by a path as Follow returns it. The caller
// does not change them.
func (l *Lazy) List(real string) ([]fs.DirEntry, error) {
	a := l.lists.Get(real, func() heard[[]fs.DirEntry] { return hear(l.Source.ReadDir(real)) })
	return a.value, a.err
}

// Content returns what is in a file, by a path as Follow returns it. The caller does not
// change it.
func (l *Lazy) Content(real string) ([]byte, error) {
	if !l.KeepsContents {
		return l.Source.ReadFile(real)
	}
	a := l.contents.Get(real, func() heard[[]byte] { return hear(l.Source.ReadFile(real)) })
	return a.value, a.err
}

// describe describes what is at a path without links, but perhaps at its end.
func (l *Lazy) describe(real string) (fs.FileInfo, error) {
	a := l.infos.Get(real, func() heard[fs.FileInfo] { return hear(l.Source.Lstat(real)) })
	return a.value, a.err
}

// target is where the link leads that is at a path without other links.
func (l *Lazy) target(real string) (string, error) {
	a := l.targets.Get(real, func() heard[string] { return hear(l.Source.ReadLink(real)) })
	return a.value, a.err
}

// way is where a clean path leads, from where its directory does. A link at its end is
// followed if last is set.
func (l *Lazy) way(name string, last bool) (Way, error) {
	dir, base := path.Split(name)
	if dir == "" || dir == "/" || base == ".." {
		return resolve(Way{}, name, last, l.look)
	}
	dir = path.Clean(dir)
	above := l.dirs.Get(dir, func() heard[Way] { return hear(l.way(dir, true)) })
	if above.err != nil {
		return above.value, above.err
	}
	return resolve(above.value, base, last, l.look)
}

// look is what resolve asks.
func (l *Lazy) look(real string) (fs.FileMode, string, error) {
	info, err := l.describe(real)
	if err != nil {
		return 0, "", err
	}
	if info.Mode().Type() != fs.ModeSymlink {
		return info.Mode().Type(), "", nil
	}
	target, err := l.target(real)
	return fs.ModeSymlink, target, err
}

// find is way for the functions of package fs, which name what they could not do.
func (l *Lazy) find(op, name string, last bool) (real string, info fs.FileInfo, err error) {
	if !fs.ValidPath(name) {
		return "", nil, pathFailure(op, name, fs.ErrInvalid)
	}
	at, err := l.way(name, last)
	if errors.Is(err, ErrLeadsOut) {
		err = fs.ErrNotExist
	}
	if err == nil {
		info, err = l.describe(at.Path)
	}
	if err != nil {
		return "", nil, pathFailure(op, name, file.Cause(err))
	}
	if base := path.Base(name); info.Name() != base {
		info = renamed{info, base}
	}
	return at.Path, info, nil
}

// renamed describes a file by the name that it was found by.
type renamed struct {
	fs.FileInfo
	name string
}

func (r renamed) Name() string { return r.name }

// Open implements fs.FS.
func (l *Lazy) Open(name string) (fs.File, error) {
	real, info, err := l.find("open", name, true)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return &openDir{FileInfo: info, path: name, list: func() ([]fs.DirEntry, error) { return l.List(real) }}, nil
	}
	src, err := l.regular(name, real, info)
	if err != nil {
		return nil, err
	}
	return &openFile{bytes.NewReader(src), info}, nil
}

// regular is what is in a file, if it is one: a named pipe would keep a run waiting.
func (l *Lazy) regular(name, real string, info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, pathFailure("open", name, file.ErrIrregular)
	}
	return l.Content(real)
}

// Stat implements fs.StatFS.
func (l *Lazy) Stat(name string) (fs.FileInfo, error) {
	_, info, err := l.find("stat", name, true)
	return info, err
}

// Lstat implements fs.ReadLinkFS.
func (l *Lazy) Lstat(name string) (fs.FileInfo, error) {
	_, info, err := l.find("lstat", name, false)
	return info, err
}

// ReadLink implements fs.ReadLinkFS.
func (l *Lazy) ReadLink(name string) (string, error) {
	real, info, err := l.find("readlink", name, false)
	if err != nil {
		return "", err
	}
	if info.Mode().Type() != fs.ModeSymlink {
		return "", pathFailure("readlink", name, fs.ErrInvalid)
	}
	return l.target(real)
}

// ReadDir implements fs.ReadDirFS.
func (l *Lazy) ReadDir(name string) ([]fs.DirEntry, error) {
	real, _, err := l.find("readdir", name, true)
	if err != nil {
		return nil, err
	}
	list, err := l.List(real)
	return slices.Clone(list), err
}

// ReadFile implements fs.ReadFileFS.
func (l *Lazy) ReadFile(name string) ([]byte, error) {
	real, info, err := l.find("open", name, true)
	if err != nil {
		return nil, err
	}
	src, err := l.regular(name, real, info)
	return bytes.Clone(src), err
}
