package upgrade

import (
	"cmp"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// witness is an old entry that tells of platforms by its h1 hashes.
type witness struct {
	*wanted
	old     lockfile.Lock
	release *provider.Release // what is offered of its version; nil if it is not
	h1      []provider.Hash
	stays   bool // the version does
	moves   bool // the new entry is made anew, so that what the old one covers is lost unless it is known
	lost    bool // it is of the side of a merge that does not count
}

// witnessOf is an old entry of a choice.
func witnessOf(c chosen, old lockfile.Lock) witness {
	w := witness{wanted: c.wanted, old: old, release: c.offered.release(old.Version), h1: h1(old.Hashes)}
	w.stays = old.Version == c.to
	w.moves = c.err == nil && !w.stays
	return w
}

// witnesses are the entries that tell of platforms: those with h1 hashes of a
// release that is still offered. The one with the most comes first; among equals
// one that does not cover all that its release serves, which was chosen, and one
// whose version stays, since its packages are wanted anyway. One whose platforms a
// rule names says nothing of the others. What a merge leaves of the two sides of
// an entry tells as well.
func witnesses(choices []chosen) []witness {
	var all []witness
	for _, c := range choices {
		if len(c.ownPlatforms) > 0 {
			continue
		}
		if w := witnessOf(c, c.old); c.isLock && len(w.h1) > 0 && w.release != nil {
			all = append(all, w)
		}
		for _, side := range c.sides {
			w := witnessOf(c, side)
			w.stays, w.moves, w.lost = false, true, true
			if side.Version != c.old.Version && len(w.h1) > 0 && w.release != nil {
				all = append(all, w)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b witness) int {
		return cmp.Or(cmp.Compare(len(b.h1), len(a.h1)), claim(a.full(), b.full()), claim(b.stays, a.stays))
	})
	return all
}

// full reports whether the entry may have an h1 for every platform of its release,
// as far as is known.
func (w witness) full() bool { return !w.release.Closed() || len(w.h1) == len(w.release.Platforms) }

func h1(hashes []provider.Hash) []provider.Hash {
	return slices.DeleteFunc(slices.Clone(hashes), func(h provider.Hash) bool { return h.Scheme() != provider.SchemeH1 })
}

// servedOf are the platforms that a release serves and, where that is not all
// that can be said, those that it may serve besides: a mirror says nothing.
func servedOf(r provider.Release, besides []provider.Platform) []provider.Platform {
	if r.Closed() {
		return r.Platforms
	}
	served := slices.Clone(r.Platforms)
	for _, p := range besides {
		if !slices.Contains(served, p) {
			served = append(served, p)
		}
	}
	return served
}

// likely are the platforms that most lock files cover, the most common first.
var likely = []provider.Platform{
	{OS: "linux", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}, {OS: "darwin", Arch: "amd64"},
	{OS: "linux", Arch: "arm64"}, {OS: "windows", Arch: "amd64"},
}

// candidates are the platforms that h1 hashes of the entry may belong to, in the
// order in which they are tried.
func (w witness) candidates() []provider.Platform {
	served := servedOf(*w.release, provider.KnownPlatforms)
	var candidates []provider.Platform
	for _, p := range slices.Concat(likely, served) {
		if slices.Contains(served, p) && !slices.Contains(candidates, p) {
			candidates = append(candidates, p)
		}
	}
	return candidates
}

// placed is what the packages of an entry's release tell of its h1 hashes.
type placed struct {
	entry   witness
	covered []provider.Platform
	answers []provider.Platform // whose packages are known, or known not to be
	left    int                 // h1 hashes that belong to none of these,
	unknown []provider.Platform // but perhaps to these, of which nothing is known
	err     error               // for this reason
	// before and lacking are what the entries that tell before this one cover, and do
	// without.
	before  []provider.Platform
	lacking map[provider.Platform]int
}

// place looks for the platform of each h1 of an entry. As many packages are
// asked about at once as hashes are left, since fewer cannot explain them; but
// first a single one, where OpenTofu's registry tells of all with it. An h1 that
// no package has belongs to nothing, if every package could be asked about. The
// platforms that are likely for what other entries cover come first. While there
// are packages to ask about, what is found is what is known so far.
func (w witness) place(known map[ask.Question]evidence, likely []provider.Platform) (found placed, next []ask.Question) {
	found.entry = w
	left := slices.Clone(w.h1)
	find := func(p provider.Platform, hashes ...provider.Hash) {
		before := len(left)
		left = slices.DeleteFunc(left, func(h provider.Hash) bool { return slices.Contains(hashes, h) })
		if len(left) < before {
			found.covered = append(found.covered, p)
		}
	}
	candidates := w.candidates()
	slices.SortStableFunc(candidates, func(a, b provider.Platform) int {
		return claim(slices.Contains(likely, b), slices.Contains(likely, a))
	})
	for _, p := range candidates {
		e, ok := known[w.key(w.old.Version, p)]
		if ok && (e.err == nil || problem.Coded(e.err, problem.CodeNoPackage)) {
			found.answers = append(found.answers, p)
		}
		switch {
		case !ok:
			next = append(next, w.key(w.old.Version, p))
		case e.err == nil:
			find(p, e.hashes.H1, e.hashes.H1Zip)
			for _, reported := range slices.SortedFunc(maps.Keys(e.hashes.Reported), provider.Platform.Compare) {
				find(reported, e.hashes.Reported[reported]...)
			}
		case !problem.Coded(e.err, problem.CodeNoPackage):
			found.unknown = append(found.unknown, p)
			found.err = cmp.Or(found.err, e.err)
		}
	}
	switch first := len(next) == len(candidates) && w.tool.Has(provider.RegistryHashes); {
	case len(left) == 0:
		return placed{entry: w, covered: found.covered}, nil
	case first:
		return found, next[:1]
	case len(next) > 0:
		return found, next[:min(len(next), len(left))]
	}
	found.left = len(left)
	return found, nil
}
