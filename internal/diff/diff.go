package diff

import (
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// Locks returns what changed between the entries of two lock files, one change
// for each provider, sorted by address. Entries that record the same facts are
// left out. known says which platform a hash belongs to, and may be nil.
//
// Within one version an entry is
//   - ReReleased if both sides have zh hashes and share none: since a zh
//     identifies an archive, every archive was replaced;
//   - else Completed if it gained hashes, whatever it lost besides;
//   - else Constrained if its constraints changed;
//   - else Normalised: it only lost hashes, surplus ones that were dropped.
func Locks(before, after []lockfile.Lock, known map[provider.Hash]provider.Platform) []Change {
	was, is := byAddr(before), byAddr(after)
	var changes []Change
	for addr, l := range is {
		from := origin(addr, was, is)
		changes = appendReal(changes, compare(was[from], l, known))
		delete(was, from)
	}
	for _, l := range was {
		changes = append(changes, compare(l, lockfile.Lock{}, known))
	}
	slices.SortFunc(changes, func(a, b Change) int { return a.Addr.Compare(b.Addr) })
	return changes
}

// Rewritten returns the changes of a lock file that gets other bytes though
// Locks finds none: each entry is Normalised.
func Rewritten(locks []lockfile.Lock) []Change {
	changes := make([]Change, len(locks))
	for i, l := range locks {
		changes[i] = compare(l, l, nil)
		changes[i].Kind = Normalised
	}
	return changes
}

func byAddr(locks []lockfile.Lock) map[provider.Addr]lockfile.Lock {
	m := make(map[provider.Addr]lockfile.Lock, len(locks))
	for _, l := range locks {
		m[l.Addr] = l
	}
	return m
}

// origin returns the address of the old entry that became the new one of addr; the
// zero address if it has none. That is addr itself or, if the tools' public registries
// were exchanged, its twin there. The twin must go as addr comes. Otherwise both are
// required, and neither replaced the other.
func origin(addr provider.Addr, was, is map[provider.Addr]lockfile.Lock) provider.Addr {
	if _, stays := was[addr]; stays {
		return addr
	}
	twin, ok := addr.Twin()
	if _, stays := is[twin]; !ok || stays {
		return provider.Addr{}
	}
	return twin
}

func appendReal(changes []Change, c Change) []Change {
	if c.Kind == "" {
		return changes
	}
	return append(changes, c)
}

// compare describes the change from one entry to another, of which one may be
// missing. The kind is empty if both record the same facts.
func compare(before, after lockfile.Lock, known map[provider.Hash]provider.Platform) Change {
	c := Change{
		Addr: after.Addr,
		From: before.Version, To: after.Version,
		ConstraintsFrom: before.Constraints, ConstraintsTo: after.Constraints,
		HashesAdded:   without(after.Hashes, before.Hashes),
		HashesRemoved: without(before.Hashes, after.Hashes),
	}
	c.Platforms = platforms(c.HashesAdded, known)
	none := provider.Addr{}
	switch {
	case before.Addr == none:
		c.Kind = Added
		return c
	case after.Addr == none:
		c.Addr, c.Kind = before.Addr, Removed
		return c
	}
	c.Bump = provider.BumpBetween(before.Version, after.Version)
	switch order := after.Version.Compare(before.Version); {
	case before.Addr != after.Addr:
		c.Kind, c.AddrFrom = Moved, before.Addr
	case order > 0:
		c.Kind = Upgraded
	case order < 0:
		c.Kind = Downgraded
	default:
		c.Kind = c.within(before.Hashes, after.Hashes)
	}
	return c
}

// within is the kind of a change that leaves the version as it was.
func (c Change) within(before, after []provider.Hash) Kind {
	switch {
	case replaced(archives(before), archives(after)):
		return ReReleased
	case len(c.HashesAdded) > 0:
		return Completed
	case !c.ConstraintsFrom.Equal(c.ConstraintsTo):
		return Constrained
	case len(c.HashesRemoved) > 0:
		return Normalised
	}
	return ""
}

// replaced reports whether both lists have elements and share none.
func replaced(before, after []provider.Hash) bool {
	return len(before) > 0 && len(after) > 0 && len(without(before, after)) == len(before)
}

// archives returns the hashes that identify a zip archive.
func archives(hashes []provider.Hash) []provider.Hash {
	return filter(hashes, func(h provider.Hash) bool { return h.Scheme() == provider.SchemeZH })
}

// without returns the elements of a sorted list that another one lacks.
func without(hashes, other []provider.Hash) []provider.Hash {
	return filter(hashes, func(h provider.Hash) bool {
		_, found := slices.BinarySearch(other, h)
		return !found
	})
}

func filter(hashes []provider.Hash, keep func(provider.Hash) bool) []provider.Hash {
	var kept []provider.Hash
	for _, h := range hashes {
		if keep(h) {
			kept = append(kept, h)
		}
	}
	return kept
}

// platforms returns the known platforms of the hashes, each once.
func platforms(hashes []provider.Hash, known map[provider.Hash]provider.Platform) []provider.Platform {
	var found []provider.Platform
	for _, h := range hashes {
		if p, ok := known[h]; ok {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, provider.Platform.Compare)
	return slices.Compact(found)
}
