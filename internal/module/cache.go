package module

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
)

// cache keeps packages in a directory of the operator's, one file for each key: a tar
// archive of the kept files. A key determines the content: it is the package's ID, or its
// h1. It also remembers which commits were reachable. A damaged file counts as missing. The
// cache has no secrets,
// and its packages are trusted no more than their sources. But anyone who can write to the
// directory decides what the modules say.
type cache struct {
	dir     string // "": no cache
	log     *slog.Logger
	fetched atomic.Int64 // packages that the cache did not have
	pruned  sync.Once
}

// The limits of the cache: packages that no run has used for this time are removed, and
// together they are no larger than this. That is some 5,000 packages; a repository calls
// the newest ones.
const (
	keptFor  = 90 * 24 * time.Hour
	keptSize = 128 << 20
)

func (c *cache) file(key string) string { return filepath.Join(c.dir, fileName(key, keptExtensions)) }

// fileName is the file of a package whose files with these extensions are kept. Another
// list of extensions gives another name: a package that was kept with a shorter list lacks
// configuration files.
func fileName(key string, extensions []string) string {
	sum := sha256.Sum256([]byte(strings.Join(extensions, " ") + "\n" + key))
	return hex.EncodeToString(sum[:]) + ".tar.gz"
}

// isCached reports whether a name has the form of the cache's files.
func isCached(name string) bool {
	sum, archive := strings.CutSuffix(name, ".tar.gz")
	sum, mark := strings.CutSuffix(sum, reachableMark)
	decoded, err := hex.DecodeString(sum)
	return archive != mark && err == nil && len(decoded) == sha256.Size && sum == strings.ToLower(sum)
}

// reachableMark is the end of the name of an empty file, which says that a branch or a tag
// of a repository had a commit. The package alone does not say so: the commit of a submodule
// may be on none.
const reachableMark = ".reachable"

// reachable reports whether a commit was reachable in an earlier run, by gitID.
func (c *cache) reachable(id string) bool {
	if c.dir == "" {
		return false
	}
	info, err := os.Lstat(c.mark(id))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	file.Touch(c.mark(id))
	return true
}

// setReachable notes that a commit is reachable. A failure costs a later run its questions.
func (c *cache) setReachable(id string) {
	if c.dir != "" && !c.reachable(id) {
		_ = file.Replace(c.mark(id), nil, file.Options{Parents: 0o755})
	}
}

func (c *cache) mark(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:])+reachableMark)
}

// load returns the package with a key, which becomes its ID. It has the hash that was known
// when it was saved.
func (c *cache) load(key string) (contents, bool) {
	if c.dir == "" {
		return contents{}, false
	}
	f, err := file.Open(c.file(key))
	if err != nil {
		return contents{}, false
	}
	defer f.Close()
	t, hash, err := readSaved(f)
	if err != nil {
		c.log.Warn("a package in the cache of modules is damaged", "file", f.Name(), "reason", err)
		return contents{}, false
	}
	file.Touch(f.Name())
	return contents{fs: t, id: key, hash: hash}, true
}

// hashRecord is the record with a package's hash, in the global header of the archive.
const hashRecord = "RELOCK.hash"

// save counts a fetched package, and keeps it if it has a key and no content is missing. If
// the cache cannot be written, the run goes on.
func (c *cache) save(p contents, key string) contents {
	c.fetched.Add(1)
	t, ok := p.fs.(*filetree.Tree)
	if c.dir == "" || key == "" || !ok || t.Missing() != nil {
		return p
	}
	var saved bytes.Buffer
	zipped := gzip.NewWriter(&saved)
	archive := tar.NewWriter(zipped)
	var err error
	if p.hash != "" {
		err = archive.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{hashRecord: p.hash}})
	}
	err = errors.Join(err, archive.AddFS(t), archive.Close(), zipped.Close())
	if err == nil {
		// atomically, since several runs may share the directory
		err = file.Replace(c.file(key), saved.Bytes(), file.Options{Parents: 0o755})
	}
	if err != nil {
		c.log.Warn("the cache of modules cannot be written", "reason", err)
		return p
	}
	c.pruned.Do(func() { file.Prune(c.dir, isCached, keptFor, keptSize) })
	return p
}

// readSaved reads a file of save to its end, where the checksum is.
func readSaved(r io.Reader) (t *filetree.Tree, hash string, err error) {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, "", err
	}
	into := newFilling()
	err = readTar(zipped, func(h *tar.Header, content io.Reader) error {
		switch name := strings.TrimSuffix(h.Name, "/"); h.Typeflag {
		case tar.TypeXGlobalHeader:
			hash = h.PAXRecords[hashRecord]
			return nil
		case tar.TypeDir:
			return into.AddDir(name)
		case tar.TypeSymlink:
			return into.AddLink(name, h.Linkname)
		default:
			return into.file(name, content)
		}
	})
	if err == nil {
		_, err = io.Copy(io.Discard, zipped)
	}
	return into.Tree(), hash, err
}
