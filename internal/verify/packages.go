package verify

import (
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/provider"
)

// inspector looks for files in packages that should not be there.
type inspector struct {
	ask       asker
	allowance *Allowance
	platforms []provider.Platform // the demanded platforms
}

// look inspects the packages that the entries cover, the smallest first, as far as the
// allowance permits. A package of unknown size is inspected alone, after the others.
func (i inspector) look(cases []*accountCase) {
	limits := map[ask.Question]int64{}
	var sized, unsized []packagePart
	var asked []ask.Question
	for _, part := range i.covered(cases) {
		k, size := part.key(part.platform), part.sizes[part.platform]
		switch {
		case size == 0:
			unsized = append(unsized, part)
			continue
		case size == provider.AtHand:
			limits[k] = 1
		case i.allowance.take(size):
			limits[k] = size
		default:
			part.unseen = append(part.unseen, string(ForBudget))
			continue
		}
		sized, asked = append(sized, part), append(asked, k)
	}
	answers := i.ask.contents(limits, asked)
	for _, part := range sized {
		part.saw(answers[part.key(part.platform)])
	}
	for _, part := range unsized {
		limit := i.allowance.takeAll()
		if limit == 0 {
			part.unseen = append(part.unseen, string(ForBudget))
			continue
		}
		k := part.key(part.platform)
		said := i.ask.contents(map[ask.Question]int64{k: limit}, []ask.Question{k})[k]
		part.saw(said)
		if said.Err == nil {
			i.allowance.giveBack(limit - said.Value.Size)
		}
	}
}

// saw notes what is wrong with the files in the package.
func (p packagePart) saw(said ask.Reply[provider.Content]) {
	switch {
	case said.Err != nil:
		p.unseen = append(p.unseen, said.Err.Error())
	case len(said.Value.Problems) > 0:
		p.problems[p.platform] = said.Value.Problems
	}
}

// covered are the packages to inspect, with their sizes, the smallest first. A package that
// this run has downloaded needs no download.
func (i inspector) covered(cases []*accountCase) []packagePart {
	var parts, unsized []packagePart
	var asked []ask.Question
	for _, c := range cases {
		switch {
		case c.reason != "":
			c.unseen = append(c.unseen, string(c.reason))
			continue
		case c.atMirror:
			c.unseen = append(c.unseen, "they are a mirror's")
			continue
		}
		for _, p := range i.inside(c) {
			part := packagePart{c, p}
			file, _ := c.file(p)
			switch {
			case file.Fresh:
				c.sizes[p] = provider.AtHand
			case file.Sum.Size > 0:
				c.sizes[p] = file.Sum.Size
			default:
				unsized, asked = append(unsized, part), append(asked, c.key(p))
				continue
			}
			parts = append(parts, part)
		}
	}
	sizes := i.ask.sizes(asked)
	for _, part := range unsized {
		said := sizes[part.key(part.platform)]
		if said.Err != nil {
			part.unseen = append(part.unseen, said.Err.Error())
			continue
		}
		part.sizes[part.platform] = said.Value
		parts = append(parts, part)
	}
	slices.SortStableFunc(parts, func(p, q packagePart) int { return bySize(p.sizes[p.platform], q.sizes[q.platform]) })
	return parts
}

// inside are the platforms whose packages are inspected: the demanded ones, or else those
// whose h1 the entries record.
func (i inspector) inside(c *accountCase) []provider.Platform {
	recorded := map[provider.Hash]bool{}
	for _, e := range c.suspects {
		for _, h := range e.Lock.Hashes {
			recorded[h] = true
		}
	}
	var some []provider.Platform
	for _, p := range slices.SortedFunc(maps.Keys(c.archives), provider.Platform.Compare) {
		file, _ := c.file(p)
		if len(i.platforms) > 0 && slices.Contains(i.platforms, p) ||
			len(i.platforms) == 0 && slices.ContainsFunc(file.Sum.Contents(), func(h provider.Hash) bool { return recorded[h] }) {
			some = append(some, p)
		}
	}
	return some
}
