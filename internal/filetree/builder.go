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
	Nodes int   // files, links and directories; the top does not count
	Bytes int64 // of all files together
}

// The errors of a Builder, in addition to Limits.
var (
	ErrName     = errors.New("it has a file whose name is no path")
	ErrConflict = errors.New("it has a file and a directory of the same name")
)

// Builder fills a Tree. A file or link replaces an earlier one at the same path, as in
// unpacking an archive. A directory replaces nothing and is never replaced. Missing parent
// directories are made. The zero value is an empty tree without limits.
type Builder struct {
	Limits Limits
	nodes  map[string]*node
	bytes  int64
	room   []node // for the next nodes: a tree may have a million
}

// Grow makes room for this number of nodes.
func (b *Builder) Grow(nodes int) {
	if b.nodes == nil {
		b.nodes, b.room = make(map[string]*node, nodes), make([]node, 0, nodes+1)
	}
	b.top()
}

// Tree returns the tree, with its directories sorted, and empties the Builder.
func (b *Builder) Tree() *Tree {
	b.top()
	t := &Tree{nodes: b.nodes}
	for _, n := range t.nodes {
		if !n.mode.IsDir() {
			continue
		}
		slices.SortFunc(n.children(), func(a, b *node) int { return strings.Compare(a.name, b.name) })
	}
	b.nodes, b.bytes, b.room = nil, 0, nil
	return t
}

func (b *Builder) top() {
	if b.nodes == nil {
		b.nodes = map[string]*node{}
	}
	if len(b.nodes) == 0 {
		b.nodes["."] = b.new(node{name: ".", mode: fs.ModeDir | 0o755, held: &directory{}})
	}
}

// new allocates a node together with others.
func (b *Builder) new(n node) *node {
	if len(b.room) == cap(b.room) {
		b.room = make([]node, 0, min(max(8, 2*cap(b.room)), 512))
	}
	b.room = append(b.room, n)
	return &b.room[len(b.room)-1]
}

// AddFile adds a file with these permissions. The caller must not change data afterwards.
func (b *Builder) AddFile(name string, perm fs.FileMode, data []byte) error {
	return b.put(name, node{mode: perm.Perm(), size: int64(len(data)), held: data})
}

// AddLink adds a symbolic link. Its target may be missing, or outside of the tree.
func (b *Builder) AddLink(name, target string) error {
	return b.put(name, node{mode: fs.ModeSymlink | 0o777, size: int64(len(target)), held: target})
}

// AddDir adds a directory, if it is not there.
func (b *Builder) AddDir(name string) error {
	return b.put(name, node{mode: fs.ModeDir | 0o755, held: &directory{}})
}

// AddMissing adds a file, link or directory whose content the tree does not have. reason is
// the error of reading it. For a directory it is also the error of every path below it.
func (b *Builder) AddMissing(name string, mode fs.FileMode, size int64, reason error) error {
	n := node{mode: mode, size: size, held: reason}
	if mode.IsDir() {
		n.held = &directory{missing: reason}
	}
	return b.put(name, n)
}

// AddTree adds a whole tree below a directory.
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
	b.bytes += n.bytes()
	if b.Limits.Bytes > 0 && b.bytes > b.Limits.Bytes {
		return fmt.Errorf("its configuration is larger than %d MiB", b.Limits.Bytes>>20)
	}
	n.name = path.Base(name)
	if n.mode.IsDir() {
		n.held = &directory{missing: n.missing()} // n may belong to another tree
	}
	if old := b.nodes[name]; old != nil {
		switch {
		case old.mode.IsDir() != n.mode.IsDir():
			return ErrConflict
		case n.mode.IsDir():
			d := old.held.(*directory)
			d.missing = cmp.Or(n.missing(), d.missing)
			return nil
		}
		b.bytes -= old.bytes()
		*old = n
		return nil
	}
	if above := b.nodes[path.Dir(name)]; above == nil {
		if err := b.AddDir(path.Dir(name)); err != nil {
			return err
		}
	} else if !above.mode.IsDir() {
		return ErrConflict
	}
	if b.Limits.Nodes > 0 && len(b.nodes) > b.Limits.Nodes {
		return fmt.Errorf("it has more than %d files and directories", b.Limits.Nodes)
	}
	added := b.new(n)
	b.nodes[name] = added
	parent := b.nodes[path.Dir(name)].held.(*directory)
	parent.children = append(parent.children, added)
	return nil
}

// bytes is the number of a file's bytes that the tree has.
func (n *node) bytes() int64 {
	data, _ := n.held.([]byte)
	return int64(len(data))
}
