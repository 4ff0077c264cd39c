package render

import (
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
)

// GitHub accepts 65,536 characters in the body of a pull request and 1 MiB in a
// step summary. Our limits are lower: other programs add to the body, and the
// steps of a job share the page. We count bytes, which are never fewer than
// characters.
var (
	githubLimit  = safe.Const("GitHub's limit")
	bodyBound    = bound{60_000, githubLimit, safe.Const("The step summary of the run lists them.")}
	summaryBound = bound{1<<20 - 1<<12, githubLimit, safe.Const("The JSON report lists them.")}
	answerBound  = bound{bodyBound.bytes, githubLimit, safe.Const("The report of the run lists them.")}
	jsonLists    = safe.Const("--format json lists them.") // for a limit that the user set
)

// Body returns the Markdown of a pull request that proposes the report's changes,
// with its Footer at the end. A body that is too long is cut, the least important
// part first. The cut never splits a row, an item or a root module; a line says
// what was cut.
func Body(r report.Report) safe.Markdown {
	o := outline.Of(r)
	parts := slices.Concat([]part{{head: tallyLine(o)}}, partsOf(r, o), []part{footer(r), {head: r.Footer}})
	if !r.Summarised {
		return assemble(parts, answerBound)
	}
	return assemble(parts, bodyBound)
}

// Summary returns the Markdown of an Actions step summary, cut like Body.
func Summary(r report.Report) safe.Markdown {
	parts := []part{{head: safe.Const("## relock\n")}}
	if r.Verb == verbs.Comment {
		parts = append(parts, part{head: answerOf(r)})
	} else {
		parts = slices.Concat(parts, []part{{head: fleetLines(r)}}, whole(r, outline.Of(r)))
	}
	if r.Stats.Known() {
		parts = append(parts, part{head: safe.Format("%s\n", safe.Text(r.Stats.String()))})
	}
	return assemble(parts, summaryBound)
}

// Markdown returns the report in Markdown, cut like Body to a number of bytes; 0
// means no limit. A dry run also shows the pull requests as they would look.
func Markdown(r report.Report, limit int) safe.Markdown {
	if r.Verb == verbs.Comment {
		return answerOf(r)
	}
	within := bound{limit, safe.Count(limit, "bytes", "bytes"), jsonLists}
	o := outline.Of(r)
	if bodies := bodies(r); len(bodies.items) > 0 {
		return assemble([]part{pulls(r), {head: o.Headline.Line()}, reviewPart(o), bodies}, within)
	}
	return assemble(whole(r, o), within)
}

// Comment returns the Markdown that answers a comment: first the answer, then the
// report, cut like Body.
func Comment(lead safe.Markdown, r report.Report) safe.Markdown {
	return assemble(append([]part{{head: lead}}, partsOf(r, outline.Of(r))...), answerBound)
}

// Problems lists problems in Markdown, each with its place and the next step;
// empty without problems.
func Problems(problems []problem.Problem) safe.Markdown {
	p := part{rank: 1, what: safe.Const("problem")}
	for _, t := range outline.TopicsOf(problems) {
		p.add(reviewItem(outline.Vocabulary{}, t))
	}
	return assemble([]part{p}, answerBound)
}

// whole has the parts of a report with its pull requests.
func whole(r report.Report, o outline.Outline) []part {
	if r.Fleet != nil { // firstParts has them
		return partsOf(r, o)
	}
	return append([]part{pulls(r)}, partsOf(r, o)...)
}

// bodies are the pull requests of a dry run, each under its title.
func bodies(r report.Report) part {
	all := part{what: safe.Const("pull request"), rank: 3}
	for _, p := range r.PullRequests {
		if p.Body != "" {
			all.add(safe.Format("---\n\n# %s\n\n%s\n\n", safe.Text(p.Title), safe.Ours(strings.TrimSpace(p.Body))))
		}
	}
	for _, d := range r.Dashboards {
		if d.Body != "" {
			all.add(safe.Format("---\n\n# Lock files at a glance\n\n%s\n\n", safe.Ours(strings.TrimSpace(d.Body))))
		}
	}
	return all
}

