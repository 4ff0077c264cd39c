package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// GitHub accepts 65,536 characters in the body of a pull request and 1 MiB in
// a step summary. We stay below: others add to the body, and a job's steps
// share the page. Counting bytes errs on the safe side.
const (
	bodyLimit    = 60_000
	summaryLimit = 1<<20 - 1<<12
)

// Body returns the Markdown of a pull request that proposes the report's
// changes, and ends in its Footer. What does not fit is cut, the least important
// first and never in the middle of a row, an item or a root module; the text says
// what was cut.
func Body(r Report) string {
	d := markdown(r)
	parts := append(r.parts(d), footer(r))
	if r.Footer != "" {
		parts = append(parts, part{head: r.Footer})
	}
	return assemble(parts, bodyLimit, "The step summary of the run lists them.")
}

// Summary returns the Markdown of an Actions step summary, cut like Body.
func Summary(r Report) string {
	d := markdown(r)
	parts := append([]part{{head: "## relock\n"}, pulls(d, r)}, r.parts(d)...)
	if r.Verb == VerbComment {
		parts = []part{{head: "## relock\n"}, {head: r.answer()}}
	}
	if r.Stats.known() {
		parts = append(parts, part{head: r.Stats.String() + "\n"})
	}
	return assemble(parts, summaryLimit, "The JSON report lists them.")
}

// Markdown returns the report in Markdown, uncut. That of a dry run has the pull
// requests as people would see them.
func Markdown(r Report) string {
	if r.Verb == VerbComment {
		return r.answer()
	}
	d := markdown(r)
	if bodies := r.bodies(d); len(bodies) > 0 {
		parts := []part{pulls(d, r), {head: r.sentence() + "\n"}, r.needsEye(d)}
		return assemble(append(parts, bodies...), 0, "")
	}
	return assemble(append([]part{pulls(d, r)}, r.parts(d)...), 0, "")
}

// bodies are the pull requests as a dry run would write them, each under its title.
func (r Report) bodies(d dialect) []part {
	var parts []part
	for _, p := range r.PullRequests {
		if p.Body != "" {
			parts = append(parts, part{head: "---\n\n# " + d.text(p.Title) + "\n\n" + strings.TrimSpace(p.Body) + "\n"})
		}
	}
	return parts
}

// parts are what every Markdown report consists of.
func (r Report) parts(d dialect) []part {
	return []part{
		{head: r.sentence() + "\n"},
		r.table(d),
		r.needsEye(d),
		r.perModule(d),
		r.holds(d),
		r.consistency(d),
		r.releaseNotes(d),
	}
}

// capital begins a sentence of ours.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// fewDirs is the number of root modules up to which they are named in a line.
const fewDirs = 3

// table has a row for each change that root modules have in common. The columns
// of dates and signers are there if any is known.
func (r Report) table(d dialect) part {
	columns := []string{"Provider", "From", "To", "Kind", r.noun(), "Released", "Signer"}
	const released, signer = 5, 6
	used := []bool{true, true, true, true, true, false, false}
	var rows [][]string
	for _, g := range r.groups() {
		cells := r.tableCells(d, g)
		used[released] = used[released] || cells[released] != ""
		used[signer] = used[signer] || cells[signer] != ""
		rows = append(rows, cells)
	}
	rule := slices.Repeat([]string{"---"}, len(columns))
	p := part{rank: 2, what: "change", head: tableRow(used, columns) + tableRow(used, rule)}
	for _, cells := range rows {
		p.items = append(p.items, tableRow(used, cells))
	}
	return p
}

func (r Report) tableCells(d dialect, g group) []string {
	c := g.change
	return []string{
		d.name(c.Addr), d.version(c.From), d.version(c.To), c.label(),
		d.dirs(g.dirs, fewDirs), day(c.Published), d.signers(c.Facts),
	}
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

func (r Report) needsEye(d dialect) part {
	p := part{rank: 1, head: "### Needs your eye\n\n", what: "item"}
	for _, a := range r.alerts(d) {
		where := ""
		if len(a.dirs) > 0 {
			where = " in " + d.dirs(a.dirs, fewDirs)
		}
		p.items = append(p.items, fmt.Sprintf("- **%s**%s: %s\n", a.concern, where, a.text))
	}
	return p
}

func (r Report) holds(d dialect) part {
	p := part{rank: 3, head: "### Held back\n\n", what: "item"}
	for _, a := range r.heldBack(d) {
		p.items = append(p.items, fmt.Sprintf("- %s (in %s)\n", a.text, d.dirs(a.dirs, fewDirs)))
	}
	return p
}

// perModule shows each root module collapsed, those with the same changes once.
func (r Report) perModule(d dialect) part {
	p := part{rank: 5, head: "### " + r.noun() + "\n\n", what: "root module"}
	var all alerts
	changes := map[string]int{}
	for _, m := range r.Modules {
		if len(m.Changes) == 0 && !m.Pending {
			continue
		}
		key := moduleItems(d, m)
		all.add(concern(toolText(m)), key, r.title(m))
		changes[key] = len(m.Changes)
	}
	for _, a := range all {
		p.items = append(p.items, detailsBlock(d, a, changes[a.text]))
	}
	return p
}

func toolText(m Module) string {
	if m.Tool.Name == "" {
		return ""
	}
	text := m.Tool.String()
	if m.Assumed {
		text += ", assumed"
	}
	if m.Partial {
		text += ", partial"
	}
	return " (" + text + ")"
}

func moduleItems(d dialect, m Module) string {
	if len(m.Changes) == 0 {
		return "- The lock file is not in the form that the tool writes.\n"
	}
	var b strings.Builder
	for _, c := range m.Changes {
		text := fmt.Sprintf("- %s %s (%s)", d.name(c.Addr), d.move(c), c.label())
		if details := d.details(c); len(details) > 0 {
			text += ": " + strings.Join(details, "; ")
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// manyDirs is the number of root modules that a block lists at most.
const manyDirs = 100

// detailsBlock is one collapsed block. Markdown is parsed between the empty
// lines, HTML in the summary.
func detailsBlock(d dialect, a alert, changes int) string {
	var names []string
	for _, dir := range a.dirs {
		names = append(names, codeElement(dir))
	}
	title, list := strings.Join(names, ", "), ""
	if len(a.dirs) > fewDirs {
		title = count(len(a.dirs), "root module", "root modules")
		shown := a.dirs[:min(len(a.dirs), manyDirs)]
		list = d.list(shown)
		if rest := len(a.dirs) - len(shown); rest > 0 {
			list += fmt.Sprintf(" and %d more", rest)
		}
		list += "\n\n"
	}
	what := "other form"
	if changes > 0 {
		what = count(changes, "change", "changes")
	}
	return fmt.Sprintf("<details><summary>%s%s: %s</summary>\n\n%s%s\n</details>\n\n", title, a.concern, what, list, a.text)
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
		"The same on your own machine:\n\n```sh\n" + command(r) + "\n```\n"}
}

// plainName matches what needs no quoting in a shell and no care in Markdown.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)

// command is the command line that makes the report's changes. Readers copy it
// into a shell, so it names root modules only if every name is plain.
func command(r Report) string {
	words := []string{"relock", "upgrade"}
	for _, m := range r.Modules {
		if m.Pending {
			words = append(words, m.Dir)
		}
	}
	odd := slices.ContainsFunc(words[2:], func(dir string) bool { return dir != "." && !plainName.MatchString(dir) })
	if odd || len(words) > 10 {
		words = words[:2]
	}
	return strings.Join(words, " ")
}
