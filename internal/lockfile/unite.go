package lockfile

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// unite makes one file of the two sides of a merge. base is their common base, nil if it is
// not known. The rules for each entry:
//
//   - Both sides have the same entry: it stays.
//   - Only one side differs from the known base: that side counts, also if it removed the entry.
//   - Only one side has the entry, and the base does not explain why: it stays. An extra
//     entry does no harm, but a missing one stops the tools.
//   - Only the constraints differ: they are merged.
//   - All other differences are disputed.
func unite(base, ours, theirs *File) *File {
	united := &File{Tool: unitedTool(base, ours, theirs), Disputed: map[provider.Addr][]Lock{}}
	united.Keeper, united.Warnings = ours.Keeper, ours.Warnings
	if len(united.Warnings) == 0 {
		united.Warnings = theirs.Warnings
	}
	addrs := map[provider.Addr]bool{}
	for _, l := range slices.Concat(ours.Locks, theirs.Locks) {
		addrs[l.Addr] = true
	}
	for addr := range addrs {
		e := entries{Ours: ours.entry(addr), Theirs: theirs.entry(addr), Base: base.entry(addr), Based: base != nil}
		switch l, ok := agreed(e); {
		case !ok:
			united.Disputed[addr] = candidates(e)
			united.Locks = append(united.Locks, united.Disputed[addr][0])
		case l != nil:
			united.Locks = append(united.Locks, *l)
		}
	}
	slices.SortFunc(united.Locks, Lock.Compare)
	return united
}

// unitedTool is the tool of the header. If the sides differ, it is the tool of the side
// that changed it. If that is not known, it is empty, and other signs decide.
func unitedTool(base, ours, theirs *File) provider.ToolName {
	switch {
	case ours.Tool == theirs.Tool, base != nil && theirs.Tool == base.Tool:
		return ours.Tool
	case base != nil && ours.Tool == base.Tool:
		return theirs.Tool
	}
	return ""
}

// Versions are the entries of one name in the three files of a merge; nil where a file has
// none.
type Versions[E any] struct {
	Ours, Theirs, Base *E
	Based              bool // the base is known
}

// Agreed returns the entry that needs no decision, nil if it must go.
func (v Versions[E]) Agreed(same func(a, b *E) bool) (entry *E, ok bool) {
	switch {
	case same(v.Ours, v.Theirs), v.Based && same(v.Theirs, v.Base):
		return v.Ours, true
	case v.Based && same(v.Ours, v.Base), v.Ours == nil:
		return v.Theirs, true
	case v.Theirs == nil:
		return v.Ours, true
	}
	return nil, false
}

// entries are those of one provider.
type entries = Versions[Lock]

// agreed is Agreed, and merges constraints.
func agreed(e entries) (l *Lock, ok bool) {
	if same(e.Ours, e.Theirs) && bytes.Equal(e.Ours.source, e.Theirs.source) {
		return e.Ours, true // another text may have markers in it
	}
	if l, ok := e.Agreed(same); ok {
		return withoutSource(l), true
	}
	if e.Ours.Version != e.Theirs.Version || !slices.Equal(e.Ours.Hashes, e.Theirs.Hashes) {
		return nil, false
	}
	l = withoutSource(e.Ours)
	l.Constraints = terms(e, *l, *l)
	return l, true
}

func same(a, b *Lock) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// withoutSource is an entry that prints in normal form even if it is Kept: in the file its
// lines may be separated.
func withoutSource(l *Lock) *Lock {
	if l == nil {
		return nil
	}
	bare := *l
	bare.source = nil
	return &bare
}

// candidates are the entries that may replace two that differ, the preferred one first, one
// for each version. If only one side has moved the version, up or down, that side is
// preferred. Otherwise the newer version is: a version goes down only if somebody asks for
// it.
//
// The hashes of a version are those of the sides that have it. A hash under two versions
// belongs to at most one. If git has mixed the lines of both sides, nothing shows which
// one, so neither gets it.
func candidates(e entries) []Lock {
	first, second := *withoutSource(e.Ours), *withoutSource(e.Theirs)
	if first.Version == second.Version {
		first.Hashes = provider.Sorted(slices.Concat(first.Hashes, second.Hashes))
		first.places = hashPlaces{at: map[provider.Hash]hashPlace{}}
		for _, h := range first.Hashes {
			first.places.at[h] = cmp.Or(e.Ours.places.of(h), e.Theirs.places.of(h))
		}
		first.Constraints = terms(e, first, first)
		return []Lock{first}
	}
	shared := func(h provider.Hash) bool {
		return slices.Contains(e.Ours.Hashes, h) && slices.Contains(e.Theirs.Hashes, h)
	}
	first.Hashes = slices.DeleteFunc(slices.Clone(first.Hashes), shared)
	second.Hashes = slices.DeleteFunc(slices.Clone(second.Hashes), shared)
	preferSecond := e.Theirs.Version.Compare(e.Ours.Version) > 0
	if e.Base != nil && (e.Base.Version == e.Ours.Version || e.Base.Version == e.Theirs.Version) {
		preferSecond = e.Base.Version == e.Ours.Version
	}
	if preferSecond {
		first, second = second, first
	}
	first.Constraints = terms(e, first, second)
	second.Constraints = first.Constraints
	return []Lock{first, second}
}

// terms are the constraints that the configuration probably states after the merge: those
// that both sides record, and those that one side has added, without those that one side
// has removed. If they allow neither version, they are the constraints of the preferred
// entry.
func terms(e entries, first, second Lock) provider.Constraints {
	var known []provider.Term
	if e.Base != nil {
		known = e.Base.Constraints.Terms()
	}
	var merging []provider.Term
	ours, theirs := e.Ours.Constraints.Terms(), e.Theirs.Constraints.Terms()
	for _, t := range slices.Concat(ours, theirs) {
		if slices.Contains(ours, t) && slices.Contains(theirs, t) || !slices.Contains(known, t) {
			merging = append(merging, t)
		}
	}
	merged := provider.NewConstraints(merging...)
	if !merged.Allows(first.Version) && !merged.Allows(second.Version) {
		return first.Constraints
	}
	return merged
}
