package upgrade

import (
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// recovery is what the platforms of a lock file are recovered from.
type recovery struct {
	witnesses []witness
	believed  map[provider.Addr]bool // what these cover is not to be proven
}

// mostProven is how many old packages a plan asks for at most to prove what the
// numbers of hashes say. It is enough for a root module or two; many root modules
// are seldom without what their last run has hashed.
const mostProven = 40

// next are the packages to ask about before more is known. All that is to be proven
// is asked for at once, since it mostly is what it is taken for. What is asked for a
// proof is noted; where that would be too much, the entry is taken at its number.
func (r recovery) next(known map[ask.Question]evidence, proofs map[ask.Question]bool) (asked []ask.Question) {
	meanwhile := recovery{r.witnesses, maps.Clone(r.believed)}
	for {
		found := meanwhile.read(known)
		if !found.proving {
			if len(asked) == 0 {
				return found.next
			}
			return asked // what else is to be asked, the proofs tell
		}
		further := slices.DeleteFunc(slices.Clone(found.next), func(k ask.Question) bool { return proofs[k] })
		addr := found.next[0].Want.Addr
		meanwhile.believed[addr] = true
		if len(proofs)+len(further) > mostProven {
			r.believed[addr] = true
			continue
		}
		for _, k := range further {
			proofs[k] = true
		}
		asked = append(asked, found.next...)
	}
}

// recovered is what is known so far of the platforms that a lock file covers.
type recovered struct {
	covered []provider.Platform // by the lock file, sorted
	own     map[provider.Addr][]provider.Platform
	proven  map[provider.Addr][]provider.Platform // what entries cover, as packages prove
	next    []ask.Question                        // the packages to ask about before more is known,
	proving bool                                  // to prove what is likely
	assumed []witness                             // whose platforms nothing proves
	// lacking says of platforms how many h1 hashes an entry has, at most, that does
	// without the platform though its release serves it.
	lacking map[provider.Platform]int
	chosen  bool     // some entry does not cover all that its release serves
	failed  []placed // entries of which a failure leaves something open
}

// read reads the entries that tell of platforms, as far as packages are known.
func (r recovery) read(known map[ask.Question]evidence) recovered {
	found := recovered{own: map[provider.Addr][]provider.Platform{}, proven: map[provider.Addr][]provider.Platform{}, lacking: map[provider.Platform]int{}}
	for _, w := range r.witnesses {
		// Where the platforms that are known give the entry as many h1 hashes as it has, or
		// more, it is likely to cover these. Its number says nothing where they were chosen by
		// nobody, but are all that some release serves, nor of fewer hashes that will be lost
		// since the entry is made anew. A source may not say what is served.
		expected := slices.DeleteFunc(slices.Clone(found.covered), func(p provider.Platform) bool { return !w.release.Serves(p) })
		loses := w.moves && (!w.release.Closed() || len(w.release.Platforms) > len(expected))
		all := len(w.h1) == len(expected)
		likely := !w.lost && len(w.h1) <= len(expected) && (!loses || all && found.chosen)
		if likely && all {
			found.note(w, expected)
		}
		if likely && !loses {
			continue
		}
		p, next := w.place(known, found.covered)
		// The number of an entry's hashes proves no more that it covers these platforms if
		// it does without one of them, or if a package of it could not be had.
		likely = likely && p.err == nil && !slices.ContainsFunc(p.answers, func(q provider.Platform) bool {
			return slices.Contains(found.covered, q) && !slices.Contains(p.covered, q)
		})
		switch {
		case next != nil && likely && r.believed[w.addr()]:
			found.assumed = append(found.assumed, w)
			continue
		case next != nil:
			return recovered{next: next, proving: likely}
		}
		found.proven[w.addr()] = slices.Concat(found.proven[w.addr()], p.covered)
		for _, q := range p.covered {
			switch {
			case slices.Contains(found.covered, q):
			case found.lacking[q] > 0 && !w.lost: // entries come in the order of their hashes
				found.own[w.addr()] = append(found.own[w.addr()], q)
			default:
				found.covered = append(found.covered, q)
			}
		}
		slices.SortFunc(found.covered, provider.Platform.Compare)
		if p.err != nil {
			p.before, p.lacking = slices.Clone(found.covered), maps.Clone(found.lacking)
			found.failed = append(found.failed, p)
		}
		found.note(w, slices.Concat(p.covered, p.unknown))
	}
	found.failed = slices.DeleteFunc(found.failed, found.harmless)
	return found
}

// harmless reports whether it does not matter what a failure leaves open: entries
// that tell before cover those platforms anyway, or another one does and the number
// of hashes says that this one does, too: all of them or, where no entry is made
// anew, as many as are left.
func (r *recovered) harmless(found placed) bool {
	among := func(covered []provider.Platform) int {
		return len(slices.DeleteFunc(slices.Clone(found.unknown), func(p provider.Platform) bool { return !slices.Contains(covered, p) }))
	}
	both := among(r.covered)
	switch {
	case found.entry.lost:
		return false
	case among(found.before) == len(found.unknown), found.left == both && both == len(found.unknown):
		return true
	}
	return r.chosen && found.left <= both && !found.entry.moves
}

// note remembers what an entry does without.
func (r *recovered) note(w witness, covered []provider.Platform) {
	for _, p := range w.candidates() {
		if !slices.Contains(covered, p) {
			r.lacking[p] = max(r.lacking[p], min(len(covered), len(w.h1)))
			r.chosen = r.chosen || !w.full()
		}
	}
}

// doubts say what cannot be decided where an entry does not tell what it covers:
// it may be platforms that no other tells of, and the new entries of others would
// lack them.
func (r recovered) doubts(choices []chosen) map[provider.Addr]error {
	doubts := map[provider.Addr]error{}
	asMany := func(count int) map[provider.Platform]int { // what entries of so many hashes do without
		lacking := maps.Clone(r.lacking)
		maps.DeleteFunc(lacking, func(_ provider.Platform, most int) bool { return most < count })
		return lacking
	}
	for _, c := range choices {
		w := witnessOf(c, c.old)
		if !c.isLock || len(c.ownPlatforms) > 0 || len(w.h1) == 0 || w.release != nil {
			continue
		}
		// The entry would tell of platforms, if what its registry offers were known,
		// or were what is locked: before others of fewer hashes.
		atLeast, silence := len(w.h1), c.unheard
		if silence == nil {
			silence = c.offered.methods.notOffered(c.addr(), c.old.Version)
		}
		if c.unheard == nil && len(r.covered) > 1 {
			// A version that is gone is as gone in the next run. Then any entry
			// can say what the lock file does without.
			atLeast = 1
		}
		r.doubt(placed{entry: w, unknown: provider.KnownPlatforms, before: r.covered, lacking: asMany(atLeast), err: silence}, choices, doubts)
	}
	for _, found := range r.failed {
		if found.entry.moves || found.entry.lost { // it fails, which tells: then any entry of as many hashes can tell instead
			found.before, found.lacking = r.covered, asMany(len(found.entry.h1))
		}
		r.doubt(found, choices, doubts)
	}
	return doubts
}

// doubt notes what one entry leaves open, and itself where it would lose what
// it covers. If it covers a platform that is open, that joins the others' unless an
// entry that tells before does without it; if not, that stays with those that have it.
// Where no two platforms are known for a failure, the default list must not join
// them as if there were no more. Nobody knows that of a single hash of which nothing
// was asked: it is taken to be that of the one platform that is known.
func (r recovered) doubt(found placed, choices []chosen, doubts map[provider.Addr]error) {
	several := len(found.entry.h1) > 1 || found.left > 0 && len(r.covered) == 1
	cut := len(r.covered) < 2 && several && !problem.Coded(found.err, problem.CodeLockedVersion)
	open := func(p provider.Platform) bool {
		return slices.Contains(found.unknown, p) && found.lacking[p] == 0 && !slices.Contains(found.before, p) ||
			cut && !slices.Contains(r.covered, p) && slices.Contains(provider.DefaultPlatforms, p)
	}
	for _, c := range choices {
		if c.err != nil || doubts[c.addr()] != nil || c.gone || len(c.ownPlatforms) > 0 {
			continue
		}
		loses := c.addr() == found.entry.addr() && (found.entry.moves || found.entry.lost)
		tells := func(p provider.Platform) bool { return !slices.Contains(r.proven[c.addr()], p) && open(p) }
		if loses || slices.ContainsFunc(servedOf(c.release, provider.KnownPlatforms), tells) {
			w := found.entry
			err := w.failure(problem.Of(found.err).Code, w.old.Version, "recovering the platforms of the lock file from %s %s", w.addr(), w.old.Version)
			err.Err, err.Problem.Hint = found.err, "try again; or name the platforms with --platform or the setting platforms, and no old package is asked for"
			doubts[c.addr()] = err
		}
	}
}
