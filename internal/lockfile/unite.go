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
		e := entries{ours: ours.entry(addr), theirs: theirs.entry(addr), base: base.entry(addr), based: base != nil}
		switch l, agreed := e.agreed(); {
		case !agreed:
			united.Disputed[addr] = e.candidates()
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

// entries are the entries of one provider in the three files; nil where a file has none.
type entries struct {
	ours, theirs, base *Lock
	based              bool // the base is known
}

// agreed returns the entry that needs no decision, nil if it must go.
func (e entries) agreed() (l *Lock, ok bool) {
	switch {
	case same(e.ours, e.theirs):
		agreed := *e.ours
		if !bytes.Equal(agreed.source, e.theirs.source) {
			agreed.source = nil // its text may have markers in it
		}
		return &agreed, true
	case e.based && same(e.theirs, e.base):
		return withoutSource(e.ours), true
	case e.based && same(e.ours, e.base):
		return withoutSource(e.theirs), true
	case e.ours == nil:
		return withoutSource(e.theirs), true
	case e.theirs == nil:
		return withoutSource(e.ours), true
	case e.ours.Version == e.theirs.Version && slices.Equal(e.ours.Hashes, e.theirs.Hashes):
		agreed := *withoutSource(e.ours)
		agreed.Constraints = e.terms(agreed, agreed)
		return &agreed, true
	}
	return nil, false
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
func (e entries) candidates() []Lock {
	first, second := *withoutSource(e.ours), *withoutSource(e.theirs)
	if first.Version == second.Version {
		first.Hashes = provider.Sorted(slices.Concat(first.Hashes, second.Hashes))
		first.places = hashPlaces{at: map[provider.Hash]hashPlace{}}
		for _, h := range first.Hashes {
			first.places.at[h] = cmp.Or(e.ours.places.of(h), e.theirs.places.of(h))
		}
		first.Constraints = e.terms(first, first)
		return []Lock{first}
	}
	shared := func(h provider.Hash) bool {
		return slices.Contains(e.ours.Hashes, h) && slices.Contains(e.theirs.Hashes, h)
	}
	first.Hashes = slices.DeleteFunc(slices.Clone(first.Hashes), shared)
	second.Hashes = slices.DeleteFunc(slices.Clone(second.Hashes), shared)
	preferSecond := e.theirs.Version.Compare(e.ours.Version) > 0
	if e.base != nil && (e.base.Version == e.ours.Version || e.base.Version == e.theirs.Version) {
		preferSecond = e.base.Version == e.ours.Version
	}
	if preferSecond {
		first, second = second, first
	}
	first.Constraints = e.terms(first, second)
	second.Constraints = first.Constraints
	return []Lock{first, second}
}

// terms are the constraints that the configuration probably states after the merge: those
// that both sides record, and those that one side has added, without those that one side
// has removed. If they allow neither version, they are the constraints of the preferred
// entry.
func (e entries) terms(first, second Lock) provider.Constraints {
	var known []provider.Term
	if e.base != nil {
		known = e.base.Constraints.Terms()
	}
	var terms []provider.Term
	ours, theirs := e.ours.Constraints.Terms(), e.theirs.Constraints.Terms()
	for _, t := range slices.Concat(ours, theirs) {
		if slices.Contains(ours, t) && slices.Contains(theirs, t) || !slices.Contains(known, t) {
			terms = append(terms, t)
		}
	}
	merged := provider.NewConstraints(terms...)
	if !merged.Allows(first.Version) && !merged.Allows(second.Version) {
		return first.Constraints
	}
	return merged
}
