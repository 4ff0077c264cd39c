package registry

import (
	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
)

// known asks the cache what the archive with a zh hashes to. The zh must be sure,
// and only what relock has computed counts.
func (c *core) known(zh provider.Hash) (hash.Sum, bool) {
	e, ok := c.opts.Cache.Lookup(zh)
	if !ok || e.Origin != hash.FromPackage {
		return hash.Sum{}, false
	}
	c.cached.Add(1)
	return e.Sum, true
}

// remember adds an entry to the cache. A cache that cannot be written costs
// later runs a download, and this one nothing.
func (c *core) remember(name string, e hash.Entry) {
	if err := c.opts.Cache.Add(e); err != nil {
		c.opts.Log.Warn("the hashes of a package could not be remembered", "package", name, "error", err)
	}
}
