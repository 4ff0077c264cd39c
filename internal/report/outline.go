package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
)

// outline is what people are told of a run: what is equal stands once, with in how many root modules, and what matters most comes
// first. Who prints it decides nothing but the form; what has no room is cut in
// assemble.
type outline struct {
	d        vocabulary
	headline safe.Markdown
	changes  changeTable
	review   []*cause
	modules  []block
	held     []*cause
	spreads  []spread
	notes    []notes.Notes
}

func outlineOf(r Report) outline {
	d := vocabularyOf(r)
	return outline{
		d: d, headline: r.sentence(),
		changes: tableOf(r, d), review: reviewOf(r, d), modules: blocksOf(r, d), held: heldBack(r, d),
		spreads: askedFor(spreadsOf(r), r.Asked.Providers), notes: sortedNotes(r),
	}
}

// askedFor are those of the providers that the run was about.
func askedFor(spreads []spread, asked []provider.Pattern) []spread {
	return slices.DeleteFunc(spreads, func(s spread) bool {
		return len(asked) > 0 && !slices.ContainsFunc(asked, func(p provider.Pattern) bool { return p.Match(s.Addr) })
	})
}

// rank orders kinds by how much they need a reviewer's eye.
var rank = map[diff.Kind]int{
	diff.ReReleased: 0, diff.Signer: 1, diff.Downgraded: 2, diff.Upgraded: 3, diff.Moved: 4,
	diff.Removed: 5, diff.Added: 6, diff.Completed: 7, diff.Constrained: 8, diff.Normalised: 9,
}

// tone is how much a change wants a reviewer's eye. It is a class of the page, and a
// colour on a terminal.
type tone string

// The tones.
const (
	toneBad   tone = "bad"   // look at it
	toneMajor tone = "major" // it may break something
	toneGood  tone = "good"  // as it should be
	toneNone  tone = "none"  // nothing that an init would notice
)

func toneOf(c Change) tone {
	switch {
	case c.Kind == diff.Downgraded, c.Kind == diff.ReReleased, c.Kind == diff.Signer, c.Kind == diff.Removed:
		return toneBad
	case c.Bump == provider.BumpMajor, c.Kind == diff.Moved:
		return toneMajor
	case c.Kind == diff.Constrained, c.Kind == diff.Normalised:
		return toneNone
	}
	return toneGood
}

// group is one change that several root modules have in common.
type group struct {
	change Change
	dirs   []string
}

// groupKey is what makes changes equal.
type groupKey struct {
	addr, addrFrom provider.Addr
	kind           diff.Kind
	from, to       provider.Version
	signer, former provider.Signer
}

// commonChanges joins equal changes over root modules, sorted by address, kind and
// versions. Root modules keep the report's order.
func commonChanges(r Report) []group {
	var groups []group
	index := map[groupKey]int{}
	for _, m := range r.Modules {
		for _, c := range m.Changes {
			k := groupKey{c.Addr, c.AddrFrom, c.Kind, c.From, c.To, c.Signer, c.SignerFrom}
			i, known := index[k]
			if !known {
				i = len(groups)
				index[k] = i
				groups = append(groups, group{change: c})
			}
			groups[i].dirs = append(groups[i].dirs, r.title(m))
		}
	}
	slices.SortStableFunc(groups, func(a, b group) int {
		return cmp.Or(
			a.change.Addr.Compare(b.change.Addr),
			cmp.Compare(rank[a.change.Kind], rank[b.change.Kind]),
			a.change.From.Compare(b.change.From),
			a.change.To.Compare(b.change.To),
		)
	})
	return groups
}

// changeTable is the table of all changes. Where it has no room, rows are joined.
type changeTable struct {
	d      vocabulary
	groups []group
	all    []string // root modules of the report
}

func tableOf(r Report, d vocabulary) changeTable {
	return changeTable{d: d, groups: commonChanges(r), all: collect.Each(r.Modules, r.title)}
}

// changeRow is a row of that table.
type changeRow struct {
	name, from, to, move, kind safe.Markdown
	where                      safe.Markdown // the root modules
	released, signer           safe.Markdown
	tone                       tone
}

// The ways to join rows, each shorter than the one before.
const (
	everyChange   = iota // a row for each change that root modules have in common
	everyTarget          // a row for each version that a provider comes to
	everyProvider        // a row for each provider
	waysToJoin
)

// rows are those of the table, joined in one of the ways.
func (t changeTable) rows(way int) []changeRow {
	var rows []changeRow
	for start := 0; start < len(t.groups); {
		end := start + 1
		for end < len(t.groups) && joined(way, t.groups[start].change, t.groups[end].change) {
			end++
		}
		rows = append(rows, t.row(t.groups[start:end]))
		start = end
	}
	return rows
}

func joined(way int, a, b Change) bool {
	switch way {
	case everyTarget:
		return a.Addr == b.Addr && a.Kind == b.Kind && a.To == b.To && a.label() == b.label()
	case everyProvider:
		return a.Addr == b.Addr
	}
	return false
}