// partsOf are the parts of every Markdown report. Each has a share of the room.
// Unused room goes to the most important parts.
func partsOf(r report.Report, o outline.Outline) []part {
	if r.Verb == verbs.Verify {
		return verification(r, o)
	}
	parts := append(firstParts(r, o),
		lockedPart(o, noun(r)),
		blocksPart(o, noun(r)),
		heldPart(part{rank: 3, share: 8}, o.Held, o.Words),
		spreadsPart(o),
		notesPart(o),
	)
	if r.Verb == verbs.Check {
		parts = append(parts, acceptedPart(outline.JudgedIn(r).Accepted))
	}
	return append(parts, part{head: proofsLine(o)})
}

// fewChanges is the highest number of rows that are no obstacle on the way to the next part.
const fewChanges = 10

// firstParts say what happened and what needs a person. Many changes, and the many pull
// requests of an organisation, come after what needs a person.
func firstParts(r report.Report, o outline.Outline) []part {
	head := part{head: safe.Join("",
		o.Headline.Line(),
		safe.Maybe("\nNext: %s.\n", safe.Hint(o.Next)),
		safe.Maybe("\n%s\n", keptUnseen(r.CarriedOver)),
		safe.Maybe("\nThis pull request does not merge automatically: %s of its group failed in this run.\n",
			safe.Some(r.KeepsFromMerging, "root module", "root modules")),
	)}
	changes, review := changesPart(o, noun(r)), reviewPart(o)
	if r.Fleet == nil && len(o.Changes) <= fewChanges {
		return []part{head, changes, review}
	}
	changes.head = safe.Join("", safe.Const("### Changes\n\n"), changes.head)
	if r.Fleet == nil {
		return []part{head, review, changes}
	}
	made := pulls(r)
	made.head = safe.Const("### Pull requests\n\n")
	return []part{head, review, made, changes}
}

// tallyLine counts what needs a reviewer.
func tallyLine(o outline.Outline) safe.Markdown {
	return safe.Maybe("**Needs review:** %s.\n", o.Tally)
}

// changeShare is the share of the table of changes, in percent. The table is
// never cut completely.
const changeShare = 40

// letters mark the registries of a table. Numbers would look like counts.
const letters = "abcdefghijklmnopqrstuvwxyz"

// changesPart has a row for each provider. A column without content is left out.
// Addresses of several registries would make the table too wide for GitHub: a line
// above it names the registries, and rows have their letters.
func changesPart(o outline.Outline, noun safe.Markdown) part {
	columns := []safe.Markdown{
		safe.Const("Provider"), safe.Const("Versions"), safe.Const("Kind"), noun, safe.Const("Released"),
	}
	var hosts, named collect.Set[safe.Markdown]
	cells := collect.Mapped(o.Changes, func(r outline.ChangeRow) []safe.Markdown {
		name := r.Name
		hosts.Add(r.Host)
		if i := slices.Index(hosts.List, r.Host); i >= 0 && i < len(letters) {
			letter := safe.Text(letters[i : i+1])
			named.Add(safe.Format("(%s) %s", letter, r.Host))
			name = safe.Format("%s (%s)", r.Short, letter)
		}
		return []safe.Markdown{name, r.Move, r.Kind, r.Where, r.Released}
	})
	p := part{rank: 1, share: changeShare, what: safe.Const("change")}
	p.head = safe.Maybe("Registries: %s\n\n", safe.Join(", ", named.List...))
	return tablePart(p, columns, cells)
}

// lockedPart has a row for each change of a locked module.
func lockedPart(o outline.Outline, noun safe.Markdown) part {
	columns := []safe.Markdown{safe.Const("Module"), safe.Const("From"), safe.Const("To"), safe.Const("Kind"), noun, safe.Const("Calls"), safe.Const("Detail"), safe.Const("Difference")}
	cells := collect.Mapped(o.Locked, func(c outline.ModuleRow) []safe.Markdown {
		return []safe.Markdown{c.Name, c.From, c.To, c.Kind, o.Words.Dirs(c.Dirs, outline.FewDirs), c.Calls, c.Detail, comparing(c)}
	})
	p := part{rank: 1, share: changeShare, what: safe.Const("module"), head: safe.Const("### Locked modules\n\n")}
	return tablePart(p, columns, cells)
}

// comparing is the link to what differs in a module; empty if no page is known.
func comparing(c outline.ModuleRow) safe.Markdown {
	if c.Compare == "" {
		return safe.Markdown{}
	}
	return safe.Link(safe.Const("compare"), c.Compare)
}

