package coverage

import (
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/provider"
)

// mostProofs is how many old packages a plan requests at most to prove its guesses from
// numbers of hashes. It is enough for one or two root modules. A repository with many
// usually still has the hash cache of its last run.
const mostProofs = 40

// Recovery recovers the platforms of the lock files of a plan.
type Recovery struct {
	files  []recovery
	proofs map[ask.Question]bool // requested as proofs
}

// recovery recovers the platforms of one lock file.
type recovery struct {
	file       LockFile
	witnesses  []witness
	everywhere bool // it covers all platforms of its releases, so no question is needed
	table      []numberRow
	assumed    map[provider.Addr]bool // the entries whose numbers need no proof
}

// Recover starts to recover the platforms of lock files.
func Recover(files []LockFile) *Recovery {
	r := &Recovery{proofs: map[ask.Question]bool{}}
	for _, f := range files {
		r.files = append(r.files, recovery{f, f.witnesses(), f.everywhere(), numberTable, map[provider.Addr]bool{}})
	}
	return r
}

// everywhere reports whether the lock file covers all platforms that its releases serve:
// every entry has as many h1 hashes as its release has platforms.
func (f LockFile) everywhere() bool {
	compared := collect.Those(f.Renewals, func(e Renewal) bool {
		return e.InLock && len(e.ByRule) == 0 && (!e.Failed || e.Unheard != nil)
	})
	less := func(e Renewal) bool {
		return e.Old.Release == nil || !e.Old.Release.Closed() || len(e.Old.H1) < len(e.Old.Release.Platforms)
	}
	several := func(e Renewal) bool { return len(e.Old.Release.Platforms) > 1 }
	return !slices.ContainsFunc(compared, less) && slices.ContainsFunc(compared, several)
}

// Releases names one package of each release whose remembered packages help, if the source
// knows them without a download. These are releases that entries leave and releases of new
// entries.
func (r *Recovery) Releases() []ask.Question {
	var releases []ask.Question
	for _, f := range r.files {
		releases = append(append(releases, f.left()...), f.taken()...)
	}
	return releases
}

// left names one package of each release that an entry leaves and that must be read.
func (r recovery) left() []ask.Question {
	if r.everywhere {
		return nil
	}
	leaving := collect.Those(r.witnesses, func(w witness) bool { return w.moves && !w.side })
	return collect.Mapped(leaving, func(w witness) ask.Question { return w.of(w.old.candidates()[0]) })
}

// taken names one package of each release of a new entry, if old entries must be compared.
// Its platform is the most common one that the release is known to serve.
func (r recovery) taken() (packages []ask.Question) {
	if len(r.witnesses) == 0 || len(r.witnesses) == 1 && !r.witnesses[0].moves {
		return nil
	}
	for _, e := range r.file.Renewals {
		i := slices.IndexFunc(common, func(p provider.Platform) bool { return slices.Contains(e.New.Platforms, p) })
		if i >= 0 && !e.Failed && !e.Gone {
			packages = append(packages, ask.Question{Tool: r.file.Tool, Want: provider.Want{Addr: e.Addr, Version: e.New.Version, Platform: common[i]}})
		}
	}
	return packages
}

// Next names the packages to ask about now. It is empty if enough is known.
func (r *Recovery) Next(known map[ask.Question]Evidence) []ask.Question {
	var asked []ask.Question
	for _, f := range r.files {
		if !f.everywhere {
			asked = append(asked, f.next(known, r.proofs)...)
		}
	}
	return asked
}

// Covers says what the new entries of each lock file must cover. Call it when Next is
// empty.
func (r *Recovery) Covers(known map[ask.Question]Evidence) []Cover {
	covers := make([]Cover, len(r.files))
	for i, f := range r.files {
		covers[i] = f.cover(known)
	}
	return covers
}

// cover says what the new entries of the lock file must cover.
func (r recovery) cover(known map[ask.Question]Evidence) Cover {
	if r.everywhere {
		c := Cover{all: true, auto: true, own: map[provider.Addr][]provider.Platform{}}
		for _, e := range r.file.Renewals {
			if e.InLock && e.Old.Release != nil {
				c.own[e.Addr] = e.Old.Release.Platforms // a platform that the new release lacks is then reported as missing
			}
		}
		return c
	}
	found := r.read(known)
	list := found.covered
	withdrawn := collect.Those(r.file.Renewals, Renewal.withdrawn)
	if len(list) < 2 || slices.ContainsFunc(withdrawn, func(e Renewal) bool { return len(e.Old.H1) > len(found.covered) }) {
		// A single platform is probably the machine of the person who last ran init. Nobody
		// selected it, so the default list is added. The same if an entry had more platforms,
		// and its release is withdrawn.
		list = withOthers(provider.DefaultPlatforms, list)
		slices.SortFunc(list, provider.Platform.Compare)
	}
	c := Cover{List: list, auto: true, own: found.own, doubts: found.doubts(r.file)}
	for _, e := range withdrawn {
		if !e.Failed && !e.Gone {
			c.Withdrawn = append(c.Withdrawn, provider.Want{Addr: e.Addr, Version: e.Old.Version})
		}
	}
	for _, w := range found.assumed {
		c.Assumed = append(c.Assumed, provider.Want{Addr: w.addr, Version: w.old.Version})
	}
	return c
}

