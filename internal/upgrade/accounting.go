package upgrade

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// MostAccounted is how many bytes a run downloads at most to find out whether
// hashes belong to anything. It is enough for any release but the largest, and
// little beside what runs download to upgrade; what is downloaded is remembered,
// so that the next run gets further.
const MostAccounted = 1_000_000_000

// Allowance is what a run may still download to account for hashes. It is safe
// for concurrent use.
type Allowance struct{ left atomic.Int64 }

// NewAllowance allows so many bytes.
func NewAllowance(bytes int64) *Allowance {
	a := &Allowance{}
	a.left.Store(bytes)
	return a
}

// take reports whether so much is left, and takes it then. What is negative is
// given back.
func (a *Allowance) take(bytes int64) bool {
	for {
		left := a.left.Load()
		if bytes > left {
			return false
		}
		if a.left.CompareAndSwap(left, left-bytes) {
			return true
		}
	}
}

// AccountOptions are the choices of Account.
type AccountOptions struct {
	// Whole looks into entries that the plan leaves for another version as into
	// those that stay. Without it nothing is downloaded for them: whoever writes
	// the plan writes none of their hashes.
	Whole bool
	// Allowance bounds the downloads.
	Allowance *Allowance
	// Jobs bounds the questions that are open at once; 0 means a default.
	Jobs int
}

// accountFor is Account with what asks its questions.
func accountFor(results []Result, opts AccountOptions, ask asker) {
	a := &accountant{ask: ask, opts: opts, cases: map[packageKey]*accountCase{}}
	for i, r := range results {
		a.open(i, r)
	}
	a.readLists()
	for !ask.ended() { // until every h1 is explained, or nothing is left that may be downloaded
		next := a.next()
		if len(next) == 0 {
			break
		}
		a.download(next)
	}
	if ask.ended() {
		return
	}
	for _, c := range a.order {
		for _, e := range c.entries {
			found, undecided := c.findings(e, opts.Whole)
			r := &results[e.result]
			r.Findings, r.Undecided = append(r.Findings, found...), append(r.Undecided, undecided...)
		}
	}
	for i := range results {
		slices.SortStableFunc(results[i].Findings, compareFindings)
		slices.SortStableFunc(results[i].Undecided, compareFindings)
	}
}

func compareFindings(f, g provider.Finding) int {
	return cmp.Or(cmp.Compare(f.Line, g.Line), f.Addr.Compare(g.Addr), cmp.Compare(f.Hash, g.Hash))
}

// accountCase is a release with the entries whose hashes are in question.
type accountCase struct {
	release packageKey
	account
	entries []accountEntry
	covered []provider.Platform // by the plans
	deep    bool                // packages may be downloaded
	signed  bool                // there is a list to hold hashes against, or ought to be
	tried   map[provider.Platform]bool
	sizes   map[provider.Platform]int64
}

// accountEntry is an entry of a lock file as it was read.
type accountEntry struct {
	result int
	lock   lockfile.Lock
	path   string
	left   bool // the plan has another version
}

// accountant decides what Account asks.
type accountant struct {
	ask   asker
	opts  AccountOptions
	cases map[packageKey]*accountCase
	order []*accountCase
}

// open adds the entries of a plan that are to be judged.
func (a *accountant) open(i int, r Result) {
	if r.Module.Lock == nil {
		return
	}
	for _, s := range r.Selections {
		l, locked := r.Module.Lock.Lock(s.Requirement.Addr)
		if !locked || disputed(r.Module, l.Addr) || s.Err != nil || s.To.IsZero() || s.Replaced || slices.Contains(s.Marks, provider.MarkMirror) {
			continue
		}
		if !slices.ContainsFunc(l.Hashes, provider.Hash.Known) {
			continue
		}
		k := packageKey{r.Module.Tool, provider.Want{Addr: l.Addr, Version: l.Version}}
		c := a.cases[k]
		if c == nil {
			c = &accountCase{
				release: k, tried: map[provider.Platform]bool{}, sizes: map[provider.Platform]int64{},
				account: account{
					files: map[provider.Hash]provider.ListedFile{}, contents: map[provider.Hash]bool{}, reported: map[provider.Hash]bool{},
					failures: map[provider.Platform]error{}, absent: map[provider.Platform]bool{},
				},
			}
			a.cases[k], a.order = c, append(a.order, c)
		}
		left := s.From != s.To
		c.entries = append(c.entries, accountEntry{i, l, r.Module.Lock.Path, left})
		c.covered = append(c.covered, s.Platforms...)
		c.deep = c.deep || !left || a.opts.Whole
		if !left {
			for h := range s.Hashes { // by this very run
				c.reported[h] = true
			}
		}
	}
}

// key names the package of the release for a platform.
func (c *accountCase) key(p provider.Platform) packageKey {
	k := c.release
	k.want.Platform = p
	return k
}

// unexplained reports whether an entry holds a hash of the scheme that nothing
// explains and that something could. What is said of a replaced release is said
// of its whole entry.
func (c *accountCase) unexplained(scheme string) int {
	open := map[provider.Hash]bool{}
	for _, e := range c.entries {
		if e.left && c.replaced(e.lock) {
			continue
		}
		for _, h := range e.lock.Hashes {
			if h.Scheme() == scheme && wellFormed(h) && !c.explains(h) {
				open[h] = true
			}
		}
	}
	return len(open)
}

// findings are what there is to say of an entry. Of one that the plan leaves, and
// that was not looked into, nothing is undecided: nobody asked.
func (c *accountCase) findings(e accountEntry, whole bool) (found, undecided []provider.Finding) {
	if !c.signed {
		return nil, nil
	}
	found, undecided = c.account.findings(e.lock, e.path, e.left)
	if e.left && !whole {
		undecided = nil
	}
	return found, undecided
}

