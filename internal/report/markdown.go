package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/safe"
)

// GitHub accepts 65,536 characters in the body of a pull request and 1 MiB in
// a step summary. We stay below: others add to the body, and a job's steps
// share the page. Counting bytes errs on the safe side.
var (
	bodyBound    = bound{60_000, "GitHub's limit", "The step summary of the run lists them."}
	summaryBound = bound{1<<20 - 1<<12, "GitHub's limit", "The JSON report lists them."}
	answerBound  = bound{bodyBound.bytes, "GitHub's limit", "The report of the run lists them."}
)

// Body returns the Markdown of a pull request that proposes the report's
// changes, and ends in its Footer. What does not fit is cut, the least important
// first and never in the middle of a row, an item or a root module; the text says
// what was cut.
func Body(r Report) safe.Markdown {
	d := markdown(r)
	parts := append(partsOf(r, d, bodyBound.bytes), footer(r))
	if !r.Footer.Empty() {
		parts = append(parts, part{head: r.Footer.String()})
	}
	if !r.Summarised {
		return assemble(parts, answerBound)
	}
	return assemble(parts, bodyBound)
}

// Summary returns the Markdown of an Actions step summary, cut like Body.
func Summary(r Report) safe.Markdown {
	d := markdown(r)
	parts := append([]part{{head: "## relock\n"}, pulls(d, r)}, partsOf(r, d, summaryBound.bytes)...)
	if r.Verb == VerbComment {
		parts = []part{{head: "## relock\n"}, {head: r.answer()}}
	}
	if r.Fleet != nil {
		parts = append(parts, part{head: d.text(r.Fleet.sentence()) + "\n\n"})
	}
	if r.Stats.known() {
		parts = append(parts, part{head: r.Stats.String() + "\n"})
	}
	return assemble(parts, summaryBound)
}

// Markdown returns the report in Markdown, cut like Body to a number of bytes; 0 is
// no limit. That of a dry run has the pull requests as people would see them.
func Markdown(r Report, limit int) safe.Markdown {
	if r.Verb == VerbComment {
		return safe.Ours(r.answer())
	}
	d, within := markdown(r), bound{limit, fmt.Sprintf("%d bytes", limit), "--format json lists them."}
	if bodies := bodies(r, d); len(bodies) > 0 {
		parts := []part{pulls(d, r), {head: r.sentence() + "\n"}, reviewPart(outlineOf(r, d))}
		return assemble(append(parts, part{items: bodies, what: "pull request", rank: 3}), within)
	}
	return assemble(append([]part{pulls(d, r)}, partsOf(r, d, limit)...), within)
}

// bodies are the pull requests as a dry run would write them, each under its title.
func bodies(r Report, d dialect) []string {
	var all []string
	for _, p := range r.PullRequests {
		if p.Body != "" {
			all = append(all, "---\n\n# "+d.text(p.Title)+"\n\n"+strings.TrimSpace(p.Body)+"\n\n")
		}
	}
	return all
}

// partsOf are what every Markdown report consists of. Each has a share of the
// limit; what is left of it goes to the others, to the most important first.
func partsOf(r Report, d dialect, limit int) []part {
	if r.Verb == VerbVerify {
		return verification(r, d)
	}
	o := outlineOf(r, d)
	return []part{
		{head: o.headline + "\n" + proofsLine(r) + carriedLine(r, d)},
		changesPart(o, r.noun(), limit*changeShare/100),
		reviewPart(o),
		blocksPart(o, r.noun()),
		heldPart(o),
		spreadsPart(o),
		notesPart(o),
	}
}

// carriedLine says what of a pull request the run did not look at.
func carriedLine(r Report, d dialect) string {
	if said := r.CarriedOver.sentence(d); said != "" {
		return "\n" + said + "\n"
	}
	return ""
}

// changeShare is that of the table of changes, in percent: it survives whatever
// else there is.
const changeShare = 40

// changesPart has a row for each change that root modules have in common or, where
// these have no room, for each provider. The columns of dates and signers are there
// if any is known.
func changesPart(o outline, noun string, room int) part {
	var p part
	for way := range waysToJoin {
		p = changeRows(o.changes.rows(way), noun)
		if room <= 0 || p.size() <= room {
			break
		}
	}
	p.rank, p.share = 1, changeShare
	return p
}

func changeRows(rows []changeRow, noun string) part {
	columns := []string{"Provider", "From", "To", "Kind", noun, "Released", "Signer"}
	const released, signer = 5, 6
	used := []bool{true, true, true, true, true, false, false}
	for _, row := range rows {
		used[released] = used[released] || row.released != ""
		used[signer] = used[signer] || row.signer != ""
	}
	rule := slices.Repeat([]string{"---"}, len(columns))
	p := part{what: "change", head: tableRow(used, columns) + tableRow(used, rule)}
	for _, r := range rows {
		p.items = append(p.items, tableRow(used, []string{r.name, r.from, r.to, r.kind, r.where, r.released, r.signer}))
	}
	return p
}

