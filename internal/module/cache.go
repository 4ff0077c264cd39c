package module

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/file"
)

// cache keeps packages by their ID in a directory of the operator's, one file
// each: what is kept of the package, as a tar archive. A file that is damaged
// is as good as none. Nothing here is secret or trusted more than its source,
// but whoever can write to the directory decides what modules say.
type cache struct {
	dir string // "": keeps nothing
	log *slog.Logger
}

func (c cache) file(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:])+".tar.gz")
}

// load returns a package that was saved.
func (c cache) load(id string) (contents, bool) {
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
	return contents{t, id}, true
}

// save keeps a package, if all of it is here. A cache that cannot be written to is no reason to fail.
func (c cache) save(p contents) {
	t, ok := p.fs.(*tree)
	if c.dir == "" || !ok || !t.whole() {
		return
	}
	if err := c.write(p.id, t); err != nil {
		c.log.Warn("the cache of modules cannot be written", "reason", err)
	}
}

// write makes the file at once with all it holds, since several runs may share
// the directory.
func (c cache) write(id string, t *tree) error {
	var saved bytes.Buffer
	if err := writeSaved(&saved, t); err != nil {
		return err
	}
	return file.Replace(c.file(id), saved.Bytes(), file.Options{Parents: 0o755})
}

func writeSaved(w io.Writer, t *tree) error {
	zipped := gzip.NewWriter(w)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		n := t.nodes[name]
		header := &tar.Header{Name: name, Mode: int64(n.mode.Perm()), Size: int64(len(n.data)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		switch {
		case n.mode.IsDir():
			header.Typeflag = tar.TypeDir
		case n.mode.Type() == fs.ModeSymlink:
			header.Typeflag, header.Linkname = tar.TypeSymlink, n.target
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(n.data); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}

// readSaved reads what writeSaved wrote, to its end, where the checksum is.
func readSaved(r io.Reader) (*tree, error) {
	zipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	t := newTree()
	for archive := tar.NewReader(&capped{zipped, maxUnpacked, errUnpacked}); ; {
		header, err := archive.Next()
		switch {
		case err == io.EOF:
			_, err := io.Copy(io.Discard, zipped)
			return t, err
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return nil, err
		}
		name := strings.TrimSuffix(header.Name, "/")
		switch header.Typeflag {
		case tar.TypeDir:
			_, err = t.dir(name)
		case tar.TypeSymlink:
			err = t.link(name, header.Linkname)
		default:
			err = t.file(name, archive)
		}
		if err != nil {
			return nil, err
		}
	}
}
