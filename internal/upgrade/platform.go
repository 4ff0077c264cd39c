package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// A lock file does not name its platforms: they are recovered by hashing the
// packages of locked versions and looking for the results among the h1 hashes of
// the entries.
//
// The entries of one lock file are taken to be made for the same platforms, and
// one that covers fewer to be made on fewer machines. So the entry with the most
// h1 hashes tells of all of them, and another one is asked about only if it has
// more than what is known by then would give it.
//
// A failure is no answer. Where one leaves open what the lock file covers, the
// root module stays as it is.

// platforms resolves "auto" for every draft.
func (p *planner) platforms(drafts []*draft) {
	if p.opts.Platforms.All || len(p.opts.Platforms.List) > 0 {
		for _, d := range drafts {
			d.platforms = p.opts.Platforms
		}
		return
	}
	known := map[packageKey]evidence{}
	for {
		var asked []packageKey
		for _, d := range drafts {
			asked = append(asked, d.recover(known).next...)
		}
		if len(asked) == 0 {
			break
		}
		maps.Copy(known, p.packages(asked))
	}
	for _, d := range drafts {
		d.decide(d.recover(known))
	}
}

// recovered is what is known so far of the platforms that a lock file covers.
type recovered struct {
	all     bool                // the entries cover whatever their releases serve
	covered []provider.Platform // by some entry, sorted
	next    []packageKey        // the packages to ask about before more is known
	err     error               // why more will not be known
}

// recover reads the entries that tell of platforms, as far as packages are known.
func (d *draft) recover(known map[packageKey]evidence) recovered {
	if d.coversAll() {
		return recovered{all: true}
	}
	var r recovered
	for _, c := range d.telling() {
		if !c.lost && len(c.explained(r.covered)) >= countH1(c) {
			continue
		}
		covered, missing := d.place(c, known)
		if missing.next != nil || missing.err != nil {
			return missing
		}
		r.covered = append(r.covered, covered...)
		slices.SortFunc(r.covered, provider.Platform.Compare)
		r.covered = slices.Compact(r.covered)
	}
	return r
}

// telling are the choices whose entries tell of platforms: those with h1 hashes
// of a release that is still offered. The one with the most comes first; among
// equals one whose version stays, since its packages are wanted anyway. One whose
// platforms a rule names says nothing of the others. What a merge leaves of the
// two sides of an entry tells as well.
func (d *draft) telling() []*choice {
	var telling []*choice
	for _, c := range d.choices {
		if c.isLock && len(c.platforms) == 0 && countH1(c) > 0 && c.lockedRelease() != nil {
			telling = append(telling, c)
		}
		telling = append(telling, c.losers()...)
	}
	slices.SortStableFunc(telling, func(a, b *choice) int {
		return cmp.Or(cmp.Compare(countH1(b), countH1(a)), claim(b.From == b.To, a.From == a.To))
	})
	return telling
}

// silent are the choices whose entries would tell of platforms, if what their
// registries offer were known, or were what is locked.
func (d *draft) silent() []*choice {
	return slices.DeleteFunc(slices.Clone(d.choices), func(c *choice) bool {
		return !c.isLock || c.ignored || len(c.platforms) > 0 || countH1(c) == 0 || c.lockedRelease() != nil
	})
}

func countH1(c *choice) int { return len(h1(c.locked.Hashes)) }

func h1(hashes []provider.Hash) []provider.Hash {
	return slices.DeleteFunc(slices.Clone(hashes), func(h provider.Hash) bool { return h.Scheme() != provider.SchemeH1 })
}

// lockedRelease is what the registry says of the locked version; nil if it is
// not offered any more.
func (c *choice) lockedRelease() *provider.Release {
	i := slices.IndexFunc(c.listed, func(r provider.Release) bool { return r.Version == c.From })
	if i < 0 {
		return nil
	}
	return &c.listed[i]
}

// explained are those of the platforms that the locked release serves: as many
// h1 hashes of the entry belong to them. A source may not say what is served.
func (c *choice) explained(platforms []provider.Platform) []provider.Platform {
	served := c.lockedRelease().Platforms
	return slices.DeleteFunc(slices.Clone(platforms), func(p provider.Platform) bool {
		return len(served) > 0 && !slices.Contains(served, p)
	})
}

// likely are the platforms that most lock files cover, the most common first.
var likely = []provider.Platform{
	{OS: "linux", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}, {OS: "darwin", Arch: "amd64"},
	{OS: "linux", Arch: "arm64"}, {OS: "windows", Arch: "amd64"},
}

