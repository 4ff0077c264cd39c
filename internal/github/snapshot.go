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
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/filetree"
)

// The bounds of a snapshot, against repositories made to exhaust a runner.
const (
	mostEntries  = 1_000_000
	mostTrees    = 500       // requests for a tree that GitHub does not list at once
	largestBlob  = 16 << 20  // bytes of a file; package scan reads no larger one
	largestLink  = 4096      // bytes of a link's target, as on Linux
	mostContents = 128 << 20 // bytes of all contents: half of what an input may cost
	// largestArchive bounds the archive, and the files in it. GitHub packs what is
	// larger too slowly to wait for.
	largestArchive = 1 << 30
	archiveTime    = 15 * time.Minute
	// mostBlobs bounds the contents that are read one by one, and blobsAtOnce how
	// many of them at a time: a workflow's token has a thousand requests an hour.
	mostBlobs   = 500
	blobsAtOnce = 4
	// fewBlobs are cheaper one by one than in an archive, which is two requests
	// and all of the repository.
	fewBlobs = 2
)

// Snapshot returns the file tree of a commit. Every path is in it, but only the
// contents of files for which keep says so, by their paths: one request for the
// tree, one for an archive and one for what that redirects to. Contents count only
// by their blob ids, since an archive lacks what .gitattributes marks
// export-ignore, and holds what it marks export-subst changed: those are a request
// each, and so are contents if they are few. So is each part of a tree of more than
// 100,000 entries.
//
// Links are kept whatever their names are, and so is the file that a link to be
// kept leads to.
func (r *Repository) Snapshot(ctx context.Context, sha string, keep func(name string) bool) (*filetree.Tree, error) {
	l, err := r.list(ctx, sha)
	if err != nil {
		return nil, r.explain(ctx, "reading the tree of commit "+sha, readContents, err)
	}
	return r.take(ctx, sha, l, keep)
}

// take returns the file tree of a listed commit, with the contents for which keep is true.
func (r *Repository) take(ctx context.Context, sha string, l *listing, keep func(name string) bool) (*filetree.Tree, error) {
	wanted, err := l.wanted(keep)
	if err != nil {
		return nil, r.explain(ctx, "reading commit "+sha, readContents, err)
	}
	if err := r.download(ctx, sha, l, wanted); err != nil {
		return nil, r.explain(ctx, "reading the archive of commit "+sha, readContents, err)
	}
	if err := r.fill(ctx, l, wanted); err != nil {
		return nil, r.explain(ctx, "reading files of commit "+sha, readContents, err)
	}
	t, err := l.tree()
	if err != nil {
		return nil, r.explain(ctx, "reading commit "+sha, readContents, err)
	}
	linked := l.linked(t, keep)
	if len(l.missing(linked)) == 0 {
		return t, nil
	}
	if err := r.fill(ctx, l, linked); err != nil {
		return nil, r.explain(ctx, "reading the targets of links of commit "+sha, readContents, err)
	}
	return l.tree()
}

// Entries returns the type and the permissions of all that a commit has, by path,
// without contents: one request, unless GitHub does not list so many at once.
func (r *Repository) Entries(ctx context.Context, sha string) (map[string]fs.FileMode, error) {
	l, err := r.list(ctx, sha)
	if err != nil {
		return nil, r.explain(ctx, "reading the tree of commit "+sha, readContents, err)
	}
	entries := make(map[string]fs.FileMode, len(l.entries))
	for _, e := range l.entries {
		entries[e.path] = e.mode
	}
	return entries, nil
}

// overBound refuses a repository that is beyond a bound.
func overBound(format string, args ...any) error {
	return &finding{message: fmt.Sprintf(format, args...), hint: "run on a checkout of the repository instead"}
}

// list reads the tree of a commit without contents.
func (r *Repository) list(ctx context.Context, sha string) (*listing, error) {
	l := &lister{repo: r}
	if err := l.list(ctx, sha, ""); err != nil {
		return nil, err
	}
	return newListing(l.entries), nil
}

