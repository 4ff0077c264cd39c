package coverage

import (
	"cmp"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// witness is an old entry whose h1 hashes show platforms of the lock file.
type witness struct {
	old   Locked
	tool  provider.Tool
	addr  provider.Addr
	stays bool // its version stays
	moves bool // a new entry replaces it, so an unknown platform would be lost
	side  bool // it is from the side of a merge that does not count
}

// witnessOf makes a witness of an old entry.
func (f LockFile) witnessOf(e Renewal, old Locked) witness {
	stays := old.Version == e.New.Version
	return witness{old: old, tool: f.Tool, addr: e.Addr, stays: stays, moves: !e.Failed && !stays}
}

// witnesses are the entries that show platforms: those with h1 hashes of a release that is
// still offered. The other side of a merge is a witness, too. An entry whose platforms a
// rule names is none. The order is:
//
//   - The entry with the most hashes comes first.
//   - Among equals, an entry that lacks a platform of its release: its platforms were selected.
//   - Then an entry whose version stays, since its packages are needed anyway.
func (f LockFile) witnesses() []witness {
	var all []witness
	for _, e := range collect.Those(f.Renewals, func(e Renewal) bool { return len(e.ByRule) == 0 }) {
		if e.InLock {
			all = append(all, f.witnessOf(e, e.Old))
		}
		for _, side := range e.Sides {
			if side.Version != e.Old.Version {
				all = append(all, witness{old: side, tool: f.Tool, addr: e.Addr, moves: true, side: true})
			}
		}
	}
	all = collect.Those(all, func(w witness) bool { return w.old.speaks() })
	slices.SortStableFunc(all, func(a, b witness) int {
		return cmp.Or(cmp.Compare(len(b.old.H1), len(a.old.H1)), collect.TrueFirst(!a.old.full(), !b.old.full()), collect.TrueFirst(a.stays, b.stays))
	})
	return all
}

// Tells reports whether an entry of the lock file shows platforms.
func (f LockFile) Tells() bool { return len(f.witnesses()) > 0 }

// speaks reports whether the entry has h1 hashes of a release that is offered.
func (l Locked) speaks() bool { return len(l.H1) > 0 && l.Release != nil }

// full reports whether the entry may have an h1 for every platform of its release, as far
// as known.
func (l Locked) full() bool {
	return !l.Release.Closed() || len(l.H1) == len(l.Release.Platforms)
}

// common are the platforms that most lock files cover, the most common first.
var common = []provider.Platform{
	{OS: "linux", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}, {OS: "darwin", Arch: "amd64"},
	{OS: "linux", Arch: "arm64"}, {OS: "windows", Arch: "amd64"},
}

// candidates are the platforms that the entry's h1 hashes may belong to, in the order of
// trying.
func (l Locked) candidates() []provider.Platform {
	served := servedOf(*l.Release, provider.KnownPlatforms)
	var candidates []provider.Platform
	for _, p := range slices.Concat(common, served) {
		if slices.Contains(served, p) && !slices.Contains(candidates, p) {
			candidates = append(candidates, p)
		}
	}
	return candidates
}

// of is the question about a package of the entry's release.
func (w witness) of(p provider.Platform) ask.Question {
	return ask.Question{Tool: w.tool, Want: provider.Want{Addr: w.addr, Version: w.old.Version, Platform: p}}
}

// placed says which platforms an entry's h1 hashes belong to, according to the packages of
// its release.
type placed struct {
	entry    witness
	covers   []provider.Platform
	answered []provider.Platform // their packages are known, or known not to exist
	left     int                 // the number of h1 hashes that belong to none of these
	unknown  []provider.Platform // the platforms whose packages could not be asked about
	err      error               // why they could not
	// before and gaps are the platforms that the earlier witnesses cover, and lack.
	before []provider.Platform
	gaps   gaps
}

// place looks for the platform of each h1 of an entry. next are the packages to ask about
// before found is final: as many as hashes are left, because fewer cannot explain them. For
// OpenTofu it starts with one package: the registry's answer may have the hashes of all.
// The platforms of earlier witnesses are tried first. If every package was asked about, an
// h1 that no package has belongs to nothing.
func (w witness) place(known map[ask.Question]Evidence, covered []provider.Platform) (found placed, next []ask.Question) {
	found.entry = w
	left := slices.Clone(w.old.H1)
	find := func(p provider.Platform, hashes ...provider.Hash) {
		before := len(left)
		left = slices.DeleteFunc(left, func(h provider.Hash) bool { return slices.Contains(hashes, h) })
		if len(left) < before {
			found.covers = append(found.covers, p)
		}
	}
	candidates := w.old.candidates()
	slices.SortStableFunc(candidates, func(a, b provider.Platform) int {
		return collect.TrueFirst(slices.Contains(covered, a), slices.Contains(covered, b))
	})
	for _, p := range candidates {
		e, ok := known[w.of(p)]
		none := problem.Coded(e.Err, problem.CodeNoPackage)
		if ok && (e.Err == nil || none) {
			found.answered = append(found.answered, p)
		}
		switch {
		case !ok:
			next = append(next, w.of(p))
		case e.Err == nil:
			find(p, e.Hashes.Sum.H1, e.Hashes.Sum.H1Zip)
			for _, reported := range slices.SortedFunc(maps.Keys(e.Hashes.Reported), provider.Platform.Compare) {
				find(reported, e.Hashes.Reported[reported]...)
			}
		case !none:
			found.unknown = append(found.unknown, p)
			found.err = cmp.Or(found.err, e.Err)
		}
	}
	switch first := len(next) == len(candidates) && w.tool.Has(provider.RegistryHashes); {
	case len(left) == 0:
		return placed{entry: w, covers: found.covers}, nil
	case first:
		return found, next[:1]
	case len(next) > 0:
		return found, next[:min(len(next), len(left))]
	}
	found.left = len(left)
	return found, nil
}

// contradicts reports whether the entry lacks a platform that earlier entries cover, or a
// package of its release is not available.
func (p placed) contradicts(covered []provider.Platform) bool {
	return p.err != nil || slices.ContainsFunc(p.answered, func(q provider.Platform) bool {
		return slices.Contains(covered, q) && !slices.Contains(p.covers, q)
	})
}
