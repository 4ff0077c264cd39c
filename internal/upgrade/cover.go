package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

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

// choosePlatforms resolves "auto" for every draft.
func choosePlatforms(drafts []*draft, opts Options, ask asker) {
	if opts.Platforms.All || len(opts.Platforms.List) > 0 {
		for _, d := range drafts {
			d.platforms = opts.Platforms
		}
		return
	}
	// Where more than one entry may tell, the source may remember what the packages
	// of releases are that are left.
	var left []packageKey
	for _, d := range drafts {
		if telling := d.telling(); len(telling) > 1 && !d.coversAll() {
			for _, c := range telling {
				if c.moves() && !c.lost {
					left = append(left, d.key(c, c.From, c.candidates()[0]))
				}
			}
		}
	}
	known := ask.remembered(left)
	proofs := map[packageKey]bool{}
	for {
		var asked []packageKey
		for _, d := range drafts {
			asked = append(asked, d.next(known, proofs)...)
		}
		if len(asked) == 0 {
			break
		}
		maps.Copy(known, ask.packages(asked))
	}
	for _, d := range drafts {
		d.decide(d.recover(known))
	}
}

// mostProven is how many old packages a plan asks for at most to prove what the
// numbers of hashes say. It is enough for a root module or two; many root modules
// are seldom without what their last run has hashed.
const mostProven = 40

// next are the packages to ask about before more is known. What is asked for a
// proof is noted; where that would be too much, the entry is taken at its number.
func (d *draft) next(known map[packageKey]evidence, proofs map[packageKey]bool) []packageKey {
	r := d.recover(known)
	for r.proving != nil {
		further := slices.DeleteFunc(slices.Clone(r.next), func(k packageKey) bool { return proofs[k] })
		if len(proofs)+len(further) <= mostProven {
			for _, k := range further {
				proofs[k] = true
			}
			break
		}
		r.proving.assumed = true
		r = d.recover(known)
	}
	return r.next
}

// recovered is what is known so far of the platforms that a lock file covers.
type recovered struct {
	all     bool                // the entries cover whatever their releases serve
	covered []provider.Platform // by the lock file, sorted
	own     map[*choice][]provider.Platform
	next    []packageKey // the packages to ask about before more is known,
	proving *choice      // to prove what is likely of this one
	assumed []*choice    // whose platforms nothing proves
	// lacking says of platforms how many h1 hashes an entry has, at most, that does
	// without the platform though its release serves it.
	lacking map[provider.Platform]int
	chosen  bool     // some entry does not cover all that its release serves
	failed  []placed // entries of which a failure leaves something open
}

// recover reads the entries that tell of platforms, as far as packages are known.
func (d *draft) recover(known map[packageKey]evidence) recovered {
	if d.coversAll() {
		return recovered{all: true}
	}
	r := recovered{own: map[*choice][]provider.Platform{}, lacking: map[provider.Platform]int{}}
	for _, c := range d.telling() {
		likely := r.explains(c)
		if likely && !c.loses(r.covered) {
			continue
		}
		found, next := d.place(c, known, r.covered)
		likely = likely && !found.refutes(r.covered)
		switch {
		case next == nil:
			r.join(c, found)
		case likely && c.assumed:
			r.assumed = append(r.assumed, c)
		case likely:
			return recovered{next: next, proving: c}
		default:
			return recovered{next: next}
		}
	}
	r.failed = slices.DeleteFunc(r.failed, r.harmless)
	return r
}

// explains reports whether the platforms that are known give an entry as many h1
// hashes as it has, or more. That says nothing where they were chosen by nobody,
// but are all that some release serves, nor of fewer hashes that will be lost.
func (r *recovered) explains(c *choice) bool {
	expected, count := c.explained(r.covered), countH1(c)
	switch {
	case c.lost || count > len(expected):
		return false
	case c.loses(r.covered) && (count < len(expected) || !r.chosen):
		return false
	case count == len(expected):
		r.note(c, expected)
	}
	return true
}

// loses reports whether the entry is made anew and may have had other platforms
// than these.
func (c *choice) loses(covered []provider.Platform) bool {
	r := c.offered.release(c.From)
	return c.moves() && (!r.Closed() || len(r.Platforms) > len(c.explained(covered)))
}

// harmless reports whether it does not matter what a failure leaves open: the new
// entries will have those platforms anyway, or no entry is made anew and the
// number of its hashes says that they are those of the others.
func (r *recovered) harmless(found placed) bool {
	both := slices.DeleteFunc(slices.Clone(found.unknown), func(p provider.Platform) bool { return !slices.Contains(r.covered, p) })
	switch {
	case found.entry.lost:
		return false
	case len(both) == len(found.unknown):
		return true
	}
	return r.chosen && found.left <= len(both) && !found.entry.moves()
}

// join adds what an entry was found to cover.
func (r *recovered) join(c *choice, found placed) {
	for _, p := range found.covered {
		switch {
		case slices.Contains(r.covered, p):
		case r.lacking[p] > 0 && !c.lost: // entries come in the order of their hashes
			r.own[c] = append(r.own[c], p)
		default:
			r.covered = append(r.covered, p)
		}
	}
	slices.SortFunc(r.covered, provider.Platform.Compare)
	if found.err != nil {
		r.failed = append(r.failed, found)
	}
	r.note(c, slices.Concat(found.covered, found.unknown))
}