// tablePart is a part with a table. A column without content is left out.
func tablePart(p part, columns []safe.Markdown, rows [][]safe.Markdown) part {
	lines := filled(columns, rows, safe.Markdown{})
	rule := slices.Repeat([]safe.Markdown{safe.Const("---")}, len(lines[0]))
	p.head = safe.Join("", p.head, tableRow(lines[0]), tableRow(rule))
	for _, line := range lines[1:] {
		p.add(tableRow(line))
	}
	return p
}

// filled returns the headings and the rows of a table, without the columns that are
// empty in every row.
func filled[T comparable](headings []T, rows [][]T, empty T) [][]T {
	all := slices.Concat([][]T{headings}, rows)
	kept := make([][]T, len(all))
	for column := range headings {
		if !slices.ContainsFunc(rows, func(row []T) bool { return row[column] != empty }) {
			continue
		}
		for i, line := range all {
			kept[i] = append(kept[i], line[column])
		}
	}
	return kept
}

func tableRow(cells []safe.Markdown) safe.Markdown {
	return safe.Format("| %s |\n", safe.Join(" | ", cells...))
}

// verification is a report of verify in Markdown.
func verification(r report.Report, o outline.Outline) []part {
	unchecked := part{rank: 3, what: safe.Const("item"), head: safe.Const("### Not checked\n\n")}
	v := outline.JudgedIn(r)
	rows := collect.Mapped(v.Findings, func(f outline.FoundRow) []safe.Markdown {
		return []safe.Markdown{safe.Text(f.Severity.String()), f.Code, f.Dir, f.Place, f.What}
	})
	for _, m := range v.Modules {
		if len(m.Unchecked) > 0 {
			unchecked.add(safe.Format("- %s: %s\n", safe.Code(m.Dir), safe.Text(strings.Join(m.Unchecked, "; "))))
		}
	}
	findings := tablePart(part{rank: 1, what: safe.Const("finding"), head: safe.Const("### Findings\n\n")},
		[]safe.Markdown{safe.Const("Severity"), safe.Const("Code"), safe.Const("Root module"), safe.Const("Place"), safe.Const("What")}, rows)
	return []part{{head: o.Headline.Line()}, findings, acceptedPart(v.Accepted), unchecked}
}

// proofsLine says what proves the hashes of the proposed lock files, and who
// signed the releases.
func proofsLine(o outline.Outline) safe.Markdown {
	return safe.Maybe("%s\n", safe.JoinSome("\n", o.Proofs, o.Signed))
}

// acceptedPart lists what a baseline accepts.
func acceptedPart(accepted []outline.FoundRow) part {
	rows := collect.Mapped(accepted, func(a outline.FoundRow) []safe.Markdown { return []safe.Markdown{a.Code, a.Place, a.Until, a.Reason} })
	return tablePart(part{rank: 2, what: safe.Const("accepted finding"), head: safe.Const("### Accepted\n\n")},
		[]safe.Markdown{safe.Const("Code"), safe.Const("Place"), safe.Const("Until"), safe.Const("Reason")}, rows)
}

func reviewPart(o outline.Outline) part {
	p := part{rank: 2, share: 25, head: safe.Const("### Needs review\n\n")}
	return topicsPart(p, o.Review, o.Words, reviewItem)
}

// topicItem writes a topic as an item of a list.
type topicItem func(outline.Vocabulary, *outline.Topic) safe.Markdown

// topicsPart has an item for each topic.
func topicsPart(p part, topics []*outline.Topic, d outline.Vocabulary, item topicItem) part {
	p.what = safe.Const("item")
	for _, c := range topics {
		p.add(item(d, c))
	}
	return p
}

func reviewItem(d outline.Vocabulary, c *outline.Topic) safe.Markdown {
	text := c.Said()
	if !c.Next.Empty() {
		text = text.Stopless().And(". Next: %s", c.Next)
	}
	return safe.Format("- **%s**%s: %s\n", safe.Text(string(c.Concern)), safe.Maybe(" in %s", c.Where(d)), text)
}

func heldPart(p part, held []*outline.Topic, d outline.Vocabulary) part {
	p.head = safe.Const("### Held back\n\n")
	return topicsPart(p, held, d, heldItem)
}

