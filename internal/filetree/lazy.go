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

// Source is the origin of a Lazy. The directories of the paths that it is asked for have no
// links; the path itself may be one. Entries are sorted by name. Nobody changes its
// results.
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

// Lazy is a file tree that reads its Source when it is asked, and each thing once: each
// directory, description and link and, with KeepsContents, each file. It is an fs.FS with
// ReadDir, ReadFile, Stat, Lstat and ReadLink. Links are followed as Resolve says. Nothing
// outside the tree can be read. It is safe for concurrent use.
type Lazy struct {
	Source        Source
	KeepsContents bool // for trees whose files are read repeatedly

	lists    memo.Once[string, heard[[]fs.DirEntry]]
	infos    memo.Once[string, heard[fs.FileInfo]]
	targets  memo.Once[string, heard[string]]
	contents memo.Once[string, heard[[]byte]]
	// dirs remembers where directories lead, so that a deep path costs no more than a short
	// one.
	dirs memo.Once[string, heard[Way]]
}

// heard is a Source's answer about a path.
type heard[V any] struct {
	value V
	err   error
}

func hear[V any](value V, err error) heard[V] { return heard[V]{value, err} }

// Follow describes the file or directory that a path leads to, through links, and returns
// its path without links. Its errors are those of Resolve and of the Source.
func (l *Lazy) Follow(name string) (string, fs.FileInfo, error) {
	at, err := l.way(path.Clean(name), true)
	if err != nil {
		return "", nil, err
	}
	info, err := l.describe(at.Path)
	return at.Path, info, err
}

// Linked reports whether a path leads through a link, even if nothing is there.
func (l *Lazy) Linked(name string) bool {
	at, _ := l.way(path.Clean(name), true) // at says it on an error, too
	return at.Linked()
}

// List returns the entries of a directory, by a path from Follow. The caller must not
// change them.
func (l *Lazy) List(real string) ([]fs.DirEntry, error) {
	a := l.lists.Get(real, func() heard[[]fs.DirEntry] { return hear(l.Source.ReadDir(real)) })
	return a.value, a.err
}

// Content returns the content of a file, by a path from Follow. The caller must not change
// it.
func (l *Lazy) Content(real string) ([]byte, error) {
	if !l.KeepsContents {
		return l.Source.ReadFile(real)
	}
	a := l.contents.Get(real, func() heard[[]byte] { return hear(l.Source.ReadFile(real)) })
	return a.value, a.err
}

// describe describes a path whose directories are no links. The path itself may be one.
func (l *Lazy) describe(real string) (fs.FileInfo, error) {
	a := l.infos.Get(real, func() heard[fs.FileInfo] { return hear(l.Source.Lstat(real)) })
	return a.value, a.err
}

// target is the target of a link at a path whose directories are no links.
func (l *Lazy) target(real string) (string, error) {
	a := l.targets.Get(real, func() heard[string] { return hear(l.Source.ReadLink(real)) })
	return a.value, a.err
}

// way follows a clean path, starting from where its directory leads. With last, a link at
// its end is followed, too.
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

// look answers the questions of resolve.
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

// find is way for the functions of package fs, whose errors name the operation.
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

// renamed describes a file under the name that was asked for.
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

// regular is the content of a regular file. It refuses anything else: reading a named pipe
// would block the run.
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
