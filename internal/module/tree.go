package module

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The limits on packages, against those made to exhaust the machine. They are
// far beyond what the largest known module packages need.
const (
	maxEntries = 200_000  // files, directories and links of a package, kept or not
	maxFile    = 16 << 20 // bytes of a file that is kept; package scan reads no larger one
	maxKept    = 32 << 20 // bytes of all files that are kept
	maxFiles   = 20_000   // files that are kept, also those that another replaced
	maxLinks   = 40       // of a path, as on Linux
)

// keptSuffixes are those of the files that configuration is read from.
var keptSuffixes = []string{
	".tf", ".tofu", ".tf.json", ".tofu.json",
	".tftest.hcl", ".tofutest.hcl", ".tftest.json", ".tofutest.json",
	".tfvars", ".tfvars.json",
}

// kept reports whether a file of this name is kept of a package.
func kept(name string) bool {
	return slices.ContainsFunc(keptSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// nameless reports whether nothing can lead to a path of a package, and nothing
// is lost without it: source addresses are UTF-8. A configuration file in a
// directory that does have a name is not such a path, whatever its own name is.
func nameless(name string) bool {
	return !utf8.ValidString(name) && !(kept(name) && utf8.ValidString(path.Dir(name)))
}

// tree is what is kept of a package, in memory: a read-only fs.FS once it is
// built. Its links lead wherever they say; one that leads out leads nowhere.
type tree struct {
	nodes   map[string]*node
	entries int
	kept    int64
	files   int
	// unpacked counts what was read of files, also of those that another of the
	// same name replaced.
	unpacked int64
}

type node struct {
	name     string // the last element of the path
	mode     fs.FileMode
	data     []byte
	target   string // of a link
	children []*node
	// err is why a directory that the package has is not here, or a file that
	// it has cannot be read.
	err error
}

func newTree() *tree {
	return &tree{nodes: map[string]*node{".": {name: ".", mode: fs.ModeDir | 0o755}}}
}

// Reasons not to build a tree.
var (
	errTooMany     = fmt.Errorf("it has more than %d files and directories", maxEntries)
	errTooManyKept = fmt.Errorf("it has more than %d configuration files", maxFiles)
	errTooBig      = fmt.Errorf("its configuration is larger than %d MiB", maxKept>>20)
)

// count counts an entry of the package that may not be kept.
func (t *tree) count() error {
	if t.entries++; t.entries > maxEntries {
		return errTooMany
	}
	return nil
}

// put adds a node at a path, below directories that it makes. A file replaces
// another one of the same path, as when archives are unpacked; a directory is
// never replaced, and replaces nothing.
func (t *tree) put(name string, n node) (*node, error) {
	if !fs.ValidPath(name) || strings.ContainsRune(name, 0) {
		return nil, errors.New("it has a file whose name is no path")
	}
	if old := t.nodes[name]; old != nil {
		if old.mode.IsDir() != n.mode.IsDir() {
			return nil, errors.New("it has a file and a directory of the same name")
		}
		if !old.mode.IsDir() {
			t.kept -= int64(len(old.data))
			*old = node{name: old.name, mode: n.mode, data: n.data, target: n.target, err: n.err}
		}
		return old, nil
	}
	parent, err := t.dir(path.Dir(name))
	if err != nil {
		return nil, err
	}
	if len(t.nodes) > maxEntries {
		return nil, errTooMany
	}
	n.name = path.Base(name)
	t.nodes[name] = &n
	parent.children = append(parent.children, &n)
	return &n, nil
}

// dir adds a directory, if it is not there.
func (t *tree) dir(name string) (*node, error) {
	return t.put(name, node{mode: fs.ModeDir | 0o755})
}

// file adds a file that is read from r.
func (t *tree) file(name string, r io.Reader) error {
	if t.files++; t.files > maxFiles {
		return errTooManyKept
	}
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return err
	}
	if t.unpacked += int64(len(data)); t.unpacked > maxUnpacked {
		return errUnpacked
	}
	n := node{mode: 0o644, data: data}
	if len(data) > maxFile {
		n.data, n.err = nil, fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	if t.kept += int64(len(n.data)); t.kept > maxKept {
		return errTooBig
	}
	_, err = t.put(name, n)
	return err
}

// link adds a symbolic link.
func (t *tree) link(name, target string) error {
	_, err := t.put(name, node{mode: fs.ModeSymlink | 0o777, target: target})
	return err
}

// missing adds a directory of which nothing is here but the reason.
func (t *tree) missing(name string, reason error) error {
	n, err := t.dir(name)
	if err == nil {
		n.err = reason
	}
	return err
}

// whole reports whether everything that is to be kept of a package is here.
func (t *tree) whole() bool {
	for _, n := range t.nodes {
		if n.err != nil {
			return false
		}
	}
	return true
}

// graft adds another tree below a directory.
func (t *tree) graft(dir string, other *tree) error {
	for name, n := range other.nodes {
		added, err := t.put(path.Join(dir, name), node{mode: n.mode, data: n.data, target: n.target})
		if err != nil {
			return err
		}
		added.err = n.err
		if t.kept += int64(len(n.data)); t.kept > maxKept {
			return errTooBig
		}
	}
	return nil
}

// sub is the tree below a directory, which may be reached through links. Links
// that lead out of it lead nowhere then.
func (t *tree) sub(dir string) (*tree, error) {
	real, _, err := t.follow(dir)
	if err != nil {
		return nil, err
	}
	sub := newTree()
	for name, n := range t.nodes {
		if rest, ok := strings.CutPrefix(name, real+"/"); ok || real == "." {
			if real == "." {
				rest = name
			}
			if _, err := sub.put(rest, node{mode: n.mode, data: n.data, target: n.target, err: n.err}); err != nil {
				return nil, err
			}
		}
	}
	return sub, nil
}

// lookup returns the node of a path that has no links but perhaps the last one.
func (t *tree) lookup(name string) (*node, error) {
	if n := t.nodes[name]; n != nil {
		return n, nil
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if n := t.nodes[dir]; n != nil {
			if n.mode.IsDir() && n.err != nil {
				return nil, n.err
			}
			return nil, fs.ErrNotExist
		}
	}
}

// follow resolves a path with all its links.
func (t *tree) follow(name string) (string, *node, error) {
	done, links := ".", 0
	for rest := strings.Split(name, "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if part == ".." && done == "." {
			return "", nil, fs.ErrNotExist // out of the package
		}
		next := path.Join(done, part)
		n, err := t.lookup(next)
		if err != nil {
			return "", nil, err
		}
		if n.mode.Type() != fs.ModeSymlink {
			done = next
			continue
		}
		if links++; links > maxLinks || path.IsAbs(n.target) {
			return "", nil, fs.ErrNotExist
		}
		rest = append(strings.Split(n.target, "/"), rest...)
	}
	n, err := t.lookup(done)
	return done, n, err
}

// Open implements fs.FS. It follows links.
func (t *tree) Open(name string) (fs.File, error) {
	n, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.err != nil && !n.mode.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: n.err}
	}
	info := info{node: n, name: path.Base(name)}
	if n.mode.IsDir() {
		return &openDir{info, name, 0}, nil
	}
	return &openFile{info, bytes.NewReader(n.data)}, nil
}