// lister asks for trees.
type lister struct {
	repo    *Repository
	entries []treeEntry
	read    int
}

// list adds what is below a directory, whose tree the id names. The directory is
// empty or ends in a slash.
func (l *lister) list(ctx context.Context, id, dir string) error {
	t, err := l.tree(ctx, id, true)
	if err != nil {
		return err
	}
	if !t.GetTruncated() {
		l.entries = slices.Grow(l.entries, len(t.Entries))
		for _, e := range t.Entries {
			l.entries = append(l.entries, treeEntryOf(dir, e))
		}
		return l.check()
	}
	// It is not said where the list ends: every part is listed by itself.
	t, err = l.tree(ctx, id, false)
	if err != nil {
		return err
	}
	if t.GetTruncated() {
		return overBound("directory %s has more entries than GitHub lists", path.Clean(dir))
	}
	for _, e := range t.Entries {
		l.entries = append(l.entries, treeEntryOf(dir, e))
		if e.GetType() != "tree" {
			continue
		}
		if err := l.list(ctx, e.GetSHA(), dir+e.GetPath()+"/"); err != nil {
			return err
		}
	}
	return l.check()
}

func (l *lister) tree(ctx context.Context, id string, recursive bool) (*github.Tree, error) {
	l.read++
	if l.read > mostTrees {
		return nil, overBound("its tree takes more than %d requests", mostTrees)
	}
	t, _, err := l.repo.client.rest.Git.GetTree(ctx, l.repo.owner, l.repo.name, id, recursive)
	return t, err
}

func (l *lister) check() error {
	if len(l.entries) >= mostEntries {
		return overBound("it has more than %d files", mostEntries)
	}
	return nil
}

func treeEntryOf(dir string, e *github.TreeEntry) treeEntry {
	name := dir + e.GetPath()
	switch e.GetMode() {
	case "040000":
		return treeEntry{path: name, mode: fs.ModeDir | 0o755}
	case "160000":
		return treeEntry{path: name, mode: fs.ModeDir | 0o755, module: true}
	}
	n := treeEntry{path: name, mode: 0o644, size: int64(e.GetSize()), blob: e.GetSHA()}
	switch e.GetMode() {
	case "120000":
		n.mode = fs.ModeSymlink | 0o777
	case "100755":
		n.mode = 0o755
	}
	return n
}

// wanted returns the sizes of the contents to be read, by their ids.
func (l *listing) wanted(keep func(string) bool) (map[string]int64, error) {
	ids, total := map[string]int64{}, int64(0)
	for _, e := range l.entries {
		link := e.mode.Type() == fs.ModeSymlink && e.size <= largestLink
		file := e.mode.IsRegular() && e.size <= largestBlob && keep(e.path)
		if _, known := ids[e.blob]; known || !link && !file {
			continue
		}
		ids[e.blob] = e.size
		total += e.size
	}
	if total > mostContents {
		return nil, overBound("its configuration is larger than %d MiB", mostContents>>20)
	}
	return ids, nil
}

// linked returns what must be read of files only because links lead to them.
func (l *listing) linked(t *filetree.Tree, keep func(string) bool) map[string]int64 {
	ids := map[string]int64{}
	for _, e := range l.entries {
		if e.mode.Type() != fs.ModeSymlink || !keep(e.path) {
			continue
		}
		if real, err := filetree.Resolve(t, e.path); err == nil {
			if target, _ := l.at(real); target.mode.IsRegular() && target.blob != "" && target.size <= largestBlob {
				ids[target.blob] = target.size
			}
		}
	}
	return ids
}

// missing returns the ids, sorted, whose contents are not here.
func (l *listing) missing(ids map[string]int64) []string {
	return collect.Those(slices.Sorted(maps.Keys(ids)), func(id string) bool {
		_, here := l.blobs[id]
		return !here
	})
}

