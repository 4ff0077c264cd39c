// Package outline says what people are shown of a report, in which order: what the run
// came to, the changes that root modules have in common, what wants a reviewer and why,
// what is held back, and where versions differ. Whatever goes over all root modules of a
// report is here. render prints an outline, and decides the form alone.
//
// Its sentences are safe.Markdown, which knows every piece from outside as such, so that
// one sentence serves the terminal, GitHub and a page.
package outline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// Outline is what people are shown of a run, in order. What is equal in several root
// modules is there once, with their names. What matters most comes first.
type Outline struct {
	// Words are those of the report: what it calls providers and files.
	Words    Vocabulary
	Headline safe.Markdown // what the run came to: first what failed
	Failed   safe.Markdown // which root modules failed, in a clause; empty if none did
	Next     Step          // what to do about it
	Totals   Totals
	// Differences counts those of a diff, in a few words.
	Differences string
	Changes     changeTable
	Review      []*Topic // what wants a reviewer, by concern
	Modules     []Block  // root modules that change, those that change alike together
	Held        []*Topic // what holds providers back
	Spreads     []report.VersionSkew
	Notes       []notes.Notes // those first that a reviewer must read
}

// Of returns the outline of a report.
func Of(r report.Report) Outline { return outlineOf(r, false) }

// WithFindingsApart is Of without the findings of verified lock files, for a printer that
// has a table of its own for them.
func WithFindingsApart(r report.Report) Outline { return outlineOf(r, true) }

func outlineOf(r report.Report, findingsApart bool) Outline {
	d := VocabularyOf(r)
	totals := totalsOf(r)
	return Outline{
		Words: d, Headline: headline(r, totals), Next: StepOf(r), Failed: failedIn(r).clause(r), Differences: differences(r), Totals: totals,
		Changes: tableOf(r, d), Review: reviewOf(r, d, findingsApart), Modules: blocksOf(r, d), Held: heldBack(r, d),
		Spreads: askedFor(report.Skews(r), r.Asked.Providers), Notes: report.SortedNotes(r),
	}
}

// askedFor are those of the providers that the run was about.
func askedFor(spreads []report.VersionSkew, asked []provider.Pattern) []report.VersionSkew {
	return slices.DeleteFunc(spreads, func(s report.VersionSkew) bool {
		return len(asked) > 0 && !slices.ContainsFunc(asked, func(p provider.Pattern) bool { return p.Match(s.Addr) })
	})
}

// rank orders kinds by how much they need a reviewer's eye.
var rank = map[diff.Kind]int{
	diff.ReReleased: 0, diff.Signer: 1, diff.Downgraded: 2, diff.Upgraded: 3, diff.Moved: 4,
	diff.Removed: 5, diff.Added: 6, diff.Completed: 7, diff.Constrained: 8, diff.Normalised: 9,
}

// Tone is how much a change wants a reviewer's eye. It is a class of the page, and a
// colour on a terminal.
type Tone string

// The tones.
const (
	ToneBad   Tone = "bad"   // look at it
	ToneMajor Tone = "major" // it may break something
	ToneGood  Tone = "good"  // as it should be
	ToneNone  Tone = "none"  // nothing that an init would notice
)

// ToneOf says how much a change wants a reviewer's eye.
func ToneOf(c report.Change) Tone {
	switch {
	case c.Kind == diff.Downgraded, c.Kind == diff.ReReleased, c.Kind == diff.Signer, c.Kind == diff.Removed:
		return ToneBad
	case c.Bump == provider.BumpMajor, c.Kind == diff.Moved:
		return ToneMajor
	case c.Kind == diff.Constrained, c.Kind == diff.Normalised:
		return ToneNone
	}
	return ToneGood
}

