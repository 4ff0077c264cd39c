package verify

import (
	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// readLists asks for the list of each release. The list of versions is known where a plan
// has asked for it. Else it is asked for only where the answer leaves something open: a
// release whose hashes are all explained costs what the registry says of one package, the
// list and its signature.
func (a *accountant) readLists() {
	a.readServed(a.asked(func(c *accountCase) bool { return c.depth < Everything }))
	a.readListsOf(a.asked(func(*accountCase) bool { return true }))
	open := a.asked(func(c *accountCase) bool {
		return c.depth == Everything &&
			(problem.Coded(c.err, problem.CodeNoPackage) || c.err == nil && (!c.signed || c.unexplained(provider.SchemeZH)+c.unexplained(provider.SchemeH1) > 0))
	})
	offers := a.readServed(open)
	var elsewhere, missing []*accountCase
	for _, c := range open {
		err := offers[c.release].Err
		switch {
		case c.err == nil:
		case err != nil && !problem.Coded(err, problem.CodeUnknownProvider):
			c.err = err
		case len(c.served) > 0:
			elsewhere = append(elsewhere, c)
		default:
			missing = append(missing, c)
		}
	}
	a.readListsOf(elsewhere)
	a.readMissing(missing)
}

// readServed asks for which platforms the registries say that releases are. What a registry
// does not list any more may still be had: it has none.
func (a *accountant) readServed(cases []*accountCase) map[ask.Question]ask.Reply[provider.Offer] {
	offers := a.ask.offers(collect.Mapped(cases, func(c *accountCase) ask.Question { return c.release }))
	for _, c := range cases {
		c.served = nil
		if r := offers[c.release].Value.Release(c.release.Want.Version); r != nil {
			c.served = r.Platforms
		}
	}
	return offers
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
	var first []ask.Question
	for _, c := range cases {
		first = append(first, c.key(c.likely()))
	}
	lists := a.ask.lists(first)
	for i, c := range cases {
		c.readList(first[i].Want.Platform, lists[first[i]])
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
		err := answers[part.key(part.platform)].Err
		part.gone = problem.Coded(err, problem.CodeNoPackage) || problem.Coded(err, problem.CodeUnknownProvider)
		if err != nil && !part.gone {
			part.err = err
		}
	}
}

// turnToMirrors leaves releases of which no registry may be asked to the mirrors of the
// installation methods, whose packages are all that can be looked at.
func (a *accountant) turnToMirrors() {
	for _, c := range a.asked(func(c *accountCase) bool { return c.depth == Everything && c.err == nil && !c.signed }) {
		c.atMirror = true
	}
}
