package verify

import (
	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// readLists asks for the list of each release. If a plan has asked for the list of
// versions, that costs nothing. Otherwise the list of versions is asked for only if the
// first answer leaves something open. So a release with explained hashes costs three
// answers: one package, the list and its signature.
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

// readServed asks which platforms the releases serve. A release that the registry no longer
// lists may still be served. Its platforms are then empty.
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

// asked are the cases that may ask questions.
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

// readMissing asks again about releases whose first package is missing and whose platforms
// are not listed. The registry may have lost the answer about one package. The release is
// gone only if every answer says that the package does not exist.
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

// turnToMirrors selects the mirrors for releases whose registry may not be asked. Only the
// mirrors' packages can prove their hashes.
func (a *accountant) turnToMirrors() {
	for _, c := range a.asked(func(c *accountCase) bool { return c.depth == Everything && c.err == nil && !c.signed }) {
		c.atMirror = true
	}
}