// group is one change that several root modules have in common.
type group struct {
	change report.Change
	Dirs   []string
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
func commonChanges(r report.Report) []group {
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
			groups[i].Dirs = append(groups[i].Dirs, r.Title(m))
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
	d      Vocabulary
	Groups []group
	all    []string // root modules of the report
}

func tableOf(r report.Report, d Vocabulary) changeTable {
	return changeTable{d: d, Groups: commonChanges(r), all: collect.Mapped(r.Modules, r.Title)}
}

// ChangeRow is a row of that table.
type ChangeRow struct {
	Name, From, To, Move, Kind safe.Markdown
	Where                      safe.Markdown // the root modules
	Released, Signer           safe.Markdown
	Tone                       Tone
}

// The ways to join rows, each shorter than the one before.
const (
	EveryChange   = iota // a row for each change that root modules have in common
	everyTarget          // a row for each version that a provider comes to
	everyProvider        // a row for each provider
	WaysToJoin
)

// Rows are those of the table, joined in one of the ways.
func (t changeTable) Rows(way int) []ChangeRow {
	var rows []ChangeRow
	for start := 0; start < len(t.Groups); {
		end := start + 1
		for end < len(t.Groups) && joined(way, t.Groups[start].change, t.Groups[end].change) {
			end++
		}
		rows = append(rows, t.row(t.Groups[start:end]))
		start = end
	}
	return rows
}

func joined(way int, a, b report.Change) bool {
	switch way {
	case everyTarget:
		return a.Addr == b.Addr && a.Kind == b.Kind && a.To == b.To && (Vocabulary{}).Label(a) == (Vocabulary{}).Label(b)
	case everyProvider:
		return a.Addr == b.Addr
	}
	return false
}

// row tells of several changes of one provider.
func (t changeTable) row(groups []group) ChangeRow {
	first := groups[0].change
	if len(groups) == 1 {
		return ChangeRow{
			Name: t.d.Name(first.Addr), From: t.d.versions(first.Olds()), To: t.d.versions(first.News()), Move: t.d.Move(first),
			Kind: safe.Text(t.d.Label(first)), Where: t.where(groups[0].Dirs), Released: safe.Text(provider.Day(first.Published).String()), Signer: t.d.signers(first.Facts),
			Tone: ToneOf(first),
		}
	}
	row := ChangeRow{Name: t.d.Name(first.Addr), Tone: ToneOf(first)}
	var from, to []provider.Version
	var dirs collect.Set[string]
	var kinds, released, signers collect.Set[safe.Markdown]
	for _, g := range groups {
		from, to = append(from, g.change.Olds()...), append(to, g.change.News()...)
		dirs.Add(g.Dirs...)
		kinds.Add(safe.Text(t.d.Label(g.change)))
		released.Add(safe.Text(provider.Day(g.change.Published).String()))
		signers.Add(t.d.signers(g.change.Facts))
	}
	row.From, row.To = t.d.versions(from), t.d.versions(to)
	row.Move = row.To
	if !row.From.Empty() && row.From != row.To {
		row.Move = safe.Join(" ", row.From, safe.Arrow, row.To).Trimmed()
	}
	row.Kind, row.Where = safe.Join(", ", kinds.List...), t.where(dirs.List)
	if len(released.List) == 1 {
		row.Released = released.List[0]
	}
	row.Signer = safe.Join(", ", signers.List...)
	if len(signers.List) > 2 {
		row.Signer = safe.Count(len(signers.List), "signer", "signers")
	}
	return row
}

// where names root modules: few by name, and many by their number and the
// directories that they are in, where that tells them from the others.
func (t changeTable) where(dirs []string) safe.Markdown {
	text := t.d.Dirs(dirs, FewDirs)
	if len(dirs) <= FewDirs {
		return text
	}
	top := commonDepth(t.all)
	var best []string
	for depth := top + 1; ; depth++ {
		prefixes := prefixesOf(dirs, depth)
		if prefixes == nil || len(prefixes) > FewDirs || len(prefixes) == len(prefixesOf(t.all, depth)) {
			break
		}
		best = prefixes
	}
	if best == nil {
		return text
	}
	return text.And(" in %s", t.d.List(best))
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

// Block is what changes in root modules that change alike.
type Block struct {
	Tool    safe.Markdown
	Dirs    []string
	Changes int
	Items   []safe.Markdown // a sentence for each
}

// blocksOf are the changed root modules, those with the same changes once.
func blocksOf(r report.Report, d Vocabulary) []Block {
	var blocks []Block
	index := map[safe.Markdown]int{}
	for _, m := range r.Modules {
		if len(m.Changes) == 0 && !m.Pending {
			continue
		}
		b := Block{Tool: ToolText(m), Changes: len(m.Changes), Items: d.itemsOf(m)}
		key := b.Tool.And("\n%s", safe.Join("\n", b.Items...))
		i, known := index[key]
		if !known {
			i = len(blocks)
			index[key] = i
			blocks = append(blocks, b)
		}
		blocks[i].Dirs = append(blocks[i].Dirs, r.Title(m))
	}
	return blocks
}