// note remembers what an entry does without.
func (r *recovered) note(c *choice, covered []provider.Platform) {
	for _, p := range c.candidates() {
		if !slices.Contains(covered, p) {
			r.lacking[p] = max(r.lacking[p], min(len(covered), countH1(c)))
			r.chosen = r.chosen || !c.full()
		}
	}
}

// moves reports whether the new entry is made anew, so that what the old one
// covers is lost unless it is known.
func (c *choice) moves() bool { return c.Err == nil && c.From != c.To }

// telling are the choices whose entries tell of platforms: those with h1 hashes
// of a release that is still offered. The one with the most comes first; among
// equals one that does not cover all that its release serves, which was chosen,
// and one whose version stays, since its packages are wanted anyway. One whose
// platforms a rule names says nothing of the others. What a merge leaves of the
// two sides of an entry tells as well.
func (d *draft) telling() []*choice {
	var telling []*choice
	for _, c := range d.choices {
		if c.isLock && len(c.ownPlatforms) == 0 && countH1(c) > 0 && c.offered.release(c.From) != nil {
			telling = append(telling, c)
		}
		telling = append(telling, c.losers()...)
	}
	slices.SortStableFunc(telling, func(a, b *choice) int {
		return cmp.Or(cmp.Compare(countH1(b), countH1(a)), claim(a.full(), b.full()), claim(b.From == b.To, a.From == a.To))
	})
	return telling
}

// silent are the choices whose entries would tell of platforms, if what their
// registries offer were known, or were what is locked.
func (d *draft) silent() []*choice {
	return slices.DeleteFunc(slices.Clone(d.choices), func(c *choice) bool {
		return !c.isLock || len(c.ownPlatforms) > 0 || countH1(c) == 0 || c.offered.release(c.From) != nil
	})
}

// full reports whether the entry may have an h1 for every platform of its release,
// as far as is known.
func (c *choice) full() bool {
	r := c.offered.release(c.From)
	return !r.Closed() || countH1(c) == len(r.Platforms)
}

func countH1(c *choice) int { return len(h1(c.old.Hashes)) }

func h1(hashes []provider.Hash) []provider.Hash {
	return slices.DeleteFunc(slices.Clone(hashes), func(h provider.Hash) bool { return h.Scheme() != provider.SchemeH1 })
}

