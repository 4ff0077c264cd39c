package github

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Snapshot is the file tree of a commit in memory, read-only: an fs.FS with
// ReadDir, Stat, Lstat and ReadLink. Every path of the tree is in it, but only
// the contents that were asked for. A path leads through links as it does on
// disk, except that none leads out of the tree. It is safe for concurrent use.
type Snapshot struct {
	nodes map[string]*node
	// blobs are the contents by their ids, so that equal files share one.
	blobs map[string][]byte
	size  int64 // of all files
}

// node is a file, a link or a directory.
type node struct {
	name     string // the last element of the path
	mode     fs.FileMode
	size     int64
	blob     string // the id of its content, or of a link's target
	children []*node
	module   bool // a submodule: a directory of which nothing is here
}

func newSnapshot() *Snapshot {
	return &Snapshot{
		nodes: map[string]*node{".": {name: ".", mode: fs.ModeDir | 0o755}},
		blobs: map[string][]byte{},
	}
}

// put adds a node below directories that it makes. Git checks out neither names
// that are no path nor a second file of the same name: they are left out.
func (s *Snapshot) put(name string, n node) {
	if !fs.ValidPath(name) || s.nodes[name] != nil {
		return
	}
	dir := path.Dir(name)
	if s.nodes[dir] == nil {
		s.put(dir, node{mode: fs.ModeDir | 0o755})
	}
	parent := s.nodes[dir]
	if parent == nil || !parent.mode.IsDir() {
		return
	}
	n.name = path.Base(name)
	s.nodes[name] = &n
	parent.children = append(parent.children, &n)
	s.size += n.size
}

// With returns the tree with these files in it, in place of those that it has.
func (s *Snapshot) With(files map[string][]byte) *Snapshot {
	out := newSnapshot()
	maps.Copy(out.blobs, s.blobs)
	for name, content := range files {
		id, mode := "with "+name, fs.FileMode(0o644)
		if n := s.nodes[name]; n != nil {
			mode = n.mode
		}
		out.blobs[id] = content
		out.put(name, node{mode: mode, size: int64(len(content)), blob: id})
	}
	for name, n := range s.nodes {
		if name != "." {
			out.put(name, node{mode: n.mode, size: n.size, blob: n.blob, module: n.module})
		}
	}
	out.sort()
	return out
}

// sort brings the entries of all directories into the order of ReadDir.
func (s *Snapshot) sort() {
	for _, n := range s.nodes {
		slices.SortFunc(n.children, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	}
}

// Submodules returns the directories of Git submodules, sorted. They are empty.
func (s *Snapshot) Submodules() []string {
	var dirs []string
	for name, n := range s.nodes {
		if n.module {
			dirs = append(dirs, name)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// Why a path of a Snapshot cannot be followed or read, besides fs.ErrNotExist.
var (
	errNotAsked = errors.New("its content was not asked for")
	errLarge    = fmt.Errorf("it is larger than %d MiB", largestBlob>>20)
	errLinks    = errors.New("too many links")
	errNoLink   = errors.New("it is no link")
	errNoDir    = errors.New("it is no directory")
)

// mostLinks is how many links one path may go through, as on Linux.
const mostLinks = 40

// find returns the node at a path, through the links on the way and, if follow
// is set, through one at its end.
func (s *Snapshot) find(name string, follow bool) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrInvalid
	}
	done, links := ".", 0
	for rest := strings.Split(name, "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if part == ".." && done == "." {
			return nil, fs.ErrNotExist // beside the repository is nothing
		}
		next := path.Join(done, part)
		n := s.nodes[next]
		if n == nil {
			return nil, fs.ErrNotExist
		}
		if n.mode.Type() != fs.ModeSymlink || len(rest) == 0 && !follow {
			done = next
			continue
		}
		if links++; links > mostLinks {
			return nil, errLinks
		}
		target, ok := s.blobs[n.blob]
		if !ok || path.IsAbs(string(target)) {
			return nil, fs.ErrNotExist
		}
		rest = append(strings.Split(string(target), "/"), rest...)
	}
	return s.nodes[done], nil
}

// content returns what a file holds.
func (s *Snapshot) content(n *node) ([]byte, error) {
	data, ok := s.blobs[n.blob]
	switch {
	case ok:
		return data, nil
	case n.size > largestBlob:
		return nil, errLarge
	}
	return nil, errNotAsked
}

// Open implements fs.FS.
func (s *Snapshot) Open(name string) (fs.File, error) {
	n, err := s.find(name, true)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if n.mode.IsDir() {
		return &openDir{info{n}, n.children}, nil
	}
	data, err := s.content(n)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openFile{info{n}, bytes.NewReader(data)}, nil
}

// ReadDir implements fs.ReadDirFS.
func (s *Snapshot) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := s.find(name, true)
	if err == nil && !n.mode.IsDir() {
		err = errNoDir
	}
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	return entries(n.children), nil
}

// Stat implements fs.StatFS.
func (s *Snapshot) Stat(name string) (fs.FileInfo, error) { return s.info("stat", name, true) }

// Lstat implements fs.ReadLinkFS.
func (s *Snapshot) Lstat(name string) (fs.FileInfo, error) { return s.info("lstat", name, false) }

func (s *Snapshot) info(op, name string, follow bool) (fs.FileInfo, error) {
	n, err := s.find(name, follow)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return info{n}, nil
}

// ReadLink implements fs.ReadLinkFS.
func (s *Snapshot) ReadLink(name string) (string, error) {
	n, err := s.find(name, false)
	if err == nil && n.mode.Type() != fs.ModeSymlink {
		err = errNoLink
	}
	if err == nil {
		var target []byte
		if target, err = s.content(n); err == nil {
			return string(target), nil
		}
	}
	return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
}

// info is a node as fs.FileInfo and fs.DirEntry.
type info struct{ *node }

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return i.size }
func (i info) Mode() fs.FileMode          { return i.mode }
func (i info) Type() fs.FileMode          { return i.mode.Type() }
func (i info) ModTime() time.Time         { return time.Time{} }
func (i info) IsDir() bool                { return i.mode.IsDir() }
func (i info) Sys() any                   { return nil }
func (i info) Info() (fs.FileInfo, error) { return i, nil }

func entries(nodes []*node) []fs.DirEntry {
	out := make([]fs.DirEntry, len(nodes))
	for i, n := range nodes {
		out[i] = info{n}
	}
	return out
}

type openFile struct {
	info
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Size() int64                { return f.info.Size() }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	info
	rest []*node
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errors.New("it is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(d.rest) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.rest) {
		n = len(d.rest)
	}
	part := d.rest[:n]
	d.rest = d.rest[n:]
	return entries(part), nil
}