// candidates are the platforms that h1 hashes of the entry may belong to, in the
// order in which they are tried.
func (c *choice) candidates() []provider.Platform {
	served := c.lockedRelease().Platforms
	if len(served) == 0 { // a mirror may not say
		served = provider.KnownPlatforms
	}
	var candidates []provider.Platform
	for _, p := range slices.Concat(likely, served) {
		if slices.Contains(served, p) && !slices.Contains(candidates, p) {
			candidates = append(candidates, p)
		}
	}
	return candidates
}

// place looks for the platform of each h1 of an entry. As many packages are
// asked about at once as hashes are left, since fewer cannot explain them; but
// first a single one, since OpenTofu's registry tells of all with it. An h1 that
// no package has belongs to nothing, if every package could be asked about.
func (d *draft) place(c *choice, known map[packageKey]evidence) ([]provider.Platform, recovered) {
	left := h1(c.locked.Hashes)
	var covered []provider.Platform
	var next []packageKey
	var failure error
	find := func(p provider.Platform, hashes ...provider.Hash) {
		before := len(left)
		left = slices.DeleteFunc(left, func(h provider.Hash) bool { return slices.Contains(hashes, h) })
		if len(left) < before {
			covered = append(covered, p)
		}
	}
	candidates := c.candidates()
	for _, p := range candidates {
		e, ok := known[d.key(c, c.From, p)]
		switch {
		case !ok:
			next = append(next, d.key(c, c.From, p))
		case e.err == nil:
			find(p, e.hashes.H1, e.hashes.H1Zip)
			for _, reported := range slices.SortedFunc(maps.Keys(e.hashes.Reported), provider.Platform.Compare) {
				find(reported, e.hashes.Reported[reported]...)
			}
		case !provider.Coded(e.err, provider.CodeNoPackage):
			failure = cmp.Or(failure, e.err)
		}
	}
	switch first := len(next) == len(candidates); {
	case len(left) == 0:
		return covered, recovered{}
	case first:
		return nil, recovered{next: next[:1]}
	case len(next) > 0:
		return nil, recovered{next: next[:min(len(next), len(left))]}
	case failure != nil:
		return nil, recovered{err: c.unrecovered(failure)}
	}
	return covered, recovered{}
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
		if !c.isLock || c.ignored || len(c.platforms) > 0 || c.Err != nil && c.unheard == nil {
			continue
		}
		r := c.lockedRelease()
		if r == nil || len(r.Platforms) == 0 || countH1(c) < len(r.Platforms) {
			return false
		}
		several = several || len(r.Platforms) > 1
	}
	return several
}

// decide chooses the platforms of a root module. One platform alone is likely
// the machine of whoever ran init last, not a choice: the default list joins it.
func (d *draft) decide(r recovered) {
	d.unrecovered = r.err
	d.platforms = Platforms{All: r.all, List: r.covered}
	if r.all || r.err != nil {
		return
	}
	d.doubt(r.covered)
	if len(r.covered) < 2 {
		d.platforms.List = slices.Concat(provider.DefaultPlatforms, r.covered)
		slices.SortFunc(d.platforms.List, provider.Platform.Compare)
		d.platforms.List = slices.Compact(d.platforms.List)
	}
}

// doubt fails what cannot be decided where an entry is silent: it may cover platforms that no other tells of,
// and the new entries of others would lack them. It can tell of none that another
// entry does without though its release serves it.
func (d *draft) doubt(covered []provider.Platform) {
	var most *choice
	for _, c := range d.silent() {
		if most == nil || countH1(c) > countH1(most) {
			most = c
		}
	}
	if most == nil {
		return
	}
	more := countH1(most) > len(covered)
	without := d.without(covered)
	for _, c := range d.choices {
		if c.Err != nil || c.gone || c.ignored || len(c.platforms) > 0 {
			continue
		}
		open := slices.ContainsFunc(c.release.Platforms, func(p provider.Platform) bool {
			return !slices.Contains(covered, p) && !without[p]
		})
		if open || more && (len(covered) < 2 || len(c.release.Platforms) == 0) {
			c.Err = most.unrecovered(most.silence())
		}
	}
}

// silence says why the entry tells of no platforms.
func (c *choice) silence() error {
	if c.unheard != nil {
		return c.unheard
	}
	return notOffered(c.Requirement.Addr, c.From)
}

// without are the platforms that some entry does not cover though the others are
// all covered and its release serves them.
func (d *draft) without(covered []provider.Platform) map[provider.Platform]bool {
	without := map[provider.Platform]bool{}
	for _, c := range d.telling() {
		if countH1(c) != len(c.explained(covered)) {
			continue
		}
		for _, p := range c.lockedRelease().Platforms {
			without[p] = !slices.Contains(covered, p)
		}
	}
	return without
}
