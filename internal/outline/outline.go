// Package outline decides which facts of a report people see, and in which order.
// The order is: the result of the run, the changes that root modules share, the
// parts that need a reviewer, held providers, and providers with several
// versions. All sentences about several root modules are made here. Package
// render prints an outline; it decides the form only.
//
// The sentences are safe.Markdown, which marks each piece of outside text. So one
// sentence serves the terminal, GitHub and a page.
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

// Outline is the text about a run, in order, the most important part first. It
// says once what several root modules share, and names them.
type Outline struct {
	// Words are the names that the report uses for providers and files.
	Words    Vocabulary
	Headline safe.Markdown // the result of the run: failures first
	Closing  safe.Markdown // the result in counts; empty if the rest of the report says it
	Next     string        // what to do next, in the form for safe.Hint
	Tally    safe.Markdown // what needs a reviewer, in counts; empty if nothing does
	Told     int           // root modules that the report says something about
	Changed  int           // root modules with changed entries
	Changes  []ChangeRow
	Locked   []ModuleRow   // changes of locked modules
	Unpinned safe.Markdown // that nothing locks the modules of a scan; empty if something does
	Proofs   safe.Markdown // what proves the hashes of the proposed lock files; empty if nobody looked
	Signed   safe.Markdown // who signed the proposed releases; empty if unknown
	Assumed  safe.Markdown // the assumed releases of the tools; empty if none
	Review   []*Topic      // what needs a reviewer, by concern
	Modules  []Block       // root modules that change; those with the same changes share a block
	Held     []*Topic      // what blocks providers
	Spreads  []report.VersionSkew
	Notes    []notes.Notes // those that a reviewer must read come first
}

// Of returns the outline of a report for people.
func Of(r report.Report) Outline {
	d := VocabularyOf(r)
	common := commonChanges(r, d)
	review := reviewOf(r, d)
	return Outline{
		Words: d, Headline: headline(r), Closing: closing(r), Next: StepOf(r), Tally: tallyOf(review),
		Told: told(r), Changed: collect.CountIf(r.Modules, hasChanges),
		Changes: rowsOf(r, d, common), Locked: ModuleRows(r, r.Modules...), Unpinned: unpinned(r), Proofs: proven(r), Signed: signedBy(d, common), Assumed: d.assumed(r), Review: review, Modules: blocksOf(r, d), Held: heldBack(r, d),
		Spreads: askedFor(report.Skews(r), r.Asked.Providers), Notes: distinctNotes(report.SortedNotes(r)),
	}
}

// askedFor returns the spreads of the providers that the user asked about.
func askedFor(spreads []report.VersionSkew, asked []provider.Pattern) []report.VersionSkew {
	return slices.DeleteFunc(spreads, func(s report.VersionSkew) bool {
		return len(asked) > 0 && !slices.ContainsFunc(asked, func(p provider.Pattern) bool { return p.Match(s.Addr) })
	})
}

// distinctNotes returns the notes of each upgrade once, although several
// repositories may take it: those that were read, if any were.
func distinctNotes(all []notes.Notes) []notes.Notes {
	type upgrade struct {
		addr     provider.Addr
		module   string
		from, to provider.Version
	}
	var of collect.Groups[upgrade, notes.Notes]
	for _, n := range all {
		of.Add(upgrade{n.Addr, n.Module, n.From, n.To}, n)
	}
	return collect.Mapped(of.Keys, func(u upgrade) notes.Notes {
		read := slices.IndexFunc(of.Of[u], func(n notes.Notes) bool { return n.Problem == "" })
		return of.Of[u][max(read, 0)]
	})
}

// rank orders kinds by how much they need a reviewer.
var rank = map[diff.Kind]int{
	diff.ReReleased: 0, diff.Signer: 1, diff.Downgraded: 2, diff.Upgraded: 3, diff.Moved: 4,
	diff.Removed: 5, diff.Added: 6, diff.Completed: 7, diff.Constrained: 8, diff.Normalised: 9,
}

// Tone is how much a change needs a reviewer. It is a CSS class of the page, and
// a colour on a terminal.
type Tone string

const (
	ToneBad   Tone = "bad"   // look at it
	ToneMajor Tone = "major" // it may break something
	ToneGood  Tone = "good"  // as expected
	ToneNone  Tone = "none"  // an init would not notice it
)

// tones are all tones, the worst first.
var tones = []Tone{ToneBad, ToneMajor, ToneGood, ToneNone}

func worse(a, b Tone) Tone {
	return tones[min(slices.Index(tones, a), slices.Index(tones, b))]
}

// ToneOf returns the tone of a change.
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
	major, review bool // a provider gets a major upgrade, or needs a reviewer
	roots         int
}

