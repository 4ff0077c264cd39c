package units

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/problem"
)

// workingCopy is Terragrunt's working directory: a module, the files of the unit over it,
// and generated files over both. It has no links, since copying follows them. Nothing is
// really copied: as a filetree.Source it finds each file when it is asked for. A
// filetree.Builder would list the whole module for each unit, and the module may be the
// repository.
type workingCopy struct {
	layers  []layer // later layers override earlier ones
	written map[string][]byte
	removed map[string]bool
	linked  atomic.Bool // the result of ThroughLink
}

// layer is a directory of a file tree with its place in the copy.
type layer struct {
	tree    *Files
	dir, at string
	// keep says which paths below the directory are copied; nil: all.
	keep *copyList
	// places gives the paths of a package for messages; nil for the file tree of the unit.
	places func(name string) problem.Place
}

// shown is a path of the layer for messages.
func (l *layer) shown(name string) problem.Place {
	if l.places == nil {
		return l.tree.Place(name)
	}
	return l.places(name)
}

// copyNode is the file or directory at a path of the copy.
type copyNode struct {
	layer *layer // nil for a generated file
	real  string // the path in the layer's file tree
	fs.FileInfo
	written []byte
}

// RelTo returns the path relative to a directory; false if it is not in the directory.
func RelTo(dir, name string) (string, bool) {
	switch {
	case dir == ".":
		return name, true
	case name == dir:
		return ".", true
	}
	return strings.CutPrefix(name, dir+"/")
}

// stat describes the file that the layer copies to a path, and returns its path in the
// layer's tree. copied is false if there is none.
func (l *layer) stat(name string) (real string, info fs.FileInfo, copied bool) {
	rel, ok := RelTo(l.at, name)
	if !ok {
		return "", nil, false
	}
	real, info, err := l.tree.Follow(path.Join(l.dir, rel))
	if err != nil || rel != "." && l.keep != nil && !l.copies(rel, info.IsDir()) {
		return "", nil, false
	}
	return real, info, true
}

// list adds the names in a directory of the layer, also those that are not copied.
func (l *layer) list(name string, names map[string]bool) error {
	rel, ok := RelTo(l.at, name)
	if !ok {
		return nil
	}
	real, info, err := l.tree.Follow(path.Join(l.dir, rel))
	if err != nil || !info.IsDir() {
		return nil // another layer has it
	}
	entries, err := l.tree.List(real)
	for _, e := range entries {
		names[e.Name()] = true
	}
	return err
}

// find returns the file or directory at a path.
func (w *workingCopy) find(name string) (copyNode, error) {
	if !fs.ValidPath(name) {
		return copyNode{}, fs.ErrInvalid
	}
	if src, ok := w.written[name]; ok {
		return copyNode{FileInfo: filetree.InfoOf(path.Base(name), 0o644, int64(len(src))), written: src}, nil
	}
	if w.removed[name] {
		return copyNode{}, fs.ErrNotExist
	}
	for i := len(w.layers) - 1; i >= 0; i-- {
		l := &w.layers[i]
		real, info, ok := l.stat(name)
		if !ok {
			continue
		}
		mode := info.Mode().Type() | 0o644
		if info.IsDir() {
			mode |= 0o755
		}
		return copyNode{layer: l, real: real, FileInfo: filetree.InfoOf(path.Base(name), mode, info.Size())}, nil
	}
	if name == "." || len(w.put(name)) > 0 {
		return copyNode{FileInfo: filetree.InfoOf(path.Base(name), fs.ModeDir|0o755, 0)}, nil
	}
	return copyNode{}, fs.ErrNotExist
}

// put returns the names in a directory that come from written files and from layers below
// it.
func (w *workingCopy) put(dir string) map[string]bool {
	names := map[string]bool{}
	add := func(name string) {
		if rel, ok := RelTo(dir, name); ok && rel != "." {
			first, _, _ := strings.Cut(rel, "/")
			names[first] = true
		}
	}
	for name := range w.written {
		add(name)
	}
	for _, l := range w.layers {
		add(l.at)
	}
	return names
}

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// note sets linked if a path leads through a link of the unit's file tree.
func (w *workingCopy) note(name string) {
	for i := range w.layers {
		l := &w.layers[i]
		if rel, ok := RelTo(l.at, name); ok && l.places == nil && l.tree.Linked(path.Join(l.dir, rel)) {
			w.linked.Store(true)
		}
	}
}

// ThroughLink reports whether any path led through a link of the unit's file tree.
func (w *workingCopy) ThroughLink() bool { return w.linked.Load() }

// Lstat describes a file or directory.
func (w *workingCopy) Lstat(name string) (fs.FileInfo, error) {
	w.note(name)
	n, err := w.find(name)
	if err != nil {
		return nil, pathError("lstat", name, err)
	}
	return n.FileInfo, nil
}

// ReadLink fails, since there are no links.
func (w *workingCopy) ReadLink(name string) (string, error) {
	return "", pathError("readlink", name, fs.ErrInvalid)
}

// ReadFile returns the content of a file. It must not be changed.
func (w *workingCopy) ReadFile(name string) ([]byte, error) {
	n, err := w.find(name)
	var src []byte
	switch {
	case err != nil:
	case n.IsDir():
		err = file.ErrIrregular
	case n.layer == nil:
		src = n.written
	default:
		src, err = n.layer.tree.Read(n.real)
	}
	if err != nil {
		return nil, pathError("open", name, file.Cause(err))
	}
	return src, nil
}

// ReadDir lists a directory.
func (w *workingCopy) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := w.find(name)
	if err != nil || !n.IsDir() {
		return nil, pathError("readdir", name, fs.ErrNotExist)
	}
	names := w.put(name)
	for i := range w.layers {
		if err := w.layers[i].list(name, names); err != nil {
			return nil, pathError("readdir", name, file.Cause(err))
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

// copied reports whether a file is copied, and not written. Other units may have the same
// file.
func (w *workingCopy) copied(name string) bool {
	n, err := w.find(name)
	return err == nil && n.layer != nil
}

// shown is a file of the copy for messages. A generated file is shown in the unit's
// directory, where people expect it.
func (w *workingCopy) shown(unit, workDir, name string) problem.Place {
	n, err := w.find(name)
	switch {
	case err == nil && n.layer != nil:
		return n.layer.shown(n.real)
	case workDir == ".":
		return problem.Place{Path: path.Join(unit, name)}
	}
	rel, ok := RelTo(workDir, name)
	if !ok {
		return problem.Place{Path: path.Join(unit, "..", path.Base(name))}
	}
	return problem.Place{Path: path.Join(unit, rel)}
}
