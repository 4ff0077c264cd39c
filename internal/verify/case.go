package verify

import (
	"cmp"
	"slices"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// accountCase is a release with the entries whose hashes must be judged.
type accountCase struct {
	release ask.Question
	account
	suspects []caseSuspect
	covered  []provider.Platform // the platforms of the entries
	depth    Depth               // the greatest depth of the entries
	signed   bool                // hashes can be compared with a list, or could if it had been read
	gone     bool                // the registry no longer has the release
	atMirror bool                // no registry may be asked, so mirrors are
	signer   provider.Signer     // the signer of the list
	reason   Obstacle            // why no question was asked; empty if one was
	strict   bool                // a registry's word proves nothing
	tried    map[provider.Platform]bool
	sizes    map[provider.Platform]int64
	problems map[provider.Platform][]string // what is wrong with the files in packages
	unseen   []string                       // why packages were not inspected
}

// caseSuspect is a Suspect with its index in the argument of Judge.
type caseSuspect struct {
	Suspect
	index int
}

// key is the question about the release's package for a platform.
func (c *accountCase) key(p provider.Platform) ask.Question {
	k := c.release
	k.Want.Platform = p
	return k
}

// likely is the platform whose package is asked about first. It is not a demanded platform:
// that one may be unpublished, and its 404 would say nothing about the release.
func (c *accountCase) likely() provider.Platform {
	covered := c.covered
	if c.release.Want.Origin {
		covered = nil
	}
	p := slices.Concat(covered, c.served, provider.DefaultPlatforms)[0]
	if len(c.served) > 0 && !slices.Contains(c.served, p) {
		p = c.served[0]
	}
	return p
}

// readList notes the answer with the list of the package for a platform.
func (c *accountCase) readList(p provider.Platform, said ask.Reply[provider.Listing]) {
	if said.Err != nil {
		c.err, c.failures[p], c.signed = said.Err, said.Err, true
		return
	}
	l := said.Value
	c.err, c.signer = nil, l.Signer
	delete(c.failures, p)
	c.unsigned = !l.Signed()
	c.signed = !c.unsigned || c.depth == Everything && len(l.Files) > 0
	c.add(l)
}

// unexplained counts the hashes of a scheme that nothing explains. If a release was
// replaced, one finding covers the whole entry, so its hashes do not count.
func (c *accountCase) unexplained(scheme string) int {
	open := map[provider.Hash]bool{}
	for _, e := range c.suspects {
		if e.Left && c.replaced(e.Lock) {
			continue
		}
		for _, h := range e.Lock.Hashes {
			known := c.explanation(h)
			if h.Scheme() == scheme && h.WellFormed() && (known == "" || known == ByReport && c.strict) {
				open[h] = true
			}
		}
	}
	return len(open)
}

// open counts the hashes that packages may explain. A mirror's packages explain zh, too,
// since a mirror has no list.
func (c *accountCase) open() int {
	switch {
	case c.atMirror:
		return c.unexplained(provider.SchemeZH) + c.unexplained(provider.SchemeH1)
	case c.signed:
		return c.unexplained(provider.SchemeH1)
	}
	return 0
}

// candidates are the platforms whose packages come next. There are none if every hash is
// explained.
func (c *accountCase) candidates() []provider.Platform {
	if c.depth == ListsOnly || c.err != nil || c.open() == 0 {
		return nil
	}
	some, _ := c.platforms(c.covered)
	if c.atMirror { // a mirror need not list its platforms
		some = append(some, slices.DeleteFunc(slices.Clone(provider.DefaultPlatforms), func(p provider.Platform) bool { return slices.Contains(some, p) })...)
	}
	left := slices.DeleteFunc(some, func(p provider.Platform) bool { return c.tried[p] || c.absent[p] || c.known(p) })
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
	for _, p := range candidates[:min(len(candidates), c.open())] {
		parts = append(parts, packagePart{c, p})
	}
	return parts
}

// mirrorLooked notes whether relock has looked at every package that the mirror lists. If
// no package was available, the error of one is the reason.
func (c *accountCase) mirrorLooked() {
	if !c.atMirror {
		return
	}
	c.everyMirrored = len(c.served) > 0 && len(c.failures) == 0 && !c.poor &&
		!slices.ContainsFunc(c.served, func(p provider.Platform) bool { return !c.tried[p] && !c.absent[p] })
	if len(c.mirrored) > 0 {
		return
	}
	for _, p := range slices.Concat(c.served, provider.DefaultPlatforms) {
		if c.err == nil {
			c.err = c.failures[p]
		}
	}
}

// proofs are the verdicts about the hashes of an entry.
func (c *accountCase) proofs(l lockfile.Lock) []Proof {
	everything := c.everything()
	proofs := make([]Proof, len(l.Hashes))
	for i, h := range l.Hashes {
		p := Proof{Hash: h, Verdict: Disproven}
		if h.Known() && h.WellFormed() { // a malformed hash belongs to nothing, whatever the sources say
			p.Verdict = c.judge(h, everything)
		}
		if p.Verdict == Unproven {
			reason, _ := c.why()
			p.Reason = cmp.Or(c.reason, reason)
		}
		proofs[i] = p
	}
	return proofs
}

// file is the package for a platform. The bool is false if there is none.
func (c *accountCase) file(p provider.Platform) (provider.ListedFile, bool) {
	if zhs := c.archives[p]; len(zhs) > 0 {
		return c.files[zhs[0]], true
	}
	return provider.ListedFile{}, false
}

// mayHave reports whether an unexplained h1 of the entry may belong to a file that relock
// has not looked at.
func (c *accountCase) mayHave(l lockfile.Lock, f provider.ListedFile) bool {
	return !f.Sum.Computed() && slices.ContainsFunc(l.Hashes, func(h provider.Hash) bool {
		return h.Scheme() == provider.SchemeH1 && !c.explains(h)
	})
}
