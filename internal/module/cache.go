package module

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/problem"
)

// cache keeps packages in a directory of the operator's, one file for each, and notes about
// them. A key determines the content: it is the package's ID, or its hash. A damaged file
// counts as missing. The cache has no secrets, and its packages are trusted no more than
// their sources. But anyone who can write to the directory decides what the modules say.
type cache struct {
	dir     string // "": no cache
	log     *slog.Logger
	fetched atomic.Int64 // packages that the cache did not have
	pruned  sync.Once
}

// The limits of the cache: files that no run has used for this time are removed, and together
// they are no larger than this.
const (
	keptFor  = 90 * 24 * time.Hour
	keptSize = 2 << 30
)

// The kinds of files in the cache, which are the ends of their names.
const (
	treeFile  = ".tree"  // the files of a package from which a configuration is read
	wholeFile = ".whole" // a package with all of its files
	noteFile  = ".note"
)

// file is the file of a kind for a key.
func (c *cache) file(kind, key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:])+kind)
}

// isCached reports whether a name has the form of the cache's files.
func isCached(name string) bool {
	kind := filepath.Ext(name)
	sum := strings.TrimSuffix(name, kind)
	decoded, err := hex.DecodeString(sum)
	return slices.Contains([]string{treeFile, wholeFile, noteFile}, kind) && err == nil && len(decoded) == sha256.Size && sum == strings.ToLower(sum)
}

// maxNote bounds the text of a note.
const maxNote = 64 << 10

// note is the text that was noted for a key.
func (c *cache) note(key string) (string, bool) {
	if c.dir == "" {
		return "", false
	}
	name := c.file(noteFile, key)
	text, err := file.ReadAtMost(name, maxNote)
	if err == nil {
		file.Touch(name)
	}
	return string(text), err == nil
}

// setNote notes a text for a key. A failure costs a later run its questions.
func (c *cache) setNote(key, text string) {
	if c.dir == "" {
		return
	}
	if known, ok := c.note(key); !ok || known != text {
		_ = file.Replace(c.file(noteFile, key), []byte(text), file.Options{Parents: 0o755})
	}
}

// reachable reports whether a commit was reachable in an earlier run, by gitID: a branch or a
// tag of its repository had it. Its package alone does not say so: the commit of a submodule
// may be on none.
func (c *cache) reachable(id string) bool {
	_, ok := c.note("reachable\n" + id)
	return ok
}

func (c *cache) setReachable(id string) { c.setNote("reachable\n"+id, "") }

// treeKey is the key for the kept files of a package. Another list of extensions gives another
// key: a package that was kept with a shorter list lacks configuration files.
func treeKey(key string, extensions []string) string {
	return strings.Join(extensions, " ") + "\n" + key
}

// load returns the kept files of the package with a key, which becomes its ID. It has the hash
// that was known when it was saved.
func (c *cache) load(key string) (contents, bool) {
	if c.dir == "" {
		return contents{}, false
	}
	saved, err := c.read(treeFile, treeKey(key, keptExtensions))
	if err != nil {
		return contents{}, false
	}
	tree, err := saved.tree()
	return contents{fs: tree, id: key, hash: saved.hash}, err == nil
}

// save counts a fetched package, and keeps it if it has a key and no content is missing. If
// the cache cannot be written, the run goes on.
func (c *cache) save(p contents, key string) contents {
	c.fetched.Add(1)
	t, ok := p.fs.(*filetree.Tree)
	if c.dir == "" || key == "" || !ok || t.Missing() != nil {
		return p
	}
	err := c.write(treeFile, treeKey(key, keptExtensions), func(into *packageWriter) error { return into.addTree(t, p.hash) })
	if err != nil {
		c.log.Warn("the cache of modules cannot be written", "reason", file.Cause(err))
	}
	return p
}

// whole returns the package with a hash. Its error is fs.ErrNotExist if there is none.
func (c *cache) whole(hash string) (contents, error) {
	saved, err := c.read(wholeFile, hash)
	if err != nil {
		return contents{}, err
	}
	tree, err := saved.tree()
	return contents{fs: tree, id: hash, hash: hash, whole: saved}, err
}

// saveWhole keeps a package with all of its files. fill adds them, and proves them.
func (c *cache) saveWhole(hash string, fill func(*packageWriter) error) error {
	err := c.write(wholeFile, hash, fill)
	if _, told := errors.AsType[*problem.Error](err); err != nil && !told {
		return unread("keeping the module package: %v", file.Cause(err))
	}
	return err
}

// read reads the package of a file, and warns if it is damaged.
func (c *cache) read(kind, key string) (*Whole, error) {
	saved, err := readPackage(c.file(kind, key), strings.HasPrefix(key, gitHash))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("a package in the cache of modules is damaged", "file", c.file(kind, key), "reason", file.Cause(err))
	}
	return saved, err
}

// write makes the file of a package. Several runs may share the directory, so it is there when
// it is complete.
func (c *cache) write(kind, key string, fill func(*packageWriter) error) error {
	err := file.Fill(c.file(kind, key), func(f *os.File) error {
		into := newPackageWriter(f)
		if err := fill(into); err != nil {
			return err
		}
		return into.close()
	})
	if err == nil {
		c.pruned.Do(func() { file.Prune(c.dir, isCached, keptFor, keptSize) })
	}
	return err
}
