package terragrunt

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

// workingCopy is what Terragrunt works in: a module, the files of the unit over it,
// and generated files over both. It has no links, since copying follows them. Nothing
// is copied: as a filetree.Source it looks for what it is asked for. A filetree.Builder
// would list the whole module for each unit, and that may be the repository.
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
		return l.tree.place(name)
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

// stat describes what the layer has copied to a path, and returns where it is in its
// tree; false if that is nothing.
func (l *layer) stat(name string) (real string, info fs.FileInfo, copied bool) {
	rel, ok := relTo(l.at, name)
	if !ok {
		return "", nil, false
	}
	real, info, err := l.tree.Follow(path.Join(l.dir, rel))
	if err != nil || rel != "." && l.keep != nil && !l.copies(rel, info.IsDir()) {
		return "", nil, false
	}
	return real, info, true
}

// list adds the names that the layer has in a directory, copied or not.
func (l *layer) list(name string, names map[string]bool) error {
	rel, ok := relTo(l.at, name)
	if !ok {
		return nil
	}
	real, info, err := l.tree.Follow(path.Join(l.dir, rel))
	if err != nil || !info.IsDir() {
		return nil // what is there is in another layer
	}
	entries, err := l.tree.List(real)
	for _, e := range entries {
		names[e.Name()] = true
	}
	return err
}

// find returns what is at a path.
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

// put returns the names in a directory to which or below which something is written or
// a layer is laid.
func (w *workingCopy) put(dir string) map[string]bool {
	names := map[string]bool{}
	add := func(name string) {
		if rel, ok := relTo(dir, name); ok && rel != "." {
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

// ReadFile returns what is in a file, which must not be changed.
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
		src, err = n.layer.tree.read(n.real)
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
