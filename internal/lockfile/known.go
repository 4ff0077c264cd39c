package lockfile

import (
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// Pinned is the provider and the version of an entry.
type Pinned struct {
	Addr    provider.Addr
	Version provider.Version
}

// Known are the hashes of the entries of several lock files, by release. An entry without
// hashes has the empty hash: the tools take any package for it [terraform 1.11
// internal/providercache/installer.go].
type Known map[Pinned]map[provider.Hash]bool

// Add adds the hashes of an entry.
func (k Known) Add(l Lock) {
	of := Pinned{l.Addr, l.Version}
	if k[of] == nil {
		k[of] = map[provider.Hash]bool{}
	}
	for _, h := range Claims(l) {
		k[of][h] = true
	}
}

// Has reports whether all these hashes are known of a release.
func (k Known) Has(of Pinned, hashes []provider.Hash) bool {
	return !slices.ContainsFunc(hashes, func(h provider.Hash) bool { return !k[of][h] })
}

// Claims are the hashes of an entry, or the empty hash if it has none.
func Claims(l Lock) []provider.Hash {
	if len(l.Hashes) == 0 {
		return []provider.Hash{""}
	}
	return l.Hashes
}
