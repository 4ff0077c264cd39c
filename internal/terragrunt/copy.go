package terragrunt

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
)

// workingCopy is what Terragrunt works in: a module, the files of the unit over it,
// and generated files over both. It is an fs.ReadLinkFS without links, since
// copying follows them. Nothing is copied: a file is looked for when it is asked
// for.
type workingCopy struct {
	layers  []layer // each over the one before
	written map[string][]byte
	removed map[string]bool
	linked  atomic.Bool // what ThroughLink returns
}

// layer is a directory of a file tree, and where it is in the copy.
type layer struct {
	tree    *fileReader
	dir, at string
	// keep says which paths below the directory are copied; nil: every one is.
	keep *copyList
	// places are what people call the paths of a package; nil for the file tree that the
	// unit is in.
	places func(name string) problem.Place
}

// shown is what people call a path of the layer.
func (l *layer) shown(name string) problem.Place {
	if l.places == nil {
		return problem.Place{Path: name}
	}
	return l.places(name)
}

// copyNode is what is at a path of the copy.
type copyNode struct {
	layer *layer // nil for what is generated
	real  string // its path in the layer
	fs.FileInfo
	written []byte
}

// relTo returns the path below a directory; false if it is not there.
func relTo(dir, name string) (string, bool) {
	switch {
	case dir == ".":
		return name, true
	case name == dir:
		return ".", true
	}
	return strings.CutPrefix(name, dir+"/")
}

// find returns what is at a path.
func (w *workingCopy) find(name string) (copyNode, error) {
	if !fs.ValidPath(name) {
		return copyNode{}, fs.ErrInvalid
	}
	if src, ok := w.written[name]; ok {
		return copyNode{FileInfo: copyInfo{name: path.Base(name), size: int64(len(src))}, written: src}, nil
	}
	if w.removed[name] {
		return copyNode{}, fs.ErrNotExist
	}
	for i := len(w.layers) - 1; i >= 0; i-- {
		l := &w.layers[i]
		rel, ok := relTo(l.at, name)
		if !ok {
			continue
		}
		real, found, err := l.tree.Follow(path.Join(l.dir, rel))
		if err != nil || rel != "." && l.keep != nil && !l.copies(rel, found.IsDir()) {
			continue
		}
		return copyNode{layer: l, real: real, FileInfo: copyInfo{path.Base(name), found.Size(), found.IsDir(), found.Mode().Type()}}, nil
	}
	if w.holds(name) {
		return copyNode{FileInfo: copyInfo{name: path.Base(name), dir: true}}, nil
	}
	return copyNode{}, fs.ErrNotExist
}

// holds reports whether something is put below a path that no layer has.
func (w *workingCopy) holds(name string) bool {
	put := slices.Collect(maps.Keys(w.written))
	for _, l := range w.layers {
		put = append(put, l.at)
	}
	return name == "." || slices.ContainsFunc(put, func(at string) bool { return strings.HasPrefix(at, name+"/") })
}

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// note takes down whether a path is looked for behind a link of the file tree that the
// unit is in.
func (w *workingCopy) note(name string) {
	for i := range w.layers {
		l := &w.layers[i]
		if rel, ok := relTo(l.at, name); ok && l.places == nil && l.tree.Linked(path.Join(l.dir, rel)) {
			w.linked.Store(true)
		}
	}
}

// ThroughLink reports whether anything was looked for behind a link of the file tree
// that the unit is in.
func (w *workingCopy) ThroughLink() bool { return w.linked.Load() }

// Lstat implements fs.ReadLinkFS.
func (w *workingCopy) Lstat(name string) (fs.FileInfo, error) {
	w.note(name)
	n, err := w.find(name)
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	return n.FileInfo, nil
}

// Stat implements fs.StatFS.
func (w *workingCopy) Stat(name string) (fs.FileInfo, error) { return w.Lstat(name) }

// ReadLink implements fs.ReadLinkFS.
func (w *workingCopy) ReadLink(name string) (string, error) {
	return "", pathError("readlink", name, fs.ErrInvalid)
}

// ReadFile implements fs.ReadFileFS. What it returns must not be changed.
func (w *workingCopy) ReadFile(name string) ([]byte, error) {
	n, err := w.find(name)
	switch {
	case err != nil:
		return nil, pathError("open", name, err)
	case n.layer == nil && !n.IsDir():
		return n.written, nil
	case n.layer == nil:
		return nil, pathError("open", name, file.ErrIrregular)
	}
	src, err := n.layer.tree.read(n.real)
	if err != nil {
		return nil, pathError("open", name, file.Cause(err))
	}
	return src, nil
}