// heldItem says what blocks a provider, and what would help.
func heldItem(d outline.Vocabulary, c *outline.Topic) safe.Markdown {
	return safe.Format("- %s\n", c.SaidIn(d).AndMaybe(". %s", c.Next.Capital()))
}

func spreadsPart(o outline.Outline) part {
	p := part{rank: 4, share: 5, head: safe.Const("### Versions in use\n\n"), what: safe.Const("provider")}
	for _, s := range o.Spreads {
		text := safe.Format("- %s\n", o.Words.Name(s.Addr))
		for i, u := range s.Versions {
			text = text.And("  - %s %s", o.Words.Version(u.Version), o.Words.UsedIn(u, i == 0))
			if i > 0 {
				text = text.And(", behind")
			}
			text = text.And("\n")
		}
		p.add(text)
	}
	return p
}

// notesPart is the section of notes. It has a collapsed block for each upgrade,
// then a line for the upgrades without notes.
func notesPart(o outline.Outline) part {
	p := part{rank: 6, share: 10, head: safe.Const("### Release notes\n\n"), what: safe.Const("release note")}
	var missing collect.Groups[string, safe.Markdown] // by the problem
	for _, n := range o.Notes {
		if block := notesBlock(o.Words, n); !block.Empty() {
			p.add(block)
		} else if n.Problem != "" {
			missing.Add(n.Problem, o.Words.Upgrade(n))
		}
	}
	for _, why := range missing.Keys {
		p.add(safe.Format("- None for %s: %s\n", safe.Join(", ", missing.Of[why]...), safe.Text(why)))
	}
	return p
}

// blocksPart has a collapsed block for each group of root modules.
func blocksPart(o outline.Outline, noun safe.Markdown) part {
	p := part{rank: 5, share: 10, head: safe.Format("### %s\n\n", noun).AndMaybe("%s\n\n", o.Assumed), what: safe.Const("root module")}
	for _, b := range o.Modules {
		p.add(detailsBlock(b))
	}
	return p
}

// manyDirs is the highest number of root modules that a block lists.
const manyDirs = 100

// detailsBlock is one collapsed block. GitHub parses Markdown between the empty
// lines, and HTML in the summary.
func detailsBlock(b outline.Block) safe.Markdown {
	var text safe.Markdown
	title := safe.Join(", ", collect.Mapped(b.Dirs, safe.Element)...)
	if len(b.Dirs) > outline.FewDirs {
		title = safe.Count(len(b.Dirs), "root module", "root modules")
		text = safe.FirstOf(collect.Mapped(b.Dirs, safe.Code), manyDirs, "more", "more").And("\n\n")
	}
	return safe.Format("<details><summary>%s%s: %s</summary>\n\n%s%s\n</details>\n\n", title, b.Tool, b.What, text, items(b.Items))
}

func items(of []safe.Markdown) safe.Markdown {
	return safe.Join("", collect.Mapped(of, func(item safe.Markdown) safe.Markdown { return safe.Format("- %s\n", item) })...)
}

func pulls(r report.Report) part {
	p := part{rank: 0, what: safe.Const("pull request")}
	for _, l := range pullLines(r, fewAlike) {
		p.add(safe.Format("- %s\n", l.said.Capital()))
	}
	return p
}

// footer says what relock is, and how to make the same changes on your own
// machine.
func footer(r report.Report) part {
	return part{head: safe.Format("---\n\n"+
		"[relock](https://github.com/relock-dev/relock) selects the newest version of each provider that the whole module "+
		"tree allows, and records verified hashes for every platform that the lock file covers. It runs neither the tools nor any code of this repository.\n\n"+
		"The same on your own machine:\n\n%s", safe.Fenced("sh", sameHere(r), bodyBound.bytes))}
}

// plainName matches a name that needs no quotes in a shell and no escapes in
// Markdown.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)

// fewArguments is the highest number of root modules that a command line names.
const fewArguments = 8

// sameHere is the command line that makes the report's changes. It is part of a
// pull request's text, so it names root modules only if every name is plain.
func sameHere(r report.Report) string {
	dirs := r.PendingDirs()
	odd := slices.ContainsFunc(dirs, func(dir string) bool { return dir != "." && !plainName.MatchString(dir) })
	if odd || len(dirs) > fewArguments {
		dirs = nil
	}
	return report.CommandLine(verbs.Upgrade, r.Asked, dirs)
}
