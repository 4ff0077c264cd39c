package report

import (
	"cmp"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/verbs"
)

// VersionSkew is a provider with its versions in use.
type VersionSkew struct {
	Addr     provider.Addr `json:"provider"`
	Versions []VersionUse  `json:"versions"` // newest first
	// Lagging are the root modules that do not use the newest version in use.
	Lagging []string `json:"lagging"`
}

// VersionUse is a version and its root modules.
type VersionUse struct {
	Version provider.Version `json:"version"`
	Dirs    []string         `json:"directories"` // in the report's order
}

// Skews lists the providers with several versions in use, sorted by address.
func Skews(r Report) []VersionSkew {
	return collect.Those(Versions(r), func(s VersionSkew) bool { return len(s.Versions) > 1 })
}

// Versions lists the providers in use, also those with one version, sorted by
// address. A diff has none: it compares two states of one file.
func Versions(r Report) []VersionSkew {
	if r.Verb == verbs.Diff {
		return nil
	}
	var where collect.Groups[Use, string]
	for _, m := range r.Modules {
		for _, u := range m.InUse {
			where.Add(u, r.Title(m))
		}
	}
	slices.SortFunc(where.Keys, func(a, b Use) int { return cmp.Or(a.Addr.Compare(b.Addr), b.Version.Compare(a.Version)) })
	var all []VersionSkew
	for _, u := range where.Keys {
		if len(all) == 0 || all[len(all)-1].Addr != u.Addr {
			all = append(all, VersionSkew{Addr: u.Addr})
		}
		s := &all[len(all)-1]
		if len(s.Versions) > 0 {
			s.Lagging = append(s.Lagging, where.Of[u]...)
		}
		s.Versions = append(s.Versions, VersionUse{u.Version, where.Of[u]})
	}
	return all
}
