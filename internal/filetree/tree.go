// Package filetree has read-only file trees and the one way in which relock follows
// links.
//
// What is fetched (the commit of a repository, a module package) and what is made
// (files laid over others) is a Tree, filled by a Builder. All paths of what it
// stands for are in it, but of files perhaps only those that somebody reads; what
// is not here says why. What is elsewhere, such as on disk, is read through a Lazy,
// which asks once. Nothing in either can be followed out of it.
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
)

// Tree is a file tree in memory: an fs.FS with ReadDir, Stat, Lstat and ReadLink.
// A path leads through links as Resolve says; beside the tree is nothing, so that
// one which leads out does not exist. It is safe for concurrent use.
type Tree struct {
	nodes map[string]*node // by their paths, without links
}

// node is what is at a path. A tree may have a million, nearly all of which are
// files of which nothing is here.
type node struct {
	name string // the last element of the path
	mode fs.FileMode
	size int64
	// held is the []byte of a file, the string that a link leads to, a *directory,
	// or the error why a file or link is not here.
	held any
}

type directory struct {
	children []*node
	missing  error // why nothing is here but what is
}

// missing returns why a node is not here; nil if it is.
func (n *node) missing() error {
	if d, ok := n.held.(*directory); ok {
		return d.missing
	}
	err, _ := n.held.(error)
	return err
}

// children are those of a directory.
func (n *node) children() []*node { return n.held.(*directory).children }

// lookup returns what is at a path without links on the way.
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

// find returns what is at a path, through links on the way and, if follow is
// set, through one at its end.
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

// Names returns the paths of all that is in the tree, sorted as text; the first
// one is ".".
func (t *Tree) Names() []string { return slices.Sorted(maps.Keys(t.nodes)) }

// Part returns a tree of those files, links and directories that keep selects, with the
// directories above them. What is in a directory is not selected with it.
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

// Missing returns why something that the tree stands for is not in it; nil if
// everything is.
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
	out := make([]fs.DirEntry, len(nodes))
	for i, n := range nodes {
		out[i] = info{n, n.name}
	}
	return out
}

// info is a node as fs.FileInfo and fs.DirEntry, by the name that it was found by.
type info struct {
	*node
	as string
}

// InfoOf describes a file or directory that a Source makes.
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

// Below returns the tree below a directory, which may be reached through links.
// Links that lead out of it lead nowhere then.
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

// Overlay returns the tree with these files in it, by paths without links. They
// take the place of whatever is in their way; of a file they keep the
// permissions.
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
