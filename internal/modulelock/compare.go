package modulelock

import (
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/provider"
)

// Kind says what happened to an entry. The set is closed.
type Kind string

// The kinds.
const (
	Moved      Kind = "moved"      // the same version or ref with other content
	Removed    Kind = "removed"    // an entry that is gone
	Updated    Kind = "updated"    // another version or ref
	Repackaged Kind = "repackaged" // the same content in another repository
	Added      Kind = "added"      // an entry that was not there
	Switched   Kind = "switched"   // calls use another entry, by a change of others; Compare finds none
)

// Change is the difference of two entries of one address. If the entry was added or removed,
// one side is empty.
type Change struct {
	Address     string `json:"module"`
	Kind        Kind   `json:"kind"`
	From        string `json:"from"` // the versions or refs
	To          string `json:"to"`
	PackageFrom string `json:"package_from"`
	Package     string `json:"package"`
	HashFrom    string `json:"hash_from"`
	Hash        string `json:"hash"`
}

// Compare returns what changed between two files, sorted by address and version. If as many
// versions of an address are gone as have come, each replaces the one in its place.
func Compare(old, now *File) []Change {
	var changes []Change
	var gone []Entry
	for _, e := range old.Entries {
		n, stays := now.Entry(e.Key)
		switch {
		case !stays:
			gone = append(gone, e)
		case n.Hash != e.Hash:
			changes = append(changes, ChangeOf(Moved, e, n))
		case n.Package != e.Package:
			changes = append(changes, ChangeOf(Repackaged, e, n))
		}
	}
	came := collect.Those(now.Entries, func(e Entry) bool {
		_, was := old.Entry(e.Key)
		return !was
	})
	from, to := byAddress(gone), byAddress(came)
	for address, entries := range from {
		paired := len(entries) == len(to[address])
		for i, e := range entries {
			if paired {
				changes = append(changes, ChangeOf(Updated, e, to[address][i]))
			} else {
				changes = append(changes, ChangeOf(Removed, e, Entry{Key: Key{Address: address}}))
			}
		}
		if paired {
			delete(to, address)
		}
	}
	for address, entries := range to {
		for _, e := range entries {
			changes = append(changes, ChangeOf(Added, Entry{Key: Key{Address: address}}, e))
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return Key{a.Address, a.From + " " + a.To}.Compare(Key{b.Address, b.From + " " + b.To})
	})
	return changes
}

// Apply returns a file with the entries of another one after changes, as Compare returns them.
func Apply(old *File, changes []Change) *File {
	entries := map[Key]Entry{}
	for _, e := range old.Entries {
		entries[e.Key] = e
	}
	for _, c := range changes {
		if c.Kind == Updated || c.Kind == Removed {
			delete(entries, Key{c.Address, c.From})
		}
	}
	for _, c := range changes {
		if c.Kind != Switched && c.Kind != Removed {
			k := Key{c.Address, c.To}
			entries[k] = Entry{Key: k, Package: c.Package, Hash: c.Hash}
		}
	}
	return &File{Entries: slices.SortedFunc(maps.Values(entries), Entry.compare)}
}

// ChangeOf is the change from one entry to another one.
func ChangeOf(kind Kind, from, to Entry) Change {
	return Change{
		Address: to.Address, Kind: kind, From: from.Version, To: to.Version,
		PackageFrom: from.Package, Package: to.Package, HashFrom: from.Hash, Hash: to.Hash,
	}
}

// byAddress groups entries, each group by version.
func byAddress(entries []Entry) map[string][]Entry {
	groups := map[string][]Entry{}
	for _, e := range entries {
		groups[e.Address] = append(groups[e.Address], e)
	}
	for _, group := range groups {
		slices.SortFunc(group, func(a, b Entry) int {
			v, err := provider.ParseVersion(a.Version)
			w, wrong := provider.ParseVersion(b.Version)
			if err != nil || wrong != nil {
				return strings.Compare(a.Version, b.Version)
			}
			return v.Compare(w)
		})
	}
	return groups
}

// Upgrade returns the versions between which a module moves up; false for any other change.
// Those of a git source are the names of its tags.
func (c Change) Upgrade() (from, to provider.Version, ok bool) {
	from, old := provider.ParseVersion(strings.TrimPrefix(c.From, "v"))
	to, now := provider.ParseVersion(strings.TrimPrefix(c.To, "v"))
	return from, to, old == nil && now == nil && to.Compare(from) > 0
}