// row tells of several changes of one provider.
func (t changeTable) row(groups []group) changeRow {
	first := groups[0].change
	if len(groups) == 1 {
		return changeRow{
			name: t.d.name(first.Addr), from: t.d.versions(first.olds()), to: t.d.versions(first.news()), move: t.d.move(first),
			kind: safe.Text(first.label()), where: t.where(groups[0].dirs), released: safe.Text(day(first.Published)), signer: t.d.signers(first.Facts),
			tone: toneOf(first),
		}
	}
	row := changeRow{name: t.d.name(first.Addr), tone: toneOf(first)}
	var from, to []provider.Version
	var dirs collect.Set[string]
	var kinds, released, signers collect.Set[safe.Markdown]
	for _, g := range groups {
		from, to = append(from, g.change.olds()...), append(to, g.change.news()...)
		dirs.Add(g.dirs...)
		kinds.Add(safe.Text(g.change.label()))
		released.Add(safe.Text(day(g.change.Published)))
		signers.Add(t.d.signers(g.change.Facts))
	}
	row.from, row.to = t.d.versions(from), t.d.versions(to)
	if row.move = row.to; !row.from.Empty() && row.from != row.to {
		row.move = safe.Join(" ", row.from, safe.Arrow, row.to).Trimmed()
	}
	row.kind, row.where = safe.Join(", ", kinds.List...), t.where(dirs.List)
	if len(released.List) == 1 {
		row.released = released.List[0]
	}
	if row.signer = safe.Join(", ", signers.List...); len(signers.List) > 2 {
		row.signer = safe.Count(len(signers.List), "signer", "signers")
	}
	return row
}

// where names root modules: few by name, and many by their number and the
// directories that they are in, where that tells them from the others.
func (t changeTable) where(dirs []string) safe.Markdown {
	text := t.d.dirs(dirs, fewDirs)
	if len(dirs) <= fewDirs {
		return text
	}
	top := commonDepth(t.all)
	var best []string
	for depth := top + 1; ; depth++ {
		prefixes := prefixesOf(dirs, depth)
		if prefixes == nil || len(prefixes) > fewDirs || len(prefixes) == len(prefixesOf(t.all, depth)) {
			break
		}
		best = prefixes
	}
	if best == nil {
		return text
	}
	return text.And(" in %s", t.d.list(best))
}

// commonDepth is how many leading parts all the paths have in common.
func commonDepth(paths []string) int {
	depth := 0
	for len(prefixesOf(paths, depth+1)) == 1 {
		depth++
	}
	return depth
}

// prefixesOf are the directories of some depth that paths are below, sorted; none
// if one of them is less deep.
func prefixesOf(paths []string, depth int) []string {
	var found collect.Set[string]
	for _, p := range paths {
		parts := strings.SplitN(p, "/", depth+1)
		if len(parts) <= depth {
			return nil
		}
		found.Add(strings.Join(parts[:depth], "/"))
	}
	slices.Sort(found.List)
	return found.List
}

// block is what changes in root modules that change alike.
type block struct {
	tool    safe.Markdown
	dirs    []string
	changes int
	items   []safe.Markdown // a sentence for each
}

// blocks are the changed root modules, those with the same changes once.
func blocksOf(r Report, d vocabulary) []block {
	var blocks []block
	index := map[safe.Markdown]int{}
	for _, m := range r.Modules {
		if len(m.Changes) == 0 && !m.Pending {
			continue
		}
		b := block{tool: toolText(m), changes: len(m.Changes), items: d.itemsOf(m)}
		key := b.tool.And("\n%s", safe.Join("\n", b.items...))
		i, known := index[key]
		if !known {
			i = len(blocks)
			index[key] = i
			blocks = append(blocks, b)
		}
		blocks[i].dirs = append(blocks[i].dirs, r.title(m))
	}
	return blocks
}

// spread is a provider of which root modules use different versions.
type spread struct {
	Addr     provider.Addr `json:"provider"`
	Versions []usage       `json:"versions"` // newest first, two at least
	// Lagging are the root modules that do not use the newest version in use.
	Lagging []string `json:"lagging"`
}

// usage is where one version is in use.
type usage struct {
	Version provider.Version `json:"version"`
	Dirs    []string         `json:"directories"` // in the report's order
}

// spreads lists the providers of which more than one version is in use, sorted
// by address. A diff has none: it is about two states of one file.
func spreadsOf(r Report) []spread {
	if r.Verb == VerbDiff {
		return nil
	}
	where := map[provider.Addr]map[provider.Version][]string{}
	for _, m := range r.Modules {
		for _, u := range m.InUse {
			if where[u.Addr] == nil {
				where[u.Addr] = map[provider.Version][]string{}
			}
			where[u.Addr][u.Version] = append(where[u.Addr][u.Version], r.title(m))
		}
	}
	var all []spread
	for _, addr := range slices.SortedFunc(maps.Keys(where), provider.Addr.Compare) {
		if len(where[addr]) < 2 {
			continue
		}
		s := spread{Addr: addr}
		newestFirst := func(a, b provider.Version) int { return b.Compare(a) }
		for _, v := range slices.SortedFunc(maps.Keys(where[addr]), newestFirst) {
			s.Versions = append(s.Versions, usage{v, where[addr][v]})
		}
		for _, u := range s.Versions[1:] {
			s.Lagging = append(s.Lagging, u.Dirs...)
		}
		all = append(all, s)
	}
	return all
}
