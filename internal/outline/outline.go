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
	"maps"
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
	Changes     []ChangeRow
	Signed      safe.Markdown // who signed what is proposed; empty if that is not known
	Assumed     safe.Markdown // which releases of the tools are assumed; empty if none is
	Review      []*Topic      // what wants a reviewer, by concern
	Modules     []Block       // root modules that change, those that change alike together
	Held        []*Topic      // what holds providers back
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
	changes, signed := rowsOf(r, d)
	return Outline{
		Words: d, Headline: headline(r, totals), Next: StepOf(r), Failed: failedIn(r).clause(r), Differences: differences(r), Totals: totals,
		Changes: changes, Signed: signed, Assumed: d.assumed(r), Review: reviewOf(r, d, findingsApart), Modules: blocksOf(r, d), Held: heldBack(r, d),
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

// tones are all, the worst first.
var tones = []Tone{ToneBad, ToneMajor, ToneGood, ToneNone}

func worse(a, b Tone) Tone {
	return tones[min(slices.Index(tones, a), slices.Index(tones, b))]
}

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

// priority says how early a reader must see something.
type priority struct {
	major, review bool // a provider takes a major upgrade, or wants a reviewer
	roots         int
}

// before orders them: major upgrades first, then what wants a reviewer, then what is
// in the most root modules.
func (w priority) before(o priority) int {
	return cmp.Or(sooner(w.major, o.major), sooner(w.review, o.review), o.roots-w.roots)
}

// sooner orders what holds before what does not.
func sooner(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func isMajor(c report.Change) bool {
	return c.Bump == provider.BumpMajor && c.To.Compare(c.From) > 0
}

// count adds a change of a root module.
func (w *priority) count(d Vocabulary, c report.Change) {
	w.major = w.major || isMajor(c)
	if !w.review {
		all := causesIn(d)
		all.change(c, "")
		all.facts(report.Kept{Addr: c.Addr, Version: c.To, Facts: c.Facts}, "")
		w.review = len(all.list) > 0
	}
}

// CommonChange is one change that several root modules have in common.
type CommonChange struct {
	Move, Kind safe.Markdown
	Dirs       []string
	change     report.Change
}

// commonKey is what makes changes equal.
type commonKey struct {
	addr, addrFrom provider.Addr
	kind           diff.Kind
	from, to       provider.Version
	signer, former provider.Signer
}

// commonChanges are the changes of each provider, equal ones over root modules once, by kind and
// versions. Root modules keep the report's order.
func commonChanges(r report.Report, d Vocabulary) map[provider.Addr][]CommonChange {
	common := map[provider.Addr][]CommonChange{}
	index := map[commonKey]int{}
	for _, m := range r.Modules {
		for _, c := range m.Changes {
			k := commonKey{c.Addr, c.AddrFrom, c.Kind, c.From, c.To, c.Signer, c.SignerFrom}
			i, known := index[k]
			if !known {
				i = len(common[c.Addr])
				index[k] = i
				common[c.Addr] = append(common[c.Addr], CommonChange{Move: d.Move(c), Kind: safe.Text(d.Label(c)), change: c})
			}
			common[c.Addr][i].Dirs = append(common[c.Addr][i].Dirs, r.Title(m))
		}
	}
	for _, of := range common {
		slices.SortStableFunc(of, func(a, b CommonChange) int {
			return cmp.Or(
				cmp.Compare(rank[a.change.Kind], rank[b.change.Kind]),
				sooner(isMajor(a.change), isMajor(b.change)),
				a.change.From.Compare(b.change.From),
				a.change.To.Compare(b.change.To),
			)
		})
	}
	return common
}

// ChangeRow is what happens to a provider in all root modules.
type ChangeRow struct {
	Name, From, To, Move, Kind safe.Markdown
	Where                      safe.Markdown // the root modules
	Released                   safe.Markdown
	Signer                     safe.Markdown // what is unusual of it; mostly nothing
	Tone                       Tone
	Common                     []CommonChange
	Roots                      int
}

// rowsOf are the changes of each provider, what a reader must see first in front, and
// who signed the releases.
func rowsOf(r report.Report, d Vocabulary) (rows []ChangeRow, signed safe.Markdown) {
	priorities := map[provider.Addr]*priority{}
	for _, m := range r.Modules {
		for _, c := range m.Changes {
			if priorities[c.Addr] == nil {
				priorities[c.Addr] = &priority{}
			}
			priorities[c.Addr].count(d, c)
			priorities[c.Addr].roots++
		}
	}
	common := commonChanges(r, d)
	signed, unusual := d.signedBy(common)
	all := collect.Mapped(r.Modules, r.Title)
	for _, a := range slices.SortedFunc(maps.Keys(common), func(a, b provider.Addr) int {
		return cmp.Or(priorities[a].before(*priorities[b]), a.Compare(b))
	}) {
		row := providerRow(d, a, common[a], all)
		row.Signer = unusual[a]
		rows = append(rows, row)
	}
	return rows, signed
}

// providerRow is that of a provider with the changes, in a report of all the root modules.
// It shows versions and date of what moves, if anything does, and of several kinds in how
// many root modules.
func providerRow(d Vocabulary, a provider.Addr, common []CommonChange, all []string) ChangeRow {
	row := ChangeRow{Name: d.Name(a), Tone: ToneNone, Common: common}
	moving := slices.ContainsFunc(common, func(s CommonChange) bool { return s.change.From != s.change.To })
	var from, to []provider.Version
	var dirs collect.Set[string]
	var kinds, released collect.Set[safe.Markdown]
	of := map[safe.Markdown]int{} // root modules, by kind
	for _, s := range common {
		c := s.change
		if c.From != c.To || !moving {
			from, to = append(from, c.Olds()...), append(to, c.News()...)
			released.Add(safe.Text(provider.Day(c.Published).String()))
		}
		dirs.Add(s.Dirs...)
		kinds.Add(s.Kind)
		of[s.Kind] += len(s.Dirs)
		row.Tone = worse(row.Tone, ToneOf(c))
	}
	row.From, row.To = d.versions(from), d.versions(to)
	row.Move = cmp.Or(row.To, row.From)
	if !row.From.Empty() && !row.To.Empty() && row.From != row.To {
		row.Move = safe.Join(" ", row.From, safe.Arrow, row.To)
	}
	row.Kind, row.Where, row.Roots = safe.Join(", ", kinds.List...), whereOf(d, dirs.List, all), len(dirs.List)
	if len(kinds.List) > 1 {
		row.Kind = safe.Join(", ", collect.Mapped(kinds.List, func(kind safe.Markdown) safe.Markdown { return safe.Format("%s (%s)", kind, safe.Int(of[kind])) })...)
	}
	if len(released.List) == 1 {
		row.Released = released.List[0]
	}
	return row
}

// whereOf names root modules: few by name, and many by their number and the
// directories that they are in, where that tells them from all of the report.
func whereOf(d Vocabulary, dirs, all []string) safe.Markdown {
	text := d.Dirs(dirs, FewDirs)
	if len(dirs) <= FewDirs {
		return text
	}
	top := commonDepth(all)
	var best []string
	for depth := top + 1; ; depth++ {
		prefixes := prefixesOf(dirs, depth)
		if prefixes == nil || len(prefixes) > FewDirs || len(prefixes) == len(prefixesOf(all, depth)) {
			break
		}
		best = prefixes
	}
	if best == nil {
		return text
	}
	return text.And(" in %s", d.List(best))
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
	Tool     safe.Markdown
	Dirs     []string
	Changes  int
	Items    []safe.Markdown // a sentence for each
	priority priority
}

// blocksOf are the changed root modules, those with the same changes once, and what a
// reader must see first in front.
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
		blocks[i].priority.roots++
		for _, c := range m.Changes {
			blocks[i].priority.count(d, c)
		}
	}
	slices.SortStableFunc(blocks, func(a, b Block) int { return a.priority.before(b.priority) })
	return blocks
}