// packagePart is the package of a case for a platform.
type packagePart struct {
	*accountCase
	platform provider.Platform
}

// readLists asks for the list of each release that was asked about before, and for
// that of every package of a release where it leaves a zh unexplained: a registry may
// have a list for each.
func (a *accountant) readLists() {
	var releases, first []packageKey
	for _, c := range a.order {
		releases = append(releases, c.release)
	}
	served := a.ask.served(releases)
	for _, c := range a.order {
		c.served = served[c.release]
		p := slices.Concat(c.covered, c.served, provider.DefaultPlatforms)[0]
		if len(c.served) > 0 && !slices.Contains(c.served, p) {
			p = c.served[0]
		}
		first = append(first, c.key(p))
	}
	lists := a.ask.looked(first, nil)
	for i, c := range a.order {
		l := lists[first[i]]
		if l.err != nil {
			c.err, c.failures[first[i].want.Platform], c.signed = l.err, l.err, true
			continue
		}
		c.signed = l.listing.Signed()
		c.add(l.listing)
	}
	var others []packagePart
	for _, c := range a.order {
		if c.signed && c.err == nil && c.unexplained(provider.SchemeZH) > 0 {
			var some []provider.Platform
			some, c.everyList = c.platforms(c.covered)
			for _, p := range some {
				others = append(others, packagePart{c, p})
			}
		}
	}
	a.look(others, func(packagePart) int64 { return 0 })
	for _, part := range others {
		part.everyList = part.everyList && part.failures[part.platform] == nil
	}
}

// look asks about packages, downloads none that is larger than its limit, and notes
// the answers.
func (a *accountant) look(parts []packagePart, limit func(packagePart) int64) map[packageKey]packageAnswer {
	var asked []packageKey
	limits := map[packageKey]int64{}
	for _, p := range parts {
		k := p.key(p.platform)
		asked, limits[k] = append(asked, k), limit(p)
	}
	answers := a.ask.looked(asked, limits)
	for _, p := range parts {
		p.learn(answers[p.key(p.platform)])
	}
	return answers
}

// learn notes an answer.
func (p packagePart) learn(h packageAnswer) {
	switch {
	case provider.Coded(h.err, provider.CodeNoPackage):
		p.absent[p.platform] = true
	case h.err != nil:
		p.failures[p.platform] = h.err
	default:
		p.add(h.listing)
	}
}

// next are the packages to look at now: of each release as many as it has h1
// hashes that nothing explains, the smallest of those platforms that come first.
func (a *accountant) next() []packagePart {
	var unsized []packagePart
	var asked []packageKey
	for _, c := range a.order {
		for _, p := range c.candidates() {
			if _, known := c.sizes[p]; !known {
				unsized, asked = append(unsized, packagePart{c, p}), append(asked, c.key(p))
			}
		}
	}
	sizes := a.ask.sizes(asked)
	for _, part := range unsized {
		h := sizes[part.key(part.platform)]
		part.sizes[part.platform] = h.size
		if h.err != nil {
			part.tried[part.platform] = true
			part.learn(h)
		}
	}
	var next []packagePart
	for _, c := range a.order {
		next = append(next, c.next()...)
	}
	slices.SortStableFunc(next, func(p, q packagePart) int { return bySize(p.sizes[p.platform], q.sizes[q.platform]) })
	return next
}

// bySize orders sizes, those that are not known last.
func bySize(a, b int64) int { return cmp.Or(claim(a == 0, b == 0), cmp.Compare(a, b)) }

// candidates are the packages of the platforms that come first among those that
// were not looked at; none where everything is explained.
func (c *accountCase) candidates() []provider.Platform {
	if !c.deep || !c.signed || c.err != nil || c.unexplained(provider.SchemeH1) == 0 {
		return nil
	}
	some, _ := c.platforms(c.covered)
	looked := map[provider.Platform]bool{}
	for _, f := range c.files {
		looked[f.Platform] = looked[f.Platform] || f.Contents != nil
	}
	left := slices.DeleteFunc(some, func(p provider.Platform) bool { return c.tried[p] || c.absent[p] || looked[p] })
	if len(left) == 0 {
		return nil
	}
	now := tier(left[0], c.covered)
	return slices.DeleteFunc(left, func(p provider.Platform) bool { return tier(p, c.covered) > now })
}

func (c *accountCase) next() []packagePart {
	candidates := c.candidates()
	slices.SortStableFunc(candidates, func(p, q provider.Platform) int { return bySize(c.sizes[p], c.sizes[q]) })
	var parts []packagePart
	for _, p := range candidates[:min(len(candidates), c.unexplained(provider.SchemeH1))] {
		parts = append(parts, packagePart{c, p})
	}
	return parts
}

// download hashes the packages as far as the allowance goes. One whose size
// nobody says gets all that is left, so that it comes alone, after the others.
func (a *accountant) download(next []packagePart) {
	var sized []packagePart
	for _, part := range next {
		part.tried[part.platform] = true
		size := part.sizes[part.platform]
		switch {
		case size == 0:
		case a.opts.Allowance.take(size):
			sized = append(sized, part)
		default:
			part.poor = true
		}
	}
	a.look(sized, func(p packagePart) int64 { return p.sizes[p.platform] })
	for _, part := range next {
		if part.sizes[part.platform] != 0 || part.unexplained(provider.SchemeH1) == 0 {
			continue
		}
		limit := a.opts.Allowance.left.Swap(0)
		if limit == 0 {
			part.poor = true
			continue
		}
		h := a.look([]packagePart{part}, func(packagePart) int64 { return limit })[part.key(part.platform)]
		if h.err == nil {
			a.opts.Allowance.take(h.listing.Size(part.platform) - limit) // gives the rest back
		}
	}
}
