package filetree

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Limits bound a tree, whose content may come from anyone. Zero is no limit.
type Limits struct {
	Nodes int   // files, links and directories below the top
	Bytes int64 // of all files together
}

// Why a Builder does not take something, besides Limits.
var (
	ErrName     = errors.New("it has a file whose name is no path")
	ErrConflict = errors.New("it has a file and a directory of the same name")
)

// Builder fills a Tree. A file or link takes the place of another one at the same
// path, as when archives are unpacked; a directory never does, and none is
// replaced. Directories above a path are made. The zero value is an empty tree
// without limits.
type Builder struct {
	Limits Limits
	nodes  map[string]*node
	bytes  int64
}

// Tree returns what was added. The Builder is empty then.
func (b *Builder) Tree() *Tree {
	b.top()
	t := &Tree{nodes: b.nodes}
	for _, n := range t.nodes {
		slices.SortFunc(n.children, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	}
	b.nodes, b.bytes = nil, 0
	return t
}

func (b *Builder) top() {
	if b.nodes == nil {
		b.nodes = map[string]*node{".": {name: ".", mode: fs.ModeDir | 0o755}}
	}
}

// AddFile adds a file with these permissions, whose content the caller does not
// change any more.
func (b *Builder) AddFile(name string, perm fs.FileMode, data []byte) error {
	return b.put(name, node{mode: perm.Perm(), size: int64(len(data)), data: data})
}

// AddLink adds a symbolic link.
func (b *Builder) AddLink(name, target string) error {
	return b.put(name, node{mode: fs.ModeSymlink | 0o777, size: int64(len(target)), data: []byte(target)})
}

// AddDir adds a directory, if it is not there.
func (b *Builder) AddDir(name string) error {
	return b.put(name, node{mode: fs.ModeDir | 0o755})
}

// AddMissing adds a file, link or directory of which nothing is here but the
// reason. What would be below a directory cannot be read for the same reason.
func (b *Builder) AddMissing(name string, mode fs.FileMode, size int64, reason error) error {
	return b.put(name, node{mode: mode, size: size, missing: reason})
}

// AddTree adds all that is in a tree below a directory.
func (b *Builder) AddTree(dir string, t *Tree) error {
	for name, n := range t.nodes {
		if err := b.put(path.Join(dir, name), *n); err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) put(name string, n node) error {
	b.top()
	if !fs.ValidPath(name) || strings.ContainsRune(name, 0) {
		return ErrName
	}
	if b.bytes += n.held(); b.Limits.Bytes > 0 && b.bytes > b.Limits.Bytes {
		return fmt.Errorf("its configuration is larger than %d MiB", b.Limits.Bytes>>20)
	}
	n.name, n.children = path.Base(name), nil
	if old := b.nodes[name]; old != nil {
		switch {
		case old.mode.IsDir() != n.mode.IsDir():
			return ErrConflict
		case n.mode.IsDir():
			old.missing = cmp.Or(n.missing, old.missing)
			return nil
		}
		b.bytes -= old.held()
		*old = n
		return nil
	}
	if err := b.AddDir(path.Dir(name)); err != nil {
		return err
	}
	if b.Limits.Nodes > 0 && len(b.nodes) > b.Limits.Nodes {
		return fmt.Errorf("it has more than %d files and directories", b.Limits.Nodes)
	}
	b.nodes[name] = &n
	parent := b.nodes[path.Dir(name)]
	parent.children = append(parent.children, &n)
	return nil
}

// held is how many bytes of a file are here.
func (n *node) held() int64 {
	if n.mode.IsRegular() {
		return int64(len(n.data))
	}
	return 0
}