// download reads contents from the archive of a commit, again if it breaks off.
func (r *Repository) download(ctx context.Context, sha string, l *listing, wanted map[string]int64) error {
	if l.unpacked || len(l.missing(wanted)) <= fewBlobs || l.size > largestArchive {
		return nil
	}
	for tries := 1; ; tries++ {
		err := r.downloadOnce(ctx, sha, l, wanted)
		var broken *brokenOff
		if !errors.As(err, &broken) || tries == mostQuestions || ctx.Err() != nil {
			return err
		}
		if err := r.client.clock.Sleep(ctx, time.Second<<(tries-1)); err != nil {
			return err
		}
	}
}

// brokenOff is why an archive could not be read to its end.
type brokenOff struct{ error }

func (b *brokenOff) Unwrap() error { return b.error }

// downloadOnce asks for an archive. The API redirects to another host, whose
// address is good for some minutes, and which gets no token.
func (r *Repository) downloadOnce(ctx context.Context, sha string, l *listing, wanted map[string]int64) error {
	body, err := r.archive(ctx, sha, largestArchive)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := l.unpack(body, wanted); err != nil {
		return &brokenOff{err}
	}
	return nil
}

// archive begins to read the archive of a commit.
func (r *Repository) archive(ctx context.Context, sha string, largest int64) (io.ReadCloser, error) {
	ctx = behaving(ctx, requestBehaviour{stream: true, largest: largest, time: archiveTime})
	req, err := r.client.rest.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/tarball/%s", r.owner, r.name, sha), nil)
	if err != nil {
		return nil, err
	}
	resp, err := r.client.rest.BareDo(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// unpack takes the wanted contents out of an archive, and reads no further than
// the last of them.
func (l *listing) unpack(archive io.Reader, wanted map[string]int64) error {
	left := len(l.missing(wanted))
	if left == 0 {
		return nil
	}
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	for entries := tar.NewReader(io.LimitReader(plain, 2*largestArchive)); left > 0; {
		h, err := entries.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(h.Name, "/") // all is below one directory
		e, _ := l.at(name)
		size, ok := wanted[e.blob]
		if _, known := l.blobs[e.blob]; !ok || known || h.Size > 2*size {
			continue
		}
		data, err := contentOf(entries, h)
		if err != nil {
			return err
		}
		if data, ok := matching(data, e.blob); ok {
			l.blobs[e.blob] = data
			left--
		}
	}
	return nil
}

// contentOf returns what Git stores for an entry.
func contentOf(r io.Reader, h *tar.Header) ([]byte, error) {
	if h.Typeflag == tar.TypeSymlink {
		return []byte(h.Linkname), nil
	}
	return io.ReadAll(r)
}

// matching returns the content that has the id: what the archive holds or, where
// .gitattributes says eol=crlf, that with the line ends that Git stores.
func matching(data []byte, id string) ([]byte, bool) {
	if BlobID(data) == id {
		return data, true
	}
	if plain := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")); BlobID(plain) == id {
		return plain, true
	}
	return nil, false
}

// BlobID is the name of a content in Git.
func BlobID(data []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// fill reads the wanted contents that are not here one by one.
func (r *Repository) fill(ctx context.Context, l *listing, wanted map[string]int64) error {
	ids := l.missing(wanted)
	if len(ids) > mostBlobs {
		return overBound("%s not as they are in its archive, and at most %d are read one by one", collect.Count(len(ids), "file is", "files are"), mostBlobs)
	}
	contents := make([][]byte, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(blobsAtOnce)
	for i, id := range ids {
		g.Go(func() (err error) {
			contents[i], err = r.blob(ctx, id)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, id := range ids {
		l.blobs[id] = contents[i]
	}
	return nil
}

// blob reads the content with an id. An empty one is not asked for: an answer without
// content counts as broken.
func (r *Repository) blob(ctx context.Context, id string) ([]byte, error) {
	if id == BlobID(nil) {
		return nil, nil
	}
	data, _, err := r.client.rest.Git.GetBlobRaw(ctx, r.owner, r.name, id)
	if err != nil {
		return nil, err
	}
	if got := BlobID(data); got != id {
		return nil, &finding{message: fmt.Sprintf("the content of blob %s is that of %s", id, got)}
	}
	return data, nil
}
