package notes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/provider"
)

const (
	// maxCache bounds the bytes of a Cache's file: some hundred releases.
	maxCache     = 4 << 20
	cacheVersion = 1
)

// ErrNoCache is wrapped by errors about files that are no cache of this version. They are
// not changed.
var ErrNoCache = errors.New("this is no cache of release notes, or that of another version of relock")

// A Cache remembers the texts of publishers about releases, so that each is read once. If a
// text changes after its release, the first one stays. A missing text is asked for again,
// since many publishers make a tag before its text.
//
// Its content is still untrusted. The methods of a nil Cache remember nothing. Those of
// others are safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	path    string
	entries []remembered // the last used at the end
	changed bool
}

// remembered is one release of a repository on a server.
type remembered struct {
	Server, Owner, Name string
	provider.Announcement
}

type cacheFile struct {
	Version  int          `json:"relock_notes"`
	Releases []remembered `json:"releases"`
}

// OpenCache reads the cache at path. A missing file is an empty cache. The error for a file
// that is no cache wraps ErrNoCache.
func OpenCache(path string) (*Cache, error) {
	c := &Cache{path: path}
	f, err := file.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCache+1))
	if err != nil {
		return nil, err
	}
	var file cacheFile
	if len(text) > maxCache || json.Unmarshal(text, &file) != nil || file.Version != cacheVersion {
		return nil, fmt.Errorf("%s: %w", path, ErrNoCache)
	}
	c.entries = file.Releases
	return c, nil
}

// Save writes the cache to its file if it changed. If it is too large, the texts that were
// not used for longest are dropped. Texts that another run saved meanwhile are lost, and
// are asked for again.
func (c *Cache) Save() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed {
		return nil
	}
	text := c.text()
	c.changed = false
	return file.Replace(c.path, text, file.Options{Parents: 0o700})
}

// text is the content of the file. If not all releases fit, it has the last used ones.
func (c *Cache) text() []byte {
	for entries := c.entries; ; entries = entries[(len(entries)+9)/10:] { // a tenth less each time
		text, err := json.Marshal(cacheFile{cacheVersion, entries})
		if err != nil {
			panic("notes: a release cannot be encoded: " + err.Error())
		}
		if len(text) <= maxCache {
			return text
		}
	}
}

func (c *Cache) find(server string, repository provider.Tagged, tag string) (provider.Announcement, bool) {
	if c == nil {
		return provider.Announcement{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.entries, func(r remembered) bool {
		return r.Server == server && r.Owner == repository.Owner && r.Name == repository.Name && r.Tag == tag
	})
	if i < 0 {
		return provider.Announcement{}, false
	}
	used := c.entries[i]
	c.entries = append(slices.Delete(c.entries, i, i+1), used)
	return used.Announcement, true
}

func (c *Cache) add(server string, repository provider.Tagged, said provider.Announcement) {
	if c == nil || said.Text == "" || len(said.Text) > maxText {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, remembered{server, repository.Owner, repository.Name, said})
	c.changed = true
}

// Cached returns a hub that asks hub only for releases that the cache lacks, and adds these
// to it. server is the host name of hub.
func Cached(hub Hub, server string, cache *Cache) Hub {
	return cachedHub{hub, server, cache}
}

type cachedHub struct {
	Hub
	server string
	cache  *Cache
}

// Releases implements Hub. If the hub fails, the cached releases are returned with the
// error.
func (h cachedHub) Releases(ctx context.Context, asked []provider.Tagged) ([][]provider.Announcement, error) {
	found := make([][]provider.Announcement, len(asked))
	var unknown []provider.Tagged
	var indexes []int
	for i, a := range asked {
		left := provider.Tagged{Owner: a.Owner, Name: a.Name}
		for _, tag := range a.Tags {
			if said, ok := h.cache.find(h.server, a, tag); ok {
				found[i] = append(found[i], said)
				continue
			}
			left.Tags = append(left.Tags, tag)
		}
		if len(left.Tags) > 0 {
			unknown, indexes = append(unknown, left), append(indexes, i)
		}
	}
	if len(unknown) == 0 {
		return found, nil
	}
	answers, err := h.Hub.Releases(ctx, unknown)
	for j, answer := range answers {
		for _, said := range answer {
			h.cache.add(h.server, unknown[j], said)
			found[indexes[j]] = append(found[indexes[j]], said)
		}
	}
	return found, err
}