// tableRow joins the cells of the columns in use.
func tableRow(used []bool, cells []string) string {
	row := "|"
	for i, c := range cells {
		if used[i] {
			row += " " + c + " |"
		}
	}
	return row + "\n"
}

func reviewPart(o outline) part {
	p := part{rank: 2, share: 25, head: "### Needs review\n\n", what: "item"}
	for _, c := range o.review {
		p.items = append(p.items, reviewItem(o.d, c))
	}
	return p
}

func reviewItem(d dialect, c *cause) string {
	where := ""
	if len(c.dirs.list) > 0 {
		where = " in " + d.dirs(c.dirs.list, fewDirs)
	}
	text := d.said(c)
	if next := c.remedy(); next != "" {
		text = strings.TrimSuffix(text, ".") + ". Next: " + next
	}
	return fmt.Sprintf("- **%s**%s: %s\n", c.concern, where, text)
}

func heldPart(o outline) part {
	p := part{rank: 3, share: 8, head: "### Held back\n\n", what: "item"}
	for _, c := range o.held {
		p.items = append(p.items, "- "+o.d.saidIn(c)+"\n")
	}
	return p
}

func spreadsPart(o outline) part {
	p := part{rank: 4, share: 5, head: "### Versions in use\n\n", what: "provider"}
	for _, s := range o.spreads {
		text := "- " + o.d.name(s.Addr) + "\n"
		for i, u := range s.Versions {
			text += "  - " + o.d.version(u.Version) + " " + o.d.usedIn(u, i == 0)
			if i > 0 {
				text += ", behind"
			}
			text += "\n"
		}
		p.items = append(p.items, text)
	}
	return p
}

// notesPart is the section of notes: a collapsed block for each upgrade, then a
// line for those of which nothing is known.
func notesPart(o outline) part {
	p := part{rank: 6, share: 10, head: "### Release notes\n\n", what: "release note"}
	var problems set
	missing := map[string][]string{}
	for _, n := range o.notes {
		if block := notesBlock(o.d, n); block != "" {
			p.items = append(p.items, block)
			continue
		}
		why := o.d.text(n.Problem)
		problems.add(why)
		missing[why] = append(missing[why], o.d.upgrade(n))
	}
	for _, why := range problems.list {
		p.items = append(p.items, fmt.Sprintf("- None for %s: %s\n", strings.Join(missing[why], ", "), why))
	}
	return p
}

// blocksPart shows each root module collapsed.
func blocksPart(o outline, noun string) part {
	p := part{rank: 5, share: 10, head: "### " + noun + "\n\n", what: "root module"}
	for _, b := range o.modules {
		p.items = append(p.items, detailsBlock(o.d, b))
	}
	return p
}

// manyDirs is the number of root modules that a block lists at most.
const manyDirs = 100

// detailsBlock is one collapsed block. Markdown is parsed between the empty
// lines, HTML in the summary.
func detailsBlock(d dialect, b block) string {
	var names []string
	for _, dir := range b.dirs {
		names = append(names, safe.Element(dir).String())
	}
	title, text := strings.Join(names, ", "), ""
	if len(b.dirs) > fewDirs {
		title = count(len(b.dirs), "root module", "root modules")
		shown := b.dirs[:min(len(b.dirs), manyDirs)]
		text = d.list(shown)
		if rest := len(b.dirs) - len(shown); rest > 0 {
			text += fmt.Sprintf(" and %d more", rest)
		}
		text += "\n\n"
	}
	for _, item := range b.items {
		text += "- " + item + "\n"
	}
	what := "formatting only"
	if b.changes > 0 {
		what = count(b.changes, "change", "changes")
	}
	return fmt.Sprintf("<details><summary>%s%s: %s</summary>\n\n%s\n</details>\n\n", title, b.tool, what, text)
}

func pulls(d dialect, r Report) part {
	p := part{rank: 0, what: "pull request"}
	for _, pull := range r.PullRequests {
		p.items = append(p.items, "- "+capital(r.pullRequest(d, pull))+"\n")
	}
	return p
}

// footer says what relock is and how to do the same on one's own machine.
func footer(r Report) part {
	return part{head: "---\n\n" +
		"[relock](https://github.com/relock-dev/relock) selects the newest version of each provider that the whole module " +
		"tree allows, and records verified hashes for every platform that the lock file covers. It runs neither the tools nor any code of this repository.\n\n" +
		"The same on your own machine:\n\n```sh\n" + sameHere(r) + "\n```\n"}
}
