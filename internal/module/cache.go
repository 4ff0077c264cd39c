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
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
)

// cache keeps packages by their ID in a directory of the operator's, one file
// each: what is kept of the package, as a tar archive. A file that is damaged
// is as good as none. Nothing here is secret or trusted more than its source,
// but anyone who can write to the directory decides what modules say.
type cache struct {
	dir     string // "": keeps nothing
	log     *slog.Logger
	fetched atomic.Int64 // packages that were not here
	pruned  sync.Once
}

// What is kept: packages that a run has used in this time, and no more than this
// together. It is some 5,000 packages, of which a repository calls the newest.
const (
	keptFor  = 90 * 24 * time.Hour
	keptSize = 128 << 20
)

func (c *cache) file(id string) string { return filepath.Join(c.dir, fileName(id, keptExtensions)) }

// fileName is where a package is of which the files with these extensions are
// kept. With another list it is somewhere else: what was kept by a shorter one
// lacks files that say what is required.
func fileName(id string, extensions []string) string {
	sum := sha256.Sum256([]byte(strings.Join(extensions, " ") + "\n" + id))
	return hex.EncodeToString(sum[:]) + ".tar.gz"
}

// isPackage reports whether a file of the directory has a name that fileName gives.
func isPackage(name string) bool {
	sum, archive := strings.CutSuffix(name, ".tar.gz")
	decoded, err := hex.DecodeString(sum)
	return archive && err == nil && len(decoded) == sha256.Size && sum == strings.ToLower(sum)
}

// load returns a package that was saved.
func (c *cache) load(id string) (contents, bool) {
	if c.dir == "" {
		return contents{}, false
	}
	f, err := file.Open(c.file(id))
	if err != nil {
		return contents{}, false
	}
	defer f.Close()
	t, err := readSaved(f)
	if err != nil {
		c.log.Warn("a package in the cache of modules is damaged", "file", f.Name(), "reason", err)
		return contents{}, false
	}
	file.Touch(f.Name())
	return contents{t, id}, true
}

// save counts a package that was fetched, and keeps it if all of it is here. A
// cache that cannot be written to is no reason to fail.
func (c *cache) save(p contents) contents {
	c.fetched.Add(1)
	t, ok := p.fs.(*filetree.Tree)
	if c.dir == "" || !ok || t.Missing() != nil {
		return p
	}
	var saved bytes.Buffer
	zipped := gzip.NewWriter(&saved)
	archive := tar.NewWriter(zipped)
	err := errors.Join(archive.AddFS(t), archive.Close(), zipped.Close())
	if err == nil {
		// At once with all it holds, since several runs may share the directory.
		err = file.Replace(c.file(p.id), saved.Bytes(), file.Options{Parents: 0o755})
	}
	if err != nil {
		c.log.Warn("the cache of modules cannot be written", "reason", err)
		return p
	}
	c.pruned.Do(func() { file.Prune(c.dir, isPackage, keptFor, keptSize) })
	return p
}

// readSaved reads what save wrote, to its end, where the checksum is.
func readSaved(r io.Reader) (*filetree.Tree, error) {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	into := newFilling()
	err = readTar(zipped, func(h *tar.Header, content io.Reader) error {
		switch name := strings.TrimSuffix(h.Name, "/"); h.Typeflag {
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
	return into.Tree(), err
}