func (t *tree) find(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	_, n, err := t.follow(name)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return n, nil
}

// unlinked returns the node of a path whose last element may be a link.
func (t *tree) unlinked(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	dir, _, err := t.follow(path.Dir(name))
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	n, err := t.lookup(path.Join(dir, path.Base(name)))
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return n, nil
}

// Lstat implements fs.ReadLinkFS.
func (t *tree) Lstat(name string) (fs.FileInfo, error) {
	n, err := t.unlinked("lstat", name)
	if err != nil {
		return nil, err
	}
	return info{n, path.Base(name)}, nil
}

// ReadLink implements fs.ReadLinkFS.
func (t *tree) ReadLink(name string) (string, error) {
	n, err := t.unlinked("readlink", name)
	if err != nil {
		return "", err
	}
	if n.mode.Type() != fs.ModeSymlink {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return n.target, nil
}

// ReadDir implements fs.ReadDirFS.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.find("readdir", name)
	if err != nil {
		return nil, err
	}
	entries, err := n.list()
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	return entries, nil
}

func (n *node) list() ([]fs.DirEntry, error) {
	switch {
	case !n.mode.IsDir():
		return nil, errors.New("not a directory")
	case n.err != nil:
		return nil, n.err
	}
	entries := make([]fs.DirEntry, 0, len(n.children))
	for _, child := range n.children {
		entries = append(entries, fs.FileInfoToDirEntry(info{child, child.name}))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// info is a node as fs.FileInfo.
type info struct {
	*node
	name string
}

func (i info) Name() string       { return i.name }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) Size() int64        { return int64(len(i.data)) }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

type openFile struct {
	info
	*bytes.Reader
}

func (f *openFile) Size() int64                { return f.info.Size() }
func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	info
	path string
	read int // entries
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errors.New("is a directory")}
}

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := d.list()
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: d.path, Err: err}
	}
	entries = entries[d.read:]
	if n > 0 && len(entries) == 0 {
		return nil, io.EOF
	}
	if n > 0 && n < len(entries) {
		entries = entries[:n]
	}
	d.read += len(entries)
	return entries, nil
}
