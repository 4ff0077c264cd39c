package verify

import (
	"cmp"
	"context"
	"maps"
	"slices"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// accountant finds the answers for Judge and Prove.
type accountant struct {
	ask     asker
	options Options
	// strict says that a registry's word proves nothing as long as relock may hash the
	// package.
	strict bool
	cases  map[ask.Question]*accountCase
	order  []*accountCase
}

// newAccountant makes an accountant without entries.
func newAccountant(ctx context.Context, src Source, opts Options, strict bool) *accountant {
	return &accountant{
		ask: asker{ctx: ctx, jobs: opts.Jobs, source: src}, options: opts, strict: strict, cases: map[ask.Question]*accountCase{},
	}
}

// account asks until every hash is explained, or no question is left.
func (a *accountant) account() {
	a.readLists()
	a.turnToMirrors()
	a.readOtherLists()
	for !a.ask.ended() {
		next := a.next()
		if len(next) == 0 {
			break
		}
		a.download(next)
	}
	for _, c := range a.order {
		c.mirrorLooked()
	}
}

// open adds an entry to the case of its release, and returns the case.
func (a *accountant) open(i int, e Suspect) *accountCase {
	k := ask.Question{Tool: e.Tool, Want: provider.Want{Addr: e.Lock.Addr, Version: e.Lock.Version, Origin: e.Depth == Everything}}
	c := a.cases[k]
	if c == nil {
		c = &accountCase{
			release: k, strict: a.strict, tried: map[provider.Platform]bool{}, sizes: map[provider.Platform]int64{}, problems: map[provider.Platform][]string{},
			account: account{
				files: map[provider.Hash]provider.ListedFile{}, archives: map[provider.Platform][]provider.Hash{}, contents: map[provider.Hash]Verdict{}, reported: map[provider.Hash]bool{}, mirrored: map[provider.Hash]bool{},
				failures: map[provider.Platform]error{}, absent: map[provider.Platform]bool{},
			},
		}
		a.cases[k], a.order = c, append(a.order, c)
	}
	c.suspects = append(c.suspects, caseSuspect{e, i})
	c.covered = append(c.covered, e.Covered...)
	c.depth = max(c.depth, e.Depth)
	for _, h := range e.Explained {
		c.reported[h] = true
	}
	return c
}

type packagePart struct {
	*accountCase
	platform provider.Platform
}

// readOtherLists asks for the list of every package of a release whose known list leaves a
// zh unexplained. A registry may have a list for each package.
func (a *accountant) readOtherLists() {
	var asked []packagePart
	for _, c := range a.order {
		if c.signed && c.err == nil && c.unexplained(provider.SchemeZH) > 0 {
			var some []provider.Platform
			some, c.everyList = c.platforms(c.covered)
			for _, p := range some {
				asked = append(asked, packagePart{c, p})
			}
		}
	}
	a.look(asked, func(packagePart) int64 { return 0 })
	for _, part := range asked {
		part.everyList = part.everyList && part.failures[part.platform] == nil
	}
}

// look asks about packages and notes the answers. It downloads no package above its limit.
func (a *accountant) look(parts []packagePart, limit func(packagePart) int64) map[ask.Question]ask.Reply[provider.Listing] {
	var asked []ask.Question
	limits := map[ask.Question]int64{}
	for _, p := range parts {
		k := p.key(p.platform)
		asked, limits[k] = append(asked, k), limit(p)
	}
	answers := a.ask.packages(limits, asked)
	for _, p := range parts {
		said := answers[p.key(p.platform)]
		p.learn(said.Value, said.Err)
	}
	return answers
}

// learn notes an answer about the package.
func (p packagePart) learn(l provider.Listing, err error) {
	switch {
	case problem.Coded(err, problem.CodeNoPackage):
		p.absent[p.platform] = true
	case err != nil:
		p.failures[p.platform] = err
	default:
		p.add(l)
	}
}

// next are the packages to look at now. For each release they are as many as its
// unexplained hashes, from the first tier that has any, the smallest first.
func (a *accountant) next() []packagePart {
	var unsized []packagePart
	var asked []ask.Question
	for _, c := range a.order {
		for _, p := range c.candidates() {
			if _, known := c.sizes[p]; !known {
				unsized, asked = append(unsized, packagePart{c, p}), append(asked, c.key(p))
			}
		}
	}
	sizes := a.ask.sizes(asked)
	for _, part := range unsized {
		size := sizes[part.key(part.platform)]
		part.sizes[part.platform] = size.Value
		if size.Err != nil {
			part.tried[part.platform] = true
			part.learn(provider.Listing{}, size.Err)
		}
	}
	var next []packagePart
	for _, c := range a.order {
		next = append(next, c.next()...)
	}
	slices.SortStableFunc(next, func(p, q packagePart) int { return bySize(p.sizes[p.platform], q.sizes[q.platform]) })
	return next
}

// bySize compares sizes. An unknown size comes last.
func bySize(a, b int64) int {
	switch {
	case a == b:
		return 0
	case a == 0:
		return 1
	case b == 0:
		return -1
	}
	return cmp.Compare(a, b)
}

// download hashes the packages as far as the allowance permits. Packages at hand use none
// of it. A package of unknown size may use all that is left, so it is downloaded alone,
// after the others.
func (a *accountant) download(next []packagePart) {
	var sized, free []packagePart
	var together int64
	for _, part := range next {
		part.tried[part.platform] = true
		size := part.sizes[part.platform]
		switch {
		case size == provider.AtHand:
			free = append(free, part)
		case size == 0:
		case a.options.Allowance.take(size):
			sized, together = append(sized, part), together+size
		default:
			part.poor = true
		}
	}
	if a.options.Announce != nil && len(sized) > 0 {
		a.options.Announce(provider.Downloads{Packages: len(sized), Sized: len(sized), Size: together})
	}
	a.look(append(sized, free...), func(p packagePart) int64 { return max(p.sizes[p.platform], 1) })
	for _, part := range next {
		if part.sizes[part.platform] == 0 && part.open() > 0 {
			a.downloadUnsized(part)
		}
	}
}

func (a *accountant) downloadUnsized(part packagePart) {
	limit := a.options.Allowance.takeAll()
	if limit == 0 {
		part.poor = true
		return
	}
	said := a.look([]packagePart{part}, func(packagePart) int64 { return limit })[part.key(part.platform)]
	if said.Err == nil {
		a.options.Allowance.giveBack(limit - said.Value.Size(part.platform))
	}
}

// outages names the registries that gave no list for any release that they were asked
// about.
func (a *accountant) outages() []problem.Problem {
	causes := map[svchost.Hostname]error{}
	answered := map[svchost.Hostname]bool{}
	for _, c := range a.order {
		host := c.release.Want.Addr.Host
		failed := problem.Coded(c.err, problem.CodeUnreachable) || problem.Coded(c.err, problem.CodeUnauthorized) || problem.Coded(c.err, problem.CodeNoService)
		switch {
		case c.reason != "":
		case failed:
			causes[host] = c.err
		default:
			answered[host] = true
		}
	}
	var all []problem.Problem
	for _, host := range slices.Sorted(maps.Keys(causes)) {
		if !answered[host] {
			d := problem.Of(causes[host])
			d.Message = "the registry " + host.ForDisplay() + " answered no question: " + d.Message
			all = append(all, d)
		}
	}
	return all
}

// index names the release of every known hash.
func (a *accountant) index() map[provider.Hash]ask.Question {
	of := map[provider.Hash]ask.Question{}
	for _, c := range a.order {
		for _, zh := range slices.Sorted(maps.Keys(c.files)) {
			f := c.files[zh]
			k := c.key(f.Platform)
			of[zh] = k
			for _, h := range f.Sum.Contents() {
				of[h] = k
			}
		}
	}
	return of
}
