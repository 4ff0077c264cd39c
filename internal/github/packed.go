package github

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/relock-dev/relock/internal/filetree"
)

// The bounds of an archive that is asked for before anybody knows what is in it.
const (
	largestUnseen = 64 << 20  // bytes as it is sent
	mostUnseen    = 256 << 20 // bytes of all that is in it
	mostNames     = 32 << 20  // bytes of all names, as of a tree that GitHub lists
)

// SnapshotOf is Snapshot for callers that know the id of the commit's tree, as List
// does; without one it is Snapshot. It is one request for an archive, and one for what
// that redirects to. That the archive holds the whole commit and nothing else is proved
// by git's id of what is in it. Where the proof fails, since .gitattributes leaves files
// out or changes them, or there is a submodule, or the archive is large or cannot be
// had, it is Snapshot, which does not ask again for what the archive had.
func (r *Repository) SnapshotOf(ctx context.Context, sha, tree string, keep func(name string) bool) (*filetree.Tree, error) {
	if tree == "" {
		return r.Snapshot(ctx, sha, keep)
	}
	l := r.unpackAll(ctx, sha, keep)
	if l.id() != tree {
		listed, err := r.list(ctx, sha)
		if err != nil {
			return nil, r.explain(ctx, "reading the tree of commit "+sha, readContents, err)
		}
		listed.blobs, listed.unpacked = l.blobs, l.unpacked
		l = listed
	}
	return r.take(ctx, sha, l, keep)
}

// unpackAll is the content of a commit's archive, as far as it could be read. If it could
// not, the next request shows the reason.
func (r *Repository) unpackAll(ctx context.Context, sha string, keep func(name string) bool) *listing {
	nothing := newListing(nil)
	body, err := r.archive(ctx, sha, largestUnseen)
	if err != nil {
		return nothing
	}
	defer body.Close()
	plain, err := gzip.NewReader(body)
	if err != nil {
		return nothing
	}
	u := unpacking{blobs: map[string][]byte{}, dirs: map[string]bool{}}
	err = u.read(tar.NewReader(io.LimitReader(plain, mostUnseen)), keep)
	if errors.Is(err, errUnseen) {
		return nothing // its contents may be more than anybody wants
	}
	l := newListing(u.entries)
	l.blobs, l.unpacked = u.blobs, err == nil
	return l
}

// errUnseen is why an archive is not read to its end: it is beyond a bound, or nothing
// that Git has made.
var errUnseen = errors.New("the archive is not read")

// unpacking is what has been found in an archive.
type unpacking struct {
	entries []treeEntry
	dirs    map[string]bool
	blobs   map[string][]byte // contents to be kept, by their ids
	names   int64             // bytes, with those of directories
	size    int64             // bytes of all files, holes too
	kept    int64             // bytes
}

// read adds all files and links of an archive. Their paths show the directories, since git
// has no empty ones. An empty directory in an archive is a submodule.
func (u *unpacking) read(archive *tar.Reader, keep func(name string) bool) error {
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(h.Name, "/") // all is below one directory
		u.names += int64(len(name))
		u.size += min(max(h.Size, 0), mostUnseen+1) // a sparse file has more than the bytes that come
		if u.size > mostUnseen || u.names > mostNames || len(u.entries) >= mostEntries {
			return errUnseen
		}
		e := treeEntry{path: name, mode: 0o644, size: h.Size}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader, tar.TypeDir:
			continue
		case tar.TypeSymlink:
			e.mode, e.size = fs.ModeSymlink|0o777, int64(len(h.Linkname))
		case tar.TypeReg:
			if h.Mode&0o100 != 0 {
				e.mode = 0o755
			}
		default:
			return errUnseen
		}
		wanted := e.mode.IsRegular() && e.size <= largestBlob && keep(name) || !e.mode.IsRegular() && e.size <= largestLink
		e.blob, err = u.content(archive, h, wanted)
		if err != nil {
			return err
		}
		u.entries = append(u.entries, e)
		u.addDirs(path.Dir(name))
		if u.names > mostNames {
			return errUnseen
		}
	}
}

// content returns the id of an entry's content, which is kept if it is wanted.
func (u *unpacking) content(archive io.Reader, h *tar.Header, wanted bool) (id string, err error) {
	if !wanted && h.Typeflag == tar.TypeReg {
		sum := sha1.New()
		fmt.Fprintf(sum, "blob %d\x00", h.Size)
		_, err = io.Copy(sum, archive)
		return hex.EncodeToString(sum.Sum(nil)), err
	}
	data, err := contentOf(archive, h)
	if err != nil {
		return "", err
	}
	u.kept += int64(len(data))
	if u.kept > mostContents {
		return "", errUnseen
	}
	id = BlobID(data)
	u.blobs[id] = data
	// Where .gitattributes says eol=crlf, a tree that is listed knows the other one.
	if plain := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")); len(plain) < len(data) {
		u.blobs[BlobID(plain)] = plain
	}
	return id, nil
}

// addDirs adds a directory and those that it is in, as far as names are bounded: one
// name of a million bytes can have half a million directories, each with a long name.
func (u *unpacking) addDirs(dir string) {
	for ; dir != "." && dir != "/" && u.names <= mostNames && !u.dirs[dir]; dir = path.Dir(dir) {
		u.dirs[dir] = true
		u.names += int64(len(dir))
		u.entries = append(u.entries, treeEntry{path: dir, mode: fs.ModeDir | 0o755})
	}
}