// explained are those of the platforms that the locked release serves: as many
// h1 hashes of the entry belong to them. A source may not say what is served.
func (c *choice) explained(platforms []provider.Platform) []provider.Platform {
	release := c.offered.release(c.From)
	return slices.DeleteFunc(slices.Clone(platforms), func(p provider.Platform) bool { return !release.Serves(p) })
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
func (c *choice) candidates() []provider.Platform {
	served := servedOf(*c.offered.release(c.From), provider.KnownPlatforms)
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
	entry   *choice
	covered []provider.Platform
	answers []provider.Platform // whose packages are known, or known not to be
	left    int                 // h1 hashes that belong to none of these,
	unknown []provider.Platform // but perhaps to these, of which nothing is known
	err     error               // for this reason
}

// place looks for the platform of each h1 of an entry. As many packages are
// asked about at once as hashes are left, since fewer cannot explain them; but
// first a single one, since OpenTofu's registry tells of all with it. An h1 that
// no package has belongs to nothing, if every package could be asked about. The
// platforms that are likely for what other entries cover come first. While there
// are packages to ask about, what is found is what is known so far.
func (d *draft) place(c *choice, known map[packageKey]evidence, likely []provider.Platform) (found placed, next []packageKey) {
	found.entry = c
	left := h1(c.old.Hashes)
	find := func(p provider.Platform, hashes ...provider.Hash) {
		before := len(left)
		left = slices.DeleteFunc(left, func(h provider.Hash) bool { return slices.Contains(hashes, h) })
		if len(left) < before {
			found.covered = append(found.covered, p)
		}
	}
	candidates := c.candidates()
	slices.SortStableFunc(candidates, func(a, b provider.Platform) int {
		return claim(slices.Contains(likely, b), slices.Contains(likely, a))
	})
	for _, p := range candidates {
		e, ok := known[d.key(c, c.From, p)]
		if ok && (e.err == nil || provider.Coded(e.err, provider.CodeNoPackage)) {
			found.answers = append(found.answers, p)
		}
		switch {
		case !ok:
			next = append(next, d.key(c, c.From, p))
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
	switch first := len(next) == len(candidates); {
	case len(left) == 0:
		return placed{entry: c, covered: found.covered}, nil
	case first:
		return found, next[:1]
	case len(next) > 0:
		return found, next[:min(len(next), len(left))]
	}
	found.left = len(left)
	return found, nil
}

// refutes reports whether the number of an entry's hashes proves no more that it
// covers these platforms: it does without one of them, or a package of it could not
// be had.
func (found placed) refutes(covered []provider.Platform) bool {
	return found.err != nil || slices.ContainsFunc(found.answers, func(p provider.Platform) bool {
		return slices.Contains(covered, p) && !slices.Contains(found.covered, p)
	})
}

// unrecovered says that the platforms of the lock file are not known for what
// happened to an entry.
func (c *choice) unrecovered(cause error) error {
	e := &provider.Error{
		Code: provider.Diagnose(cause).Code, Host: c.Requirement.Addr.Host, Addr: c.Requirement.Addr, Version: c.From,
		Message: fmt.Sprintf("recovering the platforms of the lock file from %s %s", c.Requirement.Addr, c.From), Err: cause,
		Hint: "try again; or name the platforms with --platform or the setting platforms, and no old package is asked for",
	}
	return e
}

// coversAll reports whether every entry has as many h1 hashes as its release
// serves platforms, so that the lock file is meant to cover all of them.
func (d *draft) coversAll() bool {
	several := false
	for _, c := range d.choices {
		if !c.isLock || len(c.ownPlatforms) > 0 || c.Err != nil && c.unheard == nil {
			continue
		}
		r := c.offered.release(c.From)
		if r == nil || !r.Closed() || countH1(c) < len(r.Platforms) {
			return false
		}
		several = several || len(r.Platforms) > 1
	}
	return several
}

// decide chooses the platforms of a root module. One platform alone is likely
// the machine of whoever ran init last, not a choice: the default list joins it.
func (d *draft) decide(r recovered) {
	d.platforms = Platforms{All: r.all, List: r.covered}
	if r.all {
		for _, c := range d.choices {
			if old := c.offered.release(c.From); c.isLock && old != nil {
				c.own = old.Platforms // one that the new release lacks is missing then
			}
		}
		return
	}
	d.doubt(r)
	d.assumed = r.assumed
	for c, own := range r.own {
		c.own = own
	}
	if len(r.covered) < 2 {
		d.platforms.List = slices.Concat(provider.DefaultPlatforms, r.covered)
		slices.SortFunc(d.platforms.List, provider.Platform.Compare)
		d.platforms.List = slices.Compact(d.platforms.List)
	}
}

// doubt fails what cannot be decided where an entry does not tell what it covers:
// it may be platforms that no other tells of, and the new entries of others would
// lack them.
func (d *draft) doubt(r recovered) {
	for _, s := range d.silent() {
		atLeast := countH1(s)
		if s.unheard == nil && len(r.covered) > 1 {
			// A version that is gone is as gone in the next run. Then any entry
			// can say what the lock file does without.
			atLeast = 1
		}
		d.doubtFor(placed{entry: s, unknown: provider.KnownPlatforms, err: s.silence()}, r, atLeast)
	}
	for _, found := range r.failed {
		d.doubtFor(found, r, countH1(found.entry))
	}
}

// doubtFor fails what one entry leaves open, and itself where it would lose what
// it covers. What the lock file does without, an entry of as many hashes can say.
// Where no two platforms are known for a failure, the default list must not join
// them as if there were no more. Nobody knows that of a single hash of which nothing
// was asked: it is taken to be that of the one platform that is known.
func (d *draft) doubtFor(found placed, r recovered, atLeast int) {
	several := countH1(found.entry) > 1 || found.left > 0 && len(r.covered) == 1
	cut := len(r.covered) < 2 && several && !provider.Coded(found.err, provider.CodeLockedVersion)
	open := func(p provider.Platform) bool {
		return !slices.Contains(r.covered, p) &&
			(slices.Contains(found.unknown, p) && r.lacking[p] < atLeast || cut && slices.Contains(provider.DefaultPlatforms, p))
	}
	for _, c := range d.choices {
		if c.Err != nil || c.gone || len(c.ownPlatforms) > 0 {
			continue
		}
		served := servedOf(c.release, provider.KnownPlatforms)
		loses := c == found.entry && c.moves() || found.entry.lost && c.Requirement.Addr == found.entry.Requirement.Addr
		if loses || slices.ContainsFunc(served, open) {
			c.Err = found.entry.unrecovered(found.err)
		}
	}
}

// silence says why the entry tells of no platforms.
func (c *choice) silence() error {
	if c.unheard != nil {
		return c.unheard
	}
	return c.offered.methods.notOffered(c.Requirement.Addr, c.From)
}

// doubtful says which new entries have the platforms of others though only the
// number of their old hashes tells that they had the same.
func (d *draft) doubtful() []provider.Diagnostic {
	var names []string
	for _, c := range d.assumed {
		if c.Err == nil {
			names = append(names, fmt.Sprintf("%s %s", c.Requirement.Addr, c.From))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []provider.Diagnostic{{
		Severity: provider.SeverityWarning, Code: provider.CodeNoPackage, File: path.Join(d.root.module.Dir, lockfile.Name),
		Message: fmt.Sprintf("the old entries of %s are taken to cover the same platforms as the others, since they have as many hashes", strings.Join(names, ", ")),
		Hint:    "keep relock's hash cache between runs, or name the platforms with the setting platforms, and nothing is taken to be",
	}}
}
