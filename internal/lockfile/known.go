package lockfile

import (
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// Release is the provider and the version of an entry.
type Release struct {
	Addr    provider.Addr
	Version provider.Version
}

// Release is the release of the entry.
func (l Lock) Release() Release { return Release{l.Addr, l.Version} }

// Known are the hashes of the entries of several lock files, by release. An entry without
// hashes has the empty hash: the tools take any package for it [terraform 1.11
// internal/providercache/installer.go].
type Known map[Release]map[provider.Hash]bool

// Add adds the hashes of an entry.
func (k Known) Add(l Lock) {
	of := l.Release()
	if k[of] == nil {
		k[of] = map[provider.Hash]bool{}
	}
	for _, h := range l.Claims() {
		k[of][h] = true
	}
}

// Has reports whether all these hashes are known of a release.
func (k Known) Has(of Release, hashes []provider.Hash) bool {
	return !slices.ContainsFunc(hashes, func(h provider.Hash) bool { return !k[of][h] })
}

// Claims are the hashes of the entry, or the empty hash if it has none.
func (l Lock) Claims() []provider.Hash {
	if len(l.Hashes) == 0 {
		return []provider.Hash{""}
	}
	return l.Hashes
}
