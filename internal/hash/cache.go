package hash

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

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

// An Entry is what a Cache knows of the package with the hash ZH. Entries
// FromRegistry may lack H1Zip and Size (0), and say nothing of Programs.
type Entry struct {
	Sum
	Origin Origin
}

// A Cache remembers what packages hash to, so that none is downloaded twice. A
// package's content follows from its zh, so that an entry is valid for ever and
// for every registry.
//
// It is a trust root: whoever can write to it decides what h1 lock files get. A
// caller looks up only a zh that it has verified, and decides by Origin what an
// entry is good for. Where entries disagree, those FromPackage win over those
// FromRegistry; among those of one origin none is believed, since one of them
// is wrong.
//
// The methods of a nil Cache remember nothing. Those of others are safe for
// concurrent use.
type Cache struct {
	mu      sync.RWMutex
	file    *os.File // nil: entries are remembered, and not written
	entries map[provider.Hash]Entry
	// disputed has zh of which the entries of the best origin disagree, with
	// that origin.
	disputed map[provider.Hash]Origin
}

// ErrNoCache is wrapped by errors about files that hold something else than a
// cache of this version. They are left as they are.
var ErrNoCache = errors.New("this is no hash cache, or that of another version of relock")

// OpenCache reads the cache at path, to which Add then appends. The file, and
// the directory that it lies in, are created if they are missing.
func OpenCache(path string) (*Cache, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	c, err := OpenReadOnlyCache(path)
	if err != nil {
		return nil, err
	}
	if c.file, err = appendable(path); err != nil {
		return nil, err
	}
	return c, nil
}

// OpenReadOnlyCache is OpenCache for runs that may use the cache but not add to
// it, and for files that cannot be written: entries that are added are
// remembered in memory alone. A file that is missing is an empty cache.
func OpenReadOnlyCache(path string) (*Cache, error) {
	c := newCache()
	err := readEntries(path, func(e Entry) { c.keep(e) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return c, nil
}

// appendable opens a file for appending, and writes the header if it is empty.
func appendable(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() == 0 {
		_, err = f.WriteString(cacheHeader)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func newCache() *Cache {
	return &Cache{entries: map[provider.Hash]Entry{}, disputed: map[provider.Hash]Origin{}}
}

// Lookup returns what is known of a package.
func (c *Cache) Lookup(zh provider.Hash) (Entry, bool) {
	if c == nil {
		return Entry{}, false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[zh]
	e.Programs = slices.Clone(e.Programs)
	return e, ok
}

// Add adds an entry, unless it says nothing new. It is an error if the entry is
// not whole, or cannot be written; what is known in memory is right all the
// same.
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
	if !c.keep(e) || c.file == nil {
		return nil
	}
	_, err = c.file.WriteString(record)
	return err
}

// Merge adds the entries of other caches' files, which must be as trusted as
// this one.
func (c *Cache) Merge(paths ...string) error {
	var failed []error
	for _, path := range paths {
		err := readEntries(path, func(e Entry) { failed = append(failed, c.Add(e)) })
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// Close closes the file.
func (c *Cache) Close() error {
	if c == nil || c.file == nil {
		return nil
	}
	return c.file.Close()
}

// keep remembers an entry, and reports whether it changed what is known.
func (c *Cache) keep(e Entry) bool {
	e.Programs = slices.Clone(e.Programs)
	known, ok := c.entries[e.ZH]
	origin := known.Origin
	if !ok {
		origin, ok = c.disputed[e.ZH]
	}
	switch {
	case !ok || e.Origin == FromPackage && origin == FromRegistry:
		delete(c.disputed, e.ZH)
		c.entries[e.ZH] = e
		return true
	case e.Origin != origin || known.Origin == "" || known.equal(e):
		return false
	default:
		delete(c.entries, e.ZH)
		c.disputed[e.ZH] = e.Origin
		return true
	}
}

func (e Entry) equal(o Entry) bool {
	return e.Origin == o.Origin && e.ZH == o.ZH && e.H1 == o.H1 && e.H1Zip == o.H1Zip && e.Size == o.Size && slices.Equal(e.Programs, o.Programs)
}

// PruneCache rewrites the cache at path with one record for each entry that Lookup
// would find and that keep wants; a nil keep wants all. What other runs add
// meanwhile may be lost, which costs a download.
func PruneCache(path string, keep func(Entry) bool) error {
	c := newCache()
	var order []provider.Hash // as they were added, so that the newest stay at the end
	err := readEntries(path, func(e Entry) {
		if c.keep(e) {
			order = append(order, e.ZH)
		}
	})
	if err != nil {
		return err
	}
	text := []byte(cacheHeader)
	for _, zh := range order {
		e, ok := c.entries[zh]
		delete(c.entries, zh) // it may have been added twice
		if !ok || keep != nil && !keep(e) {
			continue
		}
		record, err := e.record()
		if err != nil {
			return err
		}
		text = append(text, record...)
	}
	return replace(path, text)
}

// replace writes a file that is there whole or not at all.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
