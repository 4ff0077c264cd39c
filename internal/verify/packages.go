package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// lookInto looks into the packages that the entries cover, smaller ones first, as far
// as may be downloaded. One whose size nobody says comes alone, after the others.
func (v *verifier) lookInto() {
	limits := map[packageKey]int64{}
	var sized, unsized []packagePart
	var asked []packageKey
	for _, part := range v.covered() {
		k, size := part.key(part.platform), part.sizes[part.platform]
		switch {
		case size == 0:
			unsized = append(unsized, part)
			continue
		case size == provider.AtHand:
			limits[k] = 1
		case v.allowance.take(size):
			limits[k] = size
		default:
			part.unseen = append(part.unseen, string(ForBudget))
			continue
		}
		sized, asked = append(sized, part), append(asked, k)
	}
	answers := v.ask.contents(limits, asked)
	for _, part := range sized {
		part.saw(answers[part.key(part.platform)])
	}
	for _, part := range unsized {
		limit := v.allowance.takeAll()
		if limit == 0 {
			part.unseen = append(part.unseen, string(ForBudget))
			continue
		}
		k := part.key(part.platform)
		said := v.ask.contents(map[packageKey]int64{k: limit}, []packageKey{k})[k]
		part.saw(said)
		if said.err == nil {
			v.allowance.giveBack(limit - said.Size)
		}
	}
}

// saw notes what is wrong with what the package holds.
func (p packagePart) saw(said contentAnswer) {
	switch {
	case said.err != nil:
		p.unseen = append(p.unseen, said.err.Error())
	case len(said.Problems) > 0:
		p.problems[p.platform] = said.Problems
	}
}

// covered are the packages that are looked into, with their sizes, the smallest first.
// What this run has downloaded costs nothing.
func (v *verifier) covered() []packagePart {
	var parts, unsized []packagePart
	var asked []packageKey
	for _, c := range v.order {
		switch {
		case c.reason != "":
			c.unseen = append(c.unseen, string(c.reason))
			continue
		case c.atMirror:
			c.unseen = append(c.unseen, "they are a mirror's")
			continue
		}
		for _, p := range v.inside(c) {
			part := packagePart{c, p}
			file, _ := c.file(p)
			switch {
			case file.Fresh:
				c.sizes[p] = provider.AtHand
			case file.Size > 0:
				c.sizes[p] = file.Size
			default:
				unsized, asked = append(unsized, part), append(asked, c.key(p))
				continue
			}
			parts = append(parts, part)
		}
	}
	sizes := v.ask.sizes(asked)
	for _, part := range unsized {
		said := sizes[part.key(part.platform)]
		if said.err != nil {
			part.unseen = append(part.unseen, said.err.Error())
			continue
		}
		part.sizes[part.platform] = said.size
		parts = append(parts, part)
	}
	slices.SortStableFunc(parts, func(p, q packagePart) int { return bySize(p.sizes[p.platform], q.sizes[q.platform]) })
	return parts
}

// inside are the platforms whose packages are looked into: those that are demanded, or
// else those whose h1 the entries record.
func (v *verifier) inside(c *accountCase) []provider.Platform {
	recorded := map[provider.Hash]bool{}
	for _, e := range c.suspects {
		for _, h := range e.Lock.Hashes {
			recorded[h] = true
		}
	}
	var some []provider.Platform
	for _, p := range slices.SortedFunc(maps.Keys(c.archives), provider.Platform.Compare) {
		file, _ := c.file(p)
		if len(v.Platforms) > 0 && slices.Contains(v.Platforms, p) ||
			len(v.Platforms) == 0 && slices.ContainsFunc(file.Contents, func(h provider.Hash) bool { return recorded[h] }) {
			some = append(some, p)
		}
	}
	return some
}

// content says what was found in packages of an entry's release.
func (v *verifier) content(about scribe, c *accountCase) {
	l := about.lock
	for _, p := range slices.SortedFunc(maps.Keys(c.problems), provider.Platform.Compare) {
		f := about.add(provider.CodePackageContent, "the package of %s %s for %s: %s", l.Addr, l.Version, p, strings.Join(c.problems[p], "; "))
		f.Platform = p
	}
	if n := len(c.unseen); n > 0 {
		why := slices.Compact(slices.Sorted(slices.Values(c.unseen)))
		about.result.Unchecked = append(about.result.Unchecked, fmt.Sprintf("the content of packages of %s %s: %s", l.Addr, l.Version, why[0]))
	}
}
