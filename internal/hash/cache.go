package hash

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/provider"
)

// Origin says how the hashes of an Entry came to be known.
type Origin string

const (
	// FromPackage says that relock computed them from the package's own bytes.
	FromPackage Origin = "package"
	// FromRegistry says that a registry reported them.
	FromRegistry Origin = "registry"
)

// An Entry is the knowledge of a Cache about the package with the hash ZH.
// Entries FromRegistry may lack H1Zip and Size (0), and have no Programs.
type Entry struct {
	Hashed Hashed
	Origin Origin
}

// A Cache remembers the hashes of packages, so that none is downloaded twice. A
// package's zh determines its content, so an entry is valid for ever and for
// every registry.
//
// It is a trust root: anyone who can write to it decides which h1 lock files get.
// A caller looks up only a zh that it has verified, and judges an entry by its
// Origin. If entries disagree, those FromPackage win over those FromRegistry. Of
// disagreeing entries of one origin none is believed, since one of them is wrong.
//
// The methods of a nil Cache remember nothing. Those of others are safe for
// concurrent use.
type Cache struct {
	mu       sync.RWMutex
	path     string // empty: entries are in memory only
	readOnly error  // why entries cannot be written
	lost     bool   // an entry was added and not written
	records  int    // the known number of records in the file
	entries  map[provider.Hash]Entry
	// disputed has zh of which the entries of the best origin disagree, with
	// that origin.
	disputed map[provider.Hash]Origin
}

// ErrNoCache is wrapped by errors about files that hold no cache of this version.
// relock does not change them.
var ErrNoCache = errors.New("this is no hash cache, or that of another version of relock")

// Junk reports whether a file that is no cache is not a cache of any version
// either: the rest of a damaged cache.
func Junk(path string) bool {
	f, err := file.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, len(anyHeader))
	n, err := io.ReadFull(f, start)
	return (err == nil || err == io.ErrUnexpectedEOF) && string(start[:n]) != anyHeader
}

// PutAside renames a file that is no cache, and returns its new name: the old one
// with a suffix. It replaces a file that was put aside before.
func PutAside(path string) (aside string, err error) {
	aside = path + ".damaged"
	return aside, os.Rename(path, aside)
}

// The permissions of a cache, of which the umask may take some. Others may read
// it: what it says of packages is no secret, and where a container wrote it as
// root, the runner's user archives it; the cache action only warns of what it
// cannot read (https://github.com/actions/cache/issues/11). That others could
// write to it would let them decide what lock files say.
const (
	readableDir  = 0o755
	readableFile = 0o644
)

// OpenCache reads the cache at path; Add then appends to it. It creates the file
// and its directory if they are missing. A file that can be read but not written
// is used as in OpenReadOnlyCache. Close reports whether that mattered.
func OpenCache(path string) (*Cache, error) {
	if err := os.MkdirAll(filepath.Dir(path), readableDir); err != nil {
		return nil, err
	}
	c := newCache()
	err := c.read(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	switch err := appendTo(path, ""); {
	case err == nil:
		c.path = path
		file.Sweep(filepath.Dir(path))
	case missing:
		return nil, err
	default:
		c.readOnly = err
	}
	return c, nil
}

// OpenReadOnlyCache is OpenCache for runs that must not write the cache: added
// entries are only in memory. A missing file is an empty cache.
func OpenReadOnlyCache(path string) (*Cache, error) {
	c := newCache()
	if err := c.read(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return c, nil
}

func (c *Cache) read(path string) error {
	return readEntries(path, func(e Entry) {
		c.keep(e)
		c.records++
	})
}

func newCache() *Cache {
	return &Cache{entries: map[provider.Hash]Entry{}, disputed: map[provider.Hash]Origin{}}
}

// Lookup returns the entry of a package.
func (c *Cache) Lookup(zh provider.Hash) (Entry, bool) {
	if c == nil {
		return Entry{}, false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[zh]
	e.Hashed.Programs = slices.Clone(e.Hashed.Programs)
	return e, ok
}

// Add adds an entry, unless it is known already. It fails if the entry is
// incomplete, or cannot be written. The memory is right in both cases.
func (c *Cache) Add(e Entry) error {
	if c == nil {
		return nil
	}
	record, err := e.record()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.keep(e) {
		return nil
	}
	if c.path == "" {
		c.lost = true
		return nil
	}
	c.records++
	return appendTo(c.path, record)
}

// Close prunes the file if more than half of its records are useless, or if it is
// too long to be read completely. It fails if entries were added that could not
// be written.
func (c *Cache) Close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.lost:
		return c.readOnly
	case c.path == "":
		return nil
	}
	info, err := os.Stat(c.path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // somebody threw it away
		return nil
	case err != nil:
		return err
	case c.records > 2*len(c.entries)+tolerated || info.Size() > maxCache:
		// To prune is no duty, and never worth a failure: the directory may be such
		// that nothing can be created in it, and where another run has the file open,
		// Windows does not let it be replaced. The next run tries again.
		_ = prune(c.path, info)
	}
	return nil
}

// keep remembers an entry, and reports whether it changed anything.
func (c *Cache) keep(e Entry) bool {
	e.Hashed.Programs = slices.Clone(e.Hashed.Programs)
	known, ok := c.entries[e.Hashed.Sum.ZH]
	origin := known.Origin
	if !ok {
		origin, ok = c.disputed[e.Hashed.Sum.ZH]
	}
	switch {
	case !ok || e.Origin == FromPackage && origin == FromRegistry:
		delete(c.disputed, e.Hashed.Sum.ZH)
		c.entries[e.Hashed.Sum.ZH] = e
		return true
	case e.Origin != origin || known.Origin == "" || known.equal(e):
		return false
	default:
		delete(c.entries, e.Hashed.Sum.ZH)
		c.disputed[e.Hashed.Sum.ZH] = e.Origin
		return true
	}
}

func (e Entry) equal(o Entry) bool {
	return e.Origin == o.Origin && e.Hashed.Sum == o.Hashed.Sum && slices.Equal(e.Hashed.Programs, o.Hashed.Programs)
}
