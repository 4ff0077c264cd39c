package upgrade

import (
	"cmp"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// A lock file does not name its platforms: they are recovered by hashing the
// packages of locked versions and looking for the results among the h1 hashes of
// the entries.
//
// The entries of one lock file are taken to be made for the same platforms, and
// one that covers fewer to be made on fewer machines. So the entry with the most
// h1 hashes tells of all of them. Another one is asked about if it has more than
// those give it, and if it is about to lose its hashes, since its version moves: no
// platform that an entry covers may get lost unseen. What its release's packages
// hash to is known from the run that locked them, if the hash cache was kept. If it
// was not, mostProven old packages are downloaded where the number of hashes says
// that the platforms are those of the others; beyond that the number is believed
// while nothing speaks against it, and a warning says so.
//
// A platform that another entry evidently does without, though it covers no fewer
// and its release serves the platform, stays with the entries that have it.
//
// A failure is no answer. Another entry may tell instead; where none does, those
// stay as they are whose platforms the failure leaves open.

// coverage is which platforms the new entries of a root module must cover.
type coverage struct {
	Platforms // resolved: All or a List
	auto      bool
	// own are those that an old entry covers besides, and doubts why it is not known
	// what a new one must.
	own    map[provider.Addr][]provider.Platform
	doubts map[provider.Addr]error
	// assumed are the entries whose old platforms only the number of their hashes tells.
	assumed []witness
}

// choosePlatforms resolves "auto" for every root module.
func choosePlatforms(roots []root, choices [][]chosen, opts Options, ask asker) []coverage {
	covers := make([]coverage, len(roots))
	if opts.Platforms.All || len(opts.Platforms.List) > 0 {
		for i := range covers {
			covers[i].Platforms = opts.Platforms
		}
		return covers
	}
	// The source may remember what the packages of releases are that are left. It is
	// asked at once about those that new entries are made of, whatever the platforms.
	var releases []packageKey
	recoveries := make([]recovery, len(roots))
	for i := range roots {
		r := recovery{witnesses: witnesses(choices[i]), believed: map[provider.Addr]bool{}}
		// Where every entry has as many h1 hashes as its release serves platforms, the
		// lock file is meant to cover all of them.
		every, several := true, false
		for _, c := range choices[i] {
			if !c.isLock || len(c.ownPlatforms) > 0 || c.err != nil && c.unheard == nil {
				continue
			}
			w := witnessOf(c, c.old)
			every = every && w.release != nil && w.release.Closed() && len(w.h1) >= len(w.release.Platforms)
			several = several || w.release != nil && len(w.release.Platforms) > 1
		}
		r.all = every && several
		recoveries[i] = r
		for _, w := range r.witnesses {
			if !r.all && w.moves && !w.lost {
				releases = append(releases, w.key(w.old.Version, w.candidates()[0]))
			}
		}
		if len(r.witnesses) > 1 || len(r.witnesses) == 1 && r.witnesses[0].moves {
			releases = append(releases, certain(choices[i])...)
		}
	}
	known := ask.remembered(releases)
	proofs := map[packageKey]bool{}
	for {
		var asked []packageKey
		for _, r := range recoveries {
			asked = append(asked, r.next(known, proofs)...)
		}
		if len(asked) == 0 {
			break
		}
		maps.Copy(known, ask.packages(asked, nil))
	}
	for i, r := range recoveries {
		covers[i] = r.read(known).cover(choices[i])
	}
	return covers
}

// certain names a package of each release that a new entry is made of: the likeliest
// of those that the release is known to serve.
func certain(choices []chosen) (keys []packageKey) {
	for _, c := range choices {
		i := slices.IndexFunc(likely, func(p provider.Platform) bool { return slices.Contains(c.release.Platforms, p) })
		if c.err == nil && !c.gone && i >= 0 {
			keys = append(keys, c.key(c.to, likely[i]))
		}
	}
	return keys
}

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

// explained are those of the platforms that the locked release serves: as many
// h1 hashes of the entry belong to them. A source may not say what is served.
func (w witness) explained(platforms []provider.Platform) []provider.Platform {
	return slices.DeleteFunc(slices.Clone(platforms), func(p provider.Platform) bool { return !w.release.Serves(p) })
}

// loses reports whether the entry is made anew and may have had other platforms
// than these.
func (w witness) loses(covered []provider.Platform) bool {
	return w.moves && (!w.release.Closed() || len(w.release.Platforms) > len(w.explained(covered)))
}

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
func (w witness) place(known map[packageKey]evidence, likely []provider.Platform) (found placed, next []packageKey) {
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
		if ok && (e.err == nil || provider.Coded(e.err, provider.CodeNoPackage)) {
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
		case !provider.Coded(e.err, provider.CodeNoPackage):
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

// named are the platforms that are asked for by name; none where the release
// says which.
func (v coverage) named(w *wanted) []provider.Platform {
	own := v.own[w.addr()]
	switch {
	case len(w.ownPlatforms) > 0:
		return w.ownPlatforms
	case v.All:
		return nil
	case len(own) > 0:
		return slices.SortedFunc(slices.Values(slices.Concat(v.List, own)), provider.Platform.Compare)
	}
	return v.List
}

// complete reports whether the old entry has an h1 for every platform that is
// wanted, as far as their number tells: which of them an h1 belongs to, only the
// packages say. Where no other entry tells which platforms are meant, those of
// this one are, if they are more than one machine's.
func (v coverage) complete(w *wanted, old lockfile.Lock, choices []chosen) bool {
	count, platforms := len(h1(old.Hashes)), len(v.named(w))
	switch {
	case v.auto && len(w.ownPlatforms) == 0 && (platforms == 0 || len(witnesses(choices)) == 0):
		return count > 1
	case platforms == 0: // all that the release serves
		return false
	}
	return count >= platforms
}
