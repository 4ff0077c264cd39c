package github

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/filetree"
)

// listing is the tree of a commit, and what has been read of it.
type listing struct {
	entries []treeEntry // sorted, what is in a directory behind that
	// blobs are the contents by their ids, so that equal files share one.
	blobs map[string][]byte
	size  int64 // of all files
	// unpacked says that all of an archive has been read.
	unpacked bool
}

// treeEntry is a file, a link or a directory as GitHub lists it.
type treeEntry struct {
	path   string
	mode   fs.FileMode
	module bool // a submodule: a directory of which nothing is here
	size   int64
	blob   string // the id of its content, or of a link's target
}

// newListing is what GitHub lists, in its order. Git checks out neither names that
// are no path nor a second file of the same name: they are left out.
func newListing(entries []treeEntry) *listing {
	l := &listing{blobs: map[string][]byte{}}
	slices.SortStableFunc(entries, func(a, b treeEntry) int { return comparePaths(a.path, b.path) })
	file, last := "", "."
	l.entries = slices.DeleteFunc(entries, func(e treeEntry) bool {
		below := file != "" && strings.HasPrefix(e.path, file) && strings.HasPrefix(e.path[len(file):], "/")
		if below || e.path == last || !fs.ValidPath(e.path) {
			return true
		}
		last = e.path
		if !e.mode.IsDir() {
			file = e.path
		}
		l.size += e.size
		return false
	})
	return l
}

// comparePaths puts what is in a directory behind that and before all else.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch x, y := a[i], b[i]; {
		case x == y:
		case x == '/':
			return -1
		case y == '/':
			return 1
		default:
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

// id is what Git calls the tree [git-scm.com, "Git Internals - Git Objects", "Tree
// Objects"]; empty if it has no entries. A tree with submodules has another.
func (l *listing) id() string {
	if len(l.entries) == 0 {
		return ""
	}
	type child struct{ mode, name, id string }
	below := map[string][]child{}
	sum := func(dir string) string {
		children := below[dir]
		delete(below, dir)
		// A directory is sorted as if its name ended in a slash.
		order := func(c child) string {
			if c.mode == "40000" {
				return c.name + "/"
			}
			return c.name
		}
		slices.SortFunc(children, func(a, b child) int { return cmp.Compare(order(a), order(b)) })
		var text bytes.Buffer
		for _, c := range children {
			raw, _ := hex.DecodeString(c.id) // which is one of ours, or GitHub's
			fmt.Fprintf(&text, "%s %s\x00%s", c.mode, c.name, raw)
		}
		h := sha1.New()
		fmt.Fprintf(h, "tree %d\x00", text.Len())
		h.Write(text.Bytes())
		return hex.EncodeToString(h.Sum(nil))
	}
	for _, e := range slices.Backward(l.entries) { // what is in a directory is behind it
		c := child{gitMode(e.mode), path.Base(e.path), e.blob}
		if e.mode.IsDir() {
			c.id = sum(e.path)
		}
		dir := path.Dir(e.path)
		below[dir] = append(below[dir], c)
	}
	return sum(".")
}

// at returns what is listed at a path.
func (l *listing) at(path string) (treeEntry, bool) {
	i, ok := slices.BinarySearchFunc(l.entries, path, func(e treeEntry, path string) int { return comparePaths(e.path, path) })
	if !ok {
		return treeEntry{}, false
	}
	return l.entries[i], true
}

// plain reports whether there is a file at the path, or nothing.
func (l *listing) plain(path string) bool {
	e, ok := l.at(path)
	return !ok || e.mode.IsRegular()
}

// file is the content of a file; nil if there is none at the path.
func (l *listing) file(path string) []byte {
	e, ok := l.at(path)
	if !ok || !e.mode.IsRegular() {
		return nil
	}
	return append([]byte{}, l.blobs[e.blob]...)
}

// Why a file of a commit cannot be read.
var (
	errNotAsked = errors.New("its content was not asked for")
	errLarge    = fmt.Errorf("it is larger than %d MiB", largestBlob>>20)
)

// tree returns the commit's tree with the contents that have been read.
func (l *listing) tree() (*filetree.Tree, error) {
	var b filetree.Builder
	b.Grow(len(l.entries))
	for _, e := range l.entries {
		data, here := l.blobs[e.blob]
		var err error
		switch {
		case e.mode.IsDir():
			err = b.AddDir(e.path)
		case here && e.mode.IsRegular():
			err = b.AddFile(e.path, e.mode, data)
		case here:
			err = b.AddLink(e.path, string(data))
		case e.size > largestBlob:
			err = b.AddMissing(e.path, e.mode, e.size, errLarge)
		default:
			err = b.AddMissing(e.path, e.mode, e.size, errNotAsked)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.path, err)
		}
	}
	return b.Tree(), nil
}
