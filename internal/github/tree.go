package github

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/relock-dev/relock/internal/filetree"
)

// listing is the tree of a commit by its paths, and what has been read of it.
type listing struct {
	entries map[string]entry
	// blobs are the contents by their ids, so that equal files share one.
	blobs map[string][]byte
	size  int64 // of all files
}

// entry is a file, a link or a directory as GitHub lists it.
type entry struct {
	mode   fs.FileMode
	size   int64
	blob   string // the id of its content, or of a link's target
	module bool   // a submodule: a directory of which nothing is here
}

func newListing() *listing {
	return &listing{entries: map[string]entry{}, blobs: map[string][]byte{}}
}

// put adds an entry below directories that it makes. Git checks out neither names
// that are no path nor a second file of the same name: they are left out.
func (l *listing) put(name string, e entry) {
	if _, ok := l.entries[name]; ok || name == "." || !fs.ValidPath(name) {
		return
	}
	if dir := path.Dir(name); dir != "." {
		l.put(dir, entry{mode: fs.ModeDir | 0o755})
		if !l.entries[dir].mode.IsDir() {
			return
		}
	}
	l.entries[name] = e
	l.size += e.size
}

// Why a file of a commit cannot be read.
var (
	errNotAsked = errors.New("its content was not asked for")
	errLarge    = fmt.Errorf("it is larger than %d MiB", largestBlob>>20)
)

// tree returns the commit's tree with the contents that have been read.
func (l *listing) tree() (*filetree.Tree, error) {
	var b filetree.Builder
	for name, e := range l.entries {
		data, here := l.blobs[e.blob]
		var err error
		switch {
		case e.mode.IsDir():
			err = b.AddDir(name)
		case here && e.mode.IsRegular():
			err = b.AddFile(name, e.mode, data)
		case here:
			err = b.AddLink(name, string(data))
		case e.size > largestBlob:
			err = b.AddMissing(name, e.mode, e.size, errLarge)
		default:
			err = b.AddMissing(name, e.mode, e.size, errNotAsked)
		}
		if err != nil && !errors.Is(err, filetree.ErrConflict) && !errors.Is(err, filetree.ErrName) {
			return nil, err
		}
	}
	return b.Tree(), nil
}
