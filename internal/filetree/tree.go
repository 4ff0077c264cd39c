// Package filetree has read-only file trees and the one way in which relock follows links.
//
// A Tree is in memory, filled by a Builder. It is used for fetched files (the commit of a
// repository, a module package) and for assembled ones (files over other files). A Tree has
// all paths, but perhaps only the contents that are needed. A file whose content is missing
// says why. A Lazy reads trees that are elsewhere, such as on disk, each file when it is
// needed. No path leads out of either.
package filetree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/collect"
)

// Tree is a file tree in memory: an fs.FS with ReadDir, Stat, Lstat and ReadLink. Links are
// followed as Resolve says. A path that leads out of the tree does not exist. It is safe
// for concurrent use.
type Tree struct {
	nodes map[string]*node // by their paths, without links
}

// node is a file, link or directory. A tree may have a million, nearly all of them files
// whose content it does not have.
type node struct {
	name string // the last element of the path
	mode fs.FileMode
	size int64
	// held is the content: the []byte of a file, the target of a link as a string, or a
	// *directory. If the content of a file or link is missing, held is the error that says
	// why.
	held any
}

type directory struct {
	children []*node
	missing  error // why the list of children is not complete
}

// missing returns why the content of a node is missing; nil if it is not.
func (n *node) missing() error {
	if d, ok := n.held.(*directory); ok {
		return d.missing
	}
	err, _ := n.held.(error)
	return err
}

// children are the entries of a directory.
func (n *node) children() []*node { return n.held.(*directory).children }

// lookup returns the node at a path whose directories are no links.
func (t *Tree) lookup(name string) (*node, error) {
	if n := t.nodes[name]; n != nil {
		return n, nil
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if n := t.nodes[dir]; n != nil {
			if n.mode.IsDir() && n.missing() != nil {
				return nil, n.missing()
			}
			return nil, fs.ErrNotExist
		}
	}
}

// find returns the node at a path, through links. With follow, a link at its end is
// followed, too.
func (t *Tree) find(op, name string, follow bool) (n *node, err error) {
	fail := func(err error) (*node, error) { return nil, &fs.PathError{Op: op, Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	if n := t.nodes[name]; n != nil && (!follow || n.mode.Type() != fs.ModeSymlink) {
		return n, nil
	}
	at, err := resolve(Way{}, name, follow, func(name string) (fs.FileMode, string, error) {
		n, err := t.lookup(name)
		if err != nil {
			return 0, "", err
		}
		target, here := n.held.(string)
		if n.mode.Type() == fs.ModeSymlink && !here {
			return 0, "", fs.ErrNotExist
		}
		return n.mode.Type(), target, nil
	})
	if errors.Is(err, ErrLeadsOut) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return fail(err)
	}
	return t.nodes[at.Path], nil
}

// Names returns all paths of the tree, sorted as text. The first one is ".".
func (t *Tree) Names() []string { return slices.Sorted(maps.Keys(t.nodes)) }

// Part returns a tree of the files, links and directories that keep selects, and of the
// directories above them. Selecting a directory does not select its content.
func (t *Tree) Part(keep func(name string) bool) *Tree {
	var b Builder
	for name, n := range t.nodes {
		if !keep(name) {
			continue
		}
		if err := b.put(strings.Clone(name), *n); err != nil {
			panic("filetree: a part of a tree is none: " + err.Error())
		}
	}
	return b.Tree()
}

// Missing returns why some content of the tree is missing; nil if the tree has everything.
func (t *Tree) Missing() error {
	for _, n := range t.nodes {
		if err := n.missing(); err != nil {
			return err
		}
	}
	return nil
}

// Open implements fs.FS. It follows links.
func (t *Tree) Open(name string) (fs.File, error) {
	n, err := t.find("open", name, true)
	if err != nil {
		return nil, err
	}
	if n.mode.IsDir() {
		return &openDir{FileInfo: info{n, path.Base(name)}, path: name, list: func() ([]fs.DirEntry, error) { return entries(n.children()), n.missing() }}, nil
	}
	data, here := n.held.([]byte)
	if !here {
		return nil, &fs.PathError{Op: "open", Path: name, Err: n.missing()}
	}
	return &openFile{bytes.NewReader(data), info{n, path.Base(name)}}, nil
}

// Stat implements fs.StatFS.
func (t *Tree) Stat(name string) (fs.FileInfo, error) { return t.describe("stat", name, true) }

// Lstat implements fs.ReadLinkFS.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) { return t.describe("lstat", name, false) }

func (t *Tree) describe(op, name string, follow bool) (fs.FileInfo, error) {
	n, err := t.find(op, name, follow)
	if err != nil {
		return nil, err
	}
	return info{n, path.Base(name)}, nil
}

// ReadLink implements fs.ReadLinkFS.
func (t *Tree) ReadLink(name string) (string, error) {
	n, err := t.find("readlink", name, false)
	if err != nil {
		return "", err
	}
	if target, here := n.held.(string); here {
		return target, nil
	}
	err = n.missing()
	if n.mode.Type() != fs.ModeSymlink {
		err = fs.ErrInvalid
	}
	return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
}

// ReadDir implements fs.ReadDirFS.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.find("readdir", name, true)
	switch {
	case err != nil:
		return nil, err
	case !n.mode.IsDir():
		err = errors.New("it is no directory")
	default:
		err = n.missing()
	}
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	return entries(n.children()), nil
}

func entries(nodes []*node) []fs.DirEntry {
	return collect.Mapped(nodes, func(n *node) fs.DirEntry { return info{n, n.name} })
}

// info is a node as fs.FileInfo and fs.DirEntry, under the name that was asked for.
type info struct {
	*node
	as string
}

// InfoOf describes a file or directory of a Source.
func InfoOf(name string, mode fs.FileMode, size int64) fs.FileInfo {
	return info{&node{mode: mode, size: size}, name}
}

func (i info) Name() string               { return i.as }
func (i info) Size() int64                { return i.size }
func (i info) Mode() fs.FileMode          { return i.mode }
func (i info) Type() fs.FileMode          { return i.mode.Type() }
func (i info) ModTime() time.Time         { return time.Time{} }
func (i info) IsDir() bool                { return i.mode.IsDir() }
func (i info) Sys() any                   { return nil }
func (i info) Info() (fs.FileInfo, error) { return i, nil }

// Below returns the tree below a directory, which may be reached through links. Links out
// of that directory then lead nowhere.
func Below(t *Tree, dir string) (*Tree, error) {
	real, err := Resolve(t, dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	top, err := t.lookup(real)
	if err != nil {
		return nil, err
	}
	if real == "." {
		return t, nil
	}
	root := *top
	root.name = "."
	below := &Tree{nodes: map[string]*node{".": &root}}
	for name, n := range t.nodes {
		if rest, ok := strings.CutPrefix(name, real+"/"); ok {
			below.nodes[rest] = n
		}
	}
	return below, nil
}

// Overlay returns the tree with these files, by paths without links. They replace whatever
// is there. A replaced file's permissions stay.
func Overlay(t *Tree, files map[string][]byte) (*Tree, error) {
	var b Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		perm := fs.FileMode(0o644)
		if old := t.nodes[name]; old != nil && old.mode.IsRegular() {
			perm = old.mode
		}
		if err := b.AddFile(name, perm, files[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for name, n := range t.nodes {
		if _, replaced := files[name]; replaced || name == "." {
			continue
		}
		if err := b.put(name, *n); err != nil && !errors.Is(err, ErrConflict) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return b.Tree(), nil
}