// ReadDir implements fs.ReadDirFS.
func (w *workingCopy) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := w.find(name)
	if err != nil || !n.IsDir() {
		return nil, pathError("readdir", name, fs.ErrNotExist)
	}
	names := map[string]bool{}
	var unread error
	for i := range w.layers {
		l := &w.layers[i]
		rel, ok := relTo(l.at, name)
		if !ok {
			continue
		}
		real, found, err := l.tree.Follow(path.Join(l.dir, rel))
		if err != nil || !found.IsDir() {
			continue
		}
		entries, err := l.tree.ReadDir(real)
		if err != nil {
			unread = file.Cause(err)
		}
		for _, e := range entries {
			names[e.Name()] = true
		}
	}
	if unread != nil {
		return nil, pathError("readdir", name, unread)
	}
	for put := range w.written {
		if rel, ok := relTo(name, put); ok {
			first, _, _ := strings.Cut(rel, "/")
			names[first] = true
		}
	}
	for _, l := range w.layers {
		if rel, ok := relTo(name, l.at); ok && rel != "." {
			first, _, _ := strings.Cut(rel, "/")
			names[first] = true
		}
	}
	var entries []fs.DirEntry
	for _, child := range slices.Sorted(maps.Keys(names)) {
		if n, err := w.find(path.Join(name, child)); err == nil {
			entries = append(entries, fs.FileInfoToDirEntry(n.FileInfo))
		}
	}
	return entries, nil
}

// Open implements fs.FS.
func (w *workingCopy) Open(name string) (fs.File, error) {
	n, err := w.find(name)
	switch {
	case err != nil:
		return nil, pathError("open", name, err)
	case n.IsDir():
		entries, err := w.ReadDir(name)
		return &copyDir{n.FileInfo, entries}, err
	}
	src, err := w.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &copyFile{n.FileInfo, bytes.NewReader(src)}, nil
}

// ofModule reports whether a file is the module's, which other units may have, too.
func (w *workingCopy) ofModule(name string) bool {
	n, err := w.find(name)
	return err == nil && n.layer == &w.layers[0] && len(w.layers) > 1
}

// shown is what people call a file of the copy: one that is generated is in the
// directory of the unit, where it would be looked for.
func (w *workingCopy) shown(unit, workDir, name string) problem.Place {
	n, err := w.find(name)
	switch {
	case err == nil && n.layer != nil:
		return n.layer.shown(n.real)
	case workDir == ".":
		return problem.Place{Path: path.Join(unit, name)}
	}
	rel, ok := relTo(workDir, name)
	if !ok {
		return problem.Place{Path: path.Join(unit, "..", path.Base(name))}
	}
	return problem.Place{Path: path.Join(unit, rel)}
}

// copyInfo describes a file or directory of the copy.
type copyInfo struct {
	name string
	size int64
	dir  bool
	kind fs.FileMode
}

func (i copyInfo) Name() string       { return i.name }
func (i copyInfo) Size() int64        { return i.size }
func (i copyInfo) IsDir() bool        { return i.dir }
func (i copyInfo) ModTime() time.Time { return time.Time{} }
func (i copyInfo) Sys() any           { return nil }
func (i copyInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return i.kind | 0o644
}

type copyFile struct {
	fs.FileInfo
	*bytes.Reader
}

func (f *copyFile) Stat() (fs.FileInfo, error) { return f.FileInfo, nil }
func (f *copyFile) Size() int64                { return f.FileInfo.Size() }
func (f *copyFile) Close() error               { return nil }

type copyDir struct {
	fs.FileInfo
	left []fs.DirEntry
}

func (d *copyDir) Stat() (fs.FileInfo, error) { return d.FileInfo, nil }
func (d *copyDir) Close() error               { return nil }

func (d *copyDir) Read([]byte) (int, error) { return 0, file.ErrIrregular }

// ReadDir implements fs.ReadDirFile.
func (d *copyDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(d.left) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.left) {
		n = len(d.left)
	}
	some := d.left[:n]
	d.left = d.left[n:]
	return some, nil
}
