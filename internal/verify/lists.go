package verify

import (
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// readLists asks for the list of each release that was asked about before.
func (a *accountant) readLists() {
	var releases, first []packageKey
	for _, c := range a.order {
		releases = append(releases, c.release)
	}
	served := a.ask.served(releases)
	for _, c := range a.order {
		c.served = served[c.release].served
		first = append(first, c.key(c.likely()))
	}
	lists := a.ask.lists(first)
	for i, c := range a.order {
		c.readList(first[i].want.Platform, lists[first[i]], false)
	}
}

// likely is the platform whose package is asked about first.
func (c *accountCase) likely() provider.Platform {
	p := slices.Concat(c.covered, c.served, provider.DefaultPlatforms)[0]
	if len(c.served) > 0 && !slices.Contains(c.served, p) {
		p = c.served[0]
	}
	return p
}

// readList notes the list that names the package for a platform. all says that it
// need not be signed.
func (c *accountCase) readList(p provider.Platform, l packageAnswer, all bool) {
	if l.err != nil {
		c.err, c.failures[p], c.signed = l.err, l.err, true
		return
	}
	c.err, c.signer = nil, l.listing.Signer
	delete(c.failures, p)
	c.unsigned = !l.listing.Signed()
	c.signed = !c.unsigned || all && len(l.listing.Files) > 0
	c.add(l.listing)
}

// readFirstLists asks for the list of each release, and for the list of versions
// only where the answer leaves something open: a release whose hashes are all
// explained costs what the registry says of one package, the list and its
// signature.
func (a *accountant) readFirstLists() {
	a.readListsOf(a.asked(func(*accountCase) bool { return true }))
	var releases []packageKey
	open := a.asked(func(c *accountCase) bool {
		return provider.Coded(c.err, provider.CodeNoPackage) || c.err == nil && (!c.signed || c.unexplained(provider.SchemeZH)+c.unexplained(provider.SchemeH1) > 0)
	})
	for _, c := range open {
		releases = append(releases, c.release)
	}
	served := a.ask.served(releases)
	var elsewhere, missing []*accountCase
	for _, c := range open {
		s := served[c.release]
		c.served = s.served
		switch {
		case c.err == nil:
		case s.err != nil && !provider.Coded(s.err, provider.CodeUnknownProvider):
			c.err = s.err
		case len(c.served) > 0:
			elsewhere = append(elsewhere, c)
		default:
			missing = append(missing, c)
		}
	}
	a.readListsOf(elsewhere)
	a.readMissing(missing)
}

// asked are the cases of which anything may be asked.
func (a *accountant) asked(which func(*accountCase) bool) []*accountCase {
	var some []*accountCase
	for _, c := range a.order {
		if c.reason == "" && which(c) {
			some = append(some, c)
		}
	}
	return some
}

func (a *accountant) readListsOf(cases []*accountCase) {
	var first []packageKey
	for _, c := range cases {
		first = append(first, c.key(c.likely()))
	}
	lists := a.ask.lists(first)
	for i, c := range cases {
		c.readList(first[i].want.Platform, lists[first[i]], true)
	}
}

// readMissing asks again about releases whose first package is not there and whose
// platforms nobody lists: what the registry says of one package may be lost, and
// only where every answer is that there is none the release is gone.
func (a *accountant) readMissing(cases []*accountCase) {
	var parts []packagePart
	for _, c := range cases {
		parts = append(parts, packagePart{c, c.likely()})
	}
	answers := a.look(parts, func(packagePart) int64 { return 0 })
	for _, part := range parts {
		err := answers[part.key(part.platform)].err
		part.gone = provider.Coded(err, provider.CodeNoPackage) || provider.Coded(err, provider.CodeUnknownProvider)
		if err != nil && !part.gone {
			part.err = err
		}
	}
}

// turnToMirrors leaves releases of which no registry may be asked to the mirrors of the
// installation methods, whose packages are all that can be looked at.
func (a *accountant) turnToMirrors() {
	for _, c := range a.asked(func(c *accountCase) bool { return c.err == nil && !c.signed }) {
		c.atMirror = true
	}
}

// mirrorLooked notes whether every package was looked at that there is: of those
// that the mirror says it has. Where none could be had, the reason is that of one.
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