// before orders priorities: first major upgrades, then changes that need a
// reviewer, then changes in many root modules.
func (w priority) before(o priority) int {
	return cmp.Or(collect.TrueFirst(w.major, o.major), collect.TrueFirst(w.review, o.review), o.roots-w.roots)
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

// CommonChange is one change that several root modules share.
type CommonChange struct {
	Move, Kind safe.Markdown
	Dirs       []string
	change     report.Change
}

type commonKey struct {
	addr, addrFrom provider.Addr
	kind           diff.Kind
	from, to       provider.Version
	signer, former provider.Signer
}

// commonChanges returns the changes of each provider, by kind and versions. A
// change that several root modules share is there once. Root modules keep the
// report's order.
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
				collect.TrueFirst(isMajor(a.change), isMajor(b.change)),
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
	// Short is the name without the host of the registry. Host is the host, if Name
	// has it.
	Short, Host safe.Markdown
	Tone        Tone
	Common      []CommonChange
	Roots       int
}

// rowsOf returns the changes of each provider, the most important first.
func rowsOf(r report.Report, d Vocabulary, common map[provider.Addr][]CommonChange) []ChangeRow {
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
	var rows []ChangeRow
	all := collect.Mapped(r.Modules, r.Title)
	for _, a := range slices.SortedFunc(maps.Keys(common), func(a, b provider.Addr) int {
		return cmp.Or(priorities[a].before(*priorities[b]), a.Compare(b))
	}) {
		rows = append(rows, providerRow(d, a, common[a], all))
	}
	return rows
}

// providerRow is the row of one provider. If a version moves, the row shows
// versions and date. With several kinds of changes it counts the root modules of
// each.
func providerRow(d Vocabulary, a provider.Addr, common []CommonChange, all []string) ChangeRow {
	row := ChangeRow{Name: d.Name(a), Short: safe.Code(a.Namespace + "/" + a.Type), Tone: ToneNone, Common: common}
	if row.Name != row.Short {
		row.Host = safe.Text(a.Host.ForDisplay())
	}
	moving := slices.ContainsFunc(common, func(s CommonChange) bool { return s.change.From != s.change.To })
	var from, to []provider.Version
	var dirs collect.Set[string]
	var kinds collect.Groups[safe.Markdown, string] // root modules
	var released collect.Set[safe.Markdown]
	for _, s := range common {
		c := s.change
		if c.From != c.To || !moving {
			from, to = append(from, c.Olds()...), append(to, c.News()...)
			released.Add(safe.Text(provider.Day(c.Published).String()))
		}
		dirs.Add(s.Dirs...)
		kinds.Add(s.Kind, s.Dirs...)
		row.Tone = worse(row.Tone, ToneOf(c))
	}
	row.From, row.To = d.versions(from), d.versions(to)
	row.Move = moved(row.From, row.To)
	row.Kind, row.Where, row.Roots = safe.Join(", ", kinds.Keys...), whereOf(d, dirs.List, all), len(dirs.List)
	if len(kinds.Keys) > 1 {
		row.Kind = safe.Join(", ", collect.Mapped(kinds.Keys, func(kind safe.Markdown) safe.Markdown {
			return safe.Format("%s (%s)", kind, safe.Int(len(kinds.Of[kind])))
		})...)
	}
	if len(released.List) == 1 {
		row.Released = released.List[0]
	}
	return row
}

// whereOf names a few root modules, or counts many. It adds the directories of
// many, if they separate them from the other root modules of the report.
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

// commonDepth is the number of leading parts that all paths share.
func commonDepth(paths []string) int {
	depth := 0
	for len(prefixesOf(paths, depth+1)) == 1 {
		depth++
	}
	return depth
}

// prefixesOf returns the first depth parts of each path, sorted, each once; none
// if a path is shorter.
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

// Block is the changes of root modules that change alike.
type Block struct {
	Tool     safe.Markdown
	Dirs     []string
	What     safe.Markdown   // the number of changes, or what is known instead
	Items    []safe.Markdown // a sentence for each change
	priority priority
}

// blocksOf returns the changed root modules, the most important first. Root
// modules with the same changes share a block.
func blocksOf(r report.Report, d Vocabulary) []Block {
	var blocks []Block
	index := map[safe.Markdown]int{}
	for _, m := range r.Modules {
		if !hasChanges(m) && !m.Pending {
			continue
		}
		b := Block{Tool: ToolText(m), What: d.Unlisted(m), Items: d.itemsOf(m)}
		switch {
		case hasChanges(m):
			b.What = safe.Count(len(m.Changes)+len(m.LockedModules), "change", "changes")
		case m.Remembered:
			b.What = safe.Text(pendingWord(r, m))
		}
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
