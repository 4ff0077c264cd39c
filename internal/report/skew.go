package report

import (
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/verbs"
)

// VersionSkew is a provider that has several versions in use.
type VersionSkew struct {
	Addr     provider.Addr `json:"provider"`
	Versions []VersionUse  `json:"versions"` // newest first, two at least
	// Lagging are the root modules that do not use the newest version in use.
	Lagging []string `json:"lagging"`
}

// VersionUse is a version and its root modules.
type VersionUse struct {
	Version provider.Version `json:"version"`
	Dirs    []string         `json:"directories"` // in the report's order
}

// Skews lists the providers with several versions in use, sorted by address. A
// diff has none: it compares two states of one file.
func Skews(r Report) []VersionSkew {
	if r.Verb == verbs.Diff {
		return nil
	}
	where := map[provider.Addr]map[provider.Version][]string{}
	for _, m := range r.Modules {
		for _, u := range m.InUse {
			if where[u.Addr] == nil {
				where[u.Addr] = map[provider.Version][]string{}
			}
			where[u.Addr][u.Version] = append(where[u.Addr][u.Version], r.Title(m))
		}
	}
	var all []VersionSkew
	for _, addr := range slices.SortedFunc(maps.Keys(where), provider.Addr.Compare) {
		if len(where[addr]) < 2 {
			continue
		}
		s := VersionSkew{Addr: addr}
		newestFirst := func(a, b provider.Version) int { return b.Compare(a) }
		for _, v := range slices.SortedFunc(maps.Keys(where[addr]), newestFirst) {
			s.Versions = append(s.Versions, VersionUse{v, where[addr][v]})
		}
		for _, u := range s.Versions[1:] {
			s.Lagging = append(s.Lagging, u.Dirs...)
		}
		all = append(all, s)
	}
	return all
}