// next are the packages to ask about now. Packages for all proofs are requested together,
// as most guesses are right. proofs notes them. If they would be too many, the number of
// the entry's hashes is taken as proof.
func (r recovery) next(known map[ask.Question]Evidence, proofs map[ask.Question]bool) (asked []ask.Question) {
	meanwhile := r
	meanwhile.assumed = maps.Clone(r.assumed)
	for {
		found := meanwhile.read(known)
		if !found.proving {
			if len(asked) == 0 {
				return found.next
			}
			return asked // the proofs say what else is needed
		}
		further := collect.Those(found.next, func(k ask.Question) bool { return !proofs[k] })
		addr := found.next[0].Want.Addr
		meanwhile.assumed[addr] = true
		if len(proofs)+len(further) > mostProofs {
			r.assumed[addr] = true
			continue
		}
		for _, k := range further {
			proofs[k] = true
		}
		asked = append(asked, found.next...)
	}
}

// recovered is the current knowledge about the platforms of a lock file.
type recovered struct {
	covered []provider.Platform // the platforms of the lock file, sorted
	own     map[provider.Addr][]provider.Platform
	shown   map[provider.Addr][]provider.Platform // the platforms of entries, as packages show them
	next    []ask.Question                        // the packages to ask about now
	proving bool                                  // next proves a guess
	assumed []witness                             // the entries whose platforms nothing proves
	gaps    gaps
	// selected says that some entry lacks a platform that its release serves.
	selected bool
	failed   []placed // the entries with a failure that hides something
}

// gaps has the platforms that an entry lacks although its release serves them, with the
// number of the entry's h1 hashes. If several entries lack one, it is the greatest number.
type gaps map[provider.Platform]int

// read reads the witnesses in order, as far as their packages are known.
func (r recovery) read(known map[ask.Question]Evidence) recovered {
	found := recovered{own: map[provider.Addr][]provider.Platform{}, shown: map[provider.Addr][]provider.Platform{}, gaps: gaps{}}
	for _, w := range r.witnesses {
		expected := collect.Those(found.covered, w.old.Release.Serves)
		says := verdictOf(r.table, numberOf(w, expected, found.selected))
		if says == agrees || says == provable {
			found.note(w, expected)
		}
		if says == agrees || says == silent {
			continue
		}
		p, next := w.place(known, found.covered)
		likely := says == provable && !p.contradicts(found.covered)
		switch {
		case next != nil && likely && r.assumed[w.addr]:
			found.assumed = append(found.assumed, w)
			continue
		case next != nil:
			return recovered{next: next, proving: likely}
		}
		found.add(p)
	}
	found.failed = slices.DeleteFunc(found.failed, found.harmless)
	return found
}

// add adds the platforms of an entry, as its packages show them. Witnesses are sorted by
// the number of hashes. If an earlier one lacks a platform, the platform belongs to this
// entry alone.
func (r *recovered) add(p placed) {
	w := p.entry
	r.shown[w.addr] = slices.Concat(r.shown[w.addr], p.covers)
	for _, q := range p.covers {
		switch {
		case slices.Contains(r.covered, q):
		case r.gaps[q] > 0 && !w.side:
			r.own[w.addr] = append(r.own[w.addr], q)
		default:
			r.covered = append(r.covered, q)
		}
	}
	slices.SortFunc(r.covered, provider.Platform.Compare)
	if p.err != nil {
		p.before, p.gaps = slices.Clone(r.covered), maps.Clone(r.gaps)
		r.failed = append(r.failed, p)
	}
	r.note(w, slices.Concat(p.covers, p.unknown))
}

// note records the platforms that an entry lacks.
func (r *recovered) note(w witness, covered []provider.Platform) {
	for _, p := range w.old.candidates() {
		if !slices.Contains(covered, p) {
			r.gaps[p] = max(r.gaps[p], min(len(covered), len(w.old.H1)))
			r.selected = r.selected || !w.old.full()
		}
	}
}
