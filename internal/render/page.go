package render

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

//go:embed html/page.css
var pageStyle markup

//go:embed html/page.js
var pageScript markup

// HTML writes the report as one page that fetches nothing. The script only
// filters and sorts: the page is complete without it. The error is the writer's.
func HTML(w io.Writer, r report.Report) error {
	_, err := io.WriteString(w, string(pageOf(r)))
	return err
}

func pageOf(r report.Report) markup {
	o := outline.Of(r)
	if r.Verb == verbs.Verify { // the page has a table of findings
		o.Review = slices.DeleteFunc(o.Review, func(c *outline.Topic) bool { return c.Finding })
	}
	headline := o.Headline.Plain()
	if r.Verb == verbs.Comment {
		headline = "The answer to a comment"
	}
	title := "relock " + escaped(string(r.Verb))
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="` + escaped(contentPolicy) + `">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>` + title + `: ` + escaped(headline) + `</title>
<style>` + pageStyle + `</style>
</head>
<body>
<header>
<h1>` + title + `</h1>
<p class="headline">` + escaped(headline) + `</p>` +
		onlyIf(o.Next != "", "\n"+`<p class="next">`+prose(safe.Hint(o.Next).Capital())+`.</p>`) + `
<p class="filter" hidden><label for="filter">Show only what contains</label> <input id="filter" type="search" autocomplete="off" placeholder="a provider, a directory, a version"> <span id="shown" role="status"></span></p>
</header>
<main>` + sectionsOf(r, o) + `
</main>` + onlyIf(r.Stats.Known(), "\n<footer>"+escaped(r.Stats.String())+"</footer>") + `
<script>` + pageScript + `</script>
</body>
</html>
`
}

// contentPolicy forbids the browser to load anything, and to run anything but our
// style and our script: https://www.w3.org/TR/CSP3/#match-element-to-source-list.
var contentPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + sourceOf(pageStyle) + "; script-src " + sourceOf(pageScript)

func sourceOf(text markup) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// sectionsOf are the sections that have content, in the order of the page.
func sectionsOf(r report.Report, o outline.Outline) markup {
	pulls := pullLines(r, len(r.PullRequests))
	return answerSection(r) + overviewSection(r.Fleet) + chartsSection(r) + verifiedSections(r) + fleetSection(r.Fleet) +
		onlyIf(len(pulls) > 0, "\n<section><h2>Pull requests</h2><ul>"+markupOf(pulls, func(l pullLine) markup { return `<li class="row">` + prose(l.said.Capital()) + `</li>` })+`</ul></section>`) +
		changesSection(r, o) + lockedSection(r, o) + reviewSection(o) +
		onlyIf(len(o.Held) > 0, pageSection("held", "Held back", causeList(markupOf(o.Held, func(c *outline.Topic) markup { return causeOf(o, c) })))) +
		versionsSection(outline.VersionsOf(r, o.Words)) + coverageSection(outline.PlatformsCovered(r, o.Words)) +
		signersSection(outline.SignersOf(r, o.Words)) + modulesSection(r, o) + notesSection(o)
}

func answerSection(r report.Report) markup {
	if r.Verb != verbs.Comment {
		return ""
	}
	return "\n<section>" + preformatted(plainLines(answerOf(r).String())) + `</section>`
}

func chartsSection(r report.Report) markup {
	all := titledChart(nounOf(r), outline.StatesOf(r)) + titledChart("Kinds of changes", outline.KindsOf(r))
	verified := len(outline.JudgedIn(r).Modules) > 0
	if verified {
		all += titledChart("Hashes", verdictsOf(r.Counts()))
	}
	return onlyIf(all != "" || verified, "\n"+`<section class="charts">`+all+"\n</section>")
}

func nounOf(r report.Report) markup { return escaped(noun(r).Plain()) }

func titledChart(title markup, c outline.Chart) markup {
	return onlyIf(len(c) > 0, "\n<div><h2>"+title+`</h2>`+chart(c)+`</div>`)
}

// chart is a bar with its legend.
func chart(c outline.Chart) markup {
	label := strings.Join(collect.Mapped(c, func(p outline.ChartPart) string { return string(numeral(p.N)) + " " + p.Label }), ", ")
	return `<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="` + escaped(label) + `">` +
		markupOf(c, func(p outline.ChartPart) markup {
			return `<rect class="` + escaped(p.Class) + `" x="` + decimal(p.X) + `" y="0" width="` + decimal(p.Width) + `" height="8"><title>` + numeral(p.N) + ` ` + escaped(p.Label) + `</title></rect>`
		}) + `</svg><ul class="legend">` +
		markupOf(c, func(p outline.ChartPart) markup {
			return `<li><span class="key ` + escaped(p.Class) + `"></span><b>` + numeral(p.N) + `</b> ` + escaped(p.Label) + `</li>`
		}) + `</ul>`
}

// verifiedSections list the findings, the accepted findings, and what was not checked.
// They are empty if nothing was verified.
func verifiedSections(r report.Report) markup {
	v := outline.JudgedIn(r)
	if len(v.Modules) == 0 {
		return ""
	}
	totals := cmp.Or(outline.SeverityCounts(r), safe.Const("none"))
	return pageSection("findings", "Findings", `<p>`+prose(totals)+`</p>`+findingsTable(v.Findings)+"\n") + acceptedSection(v.Accepted) +
		onlyIf(len(v.Unchecked) > 0, pageSection("unchecked", "Not checked", causeList(markupOf(v.Unchecked, func(u outline.UncheckedIn) markup {
			return causeItem(safe.Text(u.What), "", u.Dirs, nil)
		}))))
}

var severityClass = map[problem.Severity]markup{problem.SeverityError: "bad", problem.SeverityWarning: "minor", problem.SeverityNote: "none"}

// findingsTable has the findings, the most severe first; empty if there are none.
func findingsTable(all []outline.FoundRow) markup {
	return onlyIf(len(all) > 0, table("Findings", "sorts findings", []markup{"Severity", "Code", "Root module", "Place", "What", "Next"},
		collect.Mapped(all, func(f outline.FoundRow) []markup {
			severity := `<td class="` + severityClass[f.Severity] + `" data-n="` + numeral(int(f.Severity)) + `">` + escaped(f.Severity.String()) + `</td>`
			return []markup{severity, td(prose(f.Code)), td(prose(f.Dir)), td(prose(f.Place)), td(prose(f.What)), td(prose(f.Next))}
		})))
}

// acceptedSection has the findings that a baseline accepts, and why.
func acceptedSection(all []outline.FoundRow) markup {
	return onlyIf(len(all) > 0, pageSection("accepted", "Accepted",
		table("Accepted", "sorts findings", []markup{"Code", "Root module", "Place", "What", "Reason", "By", "Until"},
			collect.Mapped(all, func(a outline.FoundRow) []markup {
				return []markup{td(prose(a.Code)), td(prose(a.Dir)), td(prose(a.Place)), td(prose(a.What)), td(prose(a.Reason)), td(prose(a.By)), td(prose(a.Until))}
			}))))
}

// verdictClass colours a verdict by how strong its proof is.
var verdictClass = map[verify.Verdict]string{
	verify.ByList: "good", verify.ByPackage: "good", verify.ByCache: "patch", verify.Disproven: "bad", verify.Unproven: "major",
}

// verdictsOf charts the number of hashes of each verdict.
func verdictsOf(counts verify.Counts) outline.Chart {
	return outline.Charted(collect.Mapped(counts.Parts(), func(p verify.Part) outline.ChartPart {
		class := verdictClass[p.Verdict]
		if class == "" {
			class = "minor"
		}
		return outline.ChartPart{Label: p.Words, Class: class, N: p.N}
	})...)
}

func fleetSection(f *report.Fleet) markup {
	if f == nil {
		return ""
	}
	return pageSection("repositories", "Repositories", table("Repositories", "sorts", []markup{"Repository", "State", "Root modules", "Outdated", "Pull requests", "Requests"},
		collect.Mapped(f.Repositories, func(o report.Outcome) []markup {
			return []markup{rowHead(name(o.Name)), td(escaped(string(o.State))),
				td(numeral(o.Modules)), td(numeral(o.Pending)), td(numeral(o.PullRequests)), td(numeral(int(o.Requests)))}
		})))
}

// dirs are the directories of root modules.
func dirs(list []string) markup {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return name(list[0])
	}
	return folded(roots(len(list)), paths(markupOf(list, func(dir string) markup { return `<li>` + name(dir) + `</li>` })))
}

func roots(n int) markup { return counted(n, "root module", "root modules") }

func paths(items markup) markup { return `<ul class="paths">` + items + `</ul>` }

func causeList(items markup) markup { return `<ul class="causes">` + items + `</ul>` }

// causeItem is a cause with its root modules, its places and the next step.
func causeItem(text safe.Markdown, next markup, of []string, places []safe.Markdown) markup {
	return `<li class="row"><p>` + prose(text) + `</p>` + onlyIf(next != "", `<p class="next">`+next+`</p>`) +
		`<div class="where">` + dirs(of) + onlyIf(len(places) > 0, folded(counted(len(places), "place", "places"), paths(bullets(places)))) + `</div></li>`
}

// causeOf is a topic. Its places have a list of their own, below the text.
func causeOf(o outline.Outline, c *outline.Topic) markup {
	next := onlyIf(!c.Next.Empty(), `<b>Next:</b> `+prose(c.Next))
	if c.Concern == outline.ConcernHeld { // advice is a sentence
		next = prose(c.Next.Capital())
	}
	return causeItem(c.Text, next, c.Dirs.List, c.Places)
}

func changesSection(r report.Report, o outline.Outline) markup {
	if len(o.Changes) == 0 {
		return ""
	}
	signed := o.Signed.Plain()
	return pageSection("changes", "What changes", onlyIf(signed != "", `<p>`+escaped(signed)+`</p>`)+
		table("What changes", "sorts", []markup{"Provider", "From", "To", "Kind", nounOf(r), "Released"},
			collect.Mapped(o.Changes, func(c outline.ChangeRow) []markup {
				return []markup{rowHead(prose(c.Name)), td(prose(c.From)), td(prose(c.To)), `<td class="` + escaped(outline.KindClass(c.Kind.Plain(), c.Tone)) + `">` + prose(c.Kind) + `</td>`,
					`<td data-n="` + numeral(c.Roots) + `">` + commonDirs(c) + `</td>`, td(prose(c.Released))}
			})))
}

// lockedSection has the changes of locked modules.
func lockedSection(r report.Report, o outline.Outline) markup {
	if len(o.Locked) == 0 {
		return ""
	}
	return pageSection("locked", "Locked modules", table("Locked modules", "sorts", []markup{"Module", "From", "To", "Kind", nounOf(r), "Calls", "Detail", "Difference"},
		collect.Mapped(o.Locked, func(c outline.ModuleRow) []markup {
			return []markup{rowHead(prose(c.Name)), td(prose(c.From)), td(prose(c.To)), `<td class="` + escaped(outline.KindClass(c.Kind.Plain(), c.Tone)) + `">` + prose(c.Kind) + `</td>`,
				`<td data-n="` + numeral(len(c.Dirs)) + `">` + dirs(c.Dirs) + `</td>`, td(prose(c.Calls)), td(prose(c.Detail)), td(prose(comparing(c)))}
		})))
}

// commonDirs are the root modules of a change. Those that change alike are together.
func commonDirs(c outline.ChangeRow) markup {
	if len(c.Common) == 1 {
		return dirs(c.Common[0].Dirs)
	}
	return folded(roots(c.Roots), paths(markupOf(c.Common, func(c outline.CommonChange) markup {
		return `<li>` + prose(c.Move) + ` (` + prose(c.Kind) + `): ` + dirs(c.Dirs) + `</li>`
	})))
}

// reviewSection has the causes that need a reviewer, by concern.
func reviewSection(o outline.Outline) markup {
	var all markup
	for i, c := range o.Review {
		if i == 0 || o.Review[i-1].Concern != c.Concern {
			all += onlyIf(i > 0, `</ul>`) + "\n<h3>" + escaped(string(c.Concern)) + `</h3><ul class="causes">`
		}
		all += causeOf(o, c)
	}
	return onlyIf(all != "", pageSection("review", "Needs review", all+"</ul>\n"))
}

// mark shows how far a version is behind.
func mark(class, attributes markup) markup {
	signs := map[markup]markup{"patch": "▾", "minor": "▾▾", "major": "▾▾▾"}
	return `<span class="mark ` + class + `"` + attributes + `>` + signs[class] + `</span>`
}

func versionsSection(v outline.VersionTable) markup {
	if len(v.Rows) == 0 {
		return ""
	}
	var matrix, providers [][]markup
	for _, row := range v.Rows {
		cells := []markup{rowHead(name(row.Dir)), td(escaped(safe.Plain(row.Tool)))}
		for _, c := range row.Cells {
			cells = append(cells, usedCell(c.Version, c.Behind))
		}
		matrix = append(matrix, cells)
	}
	for _, p := range v.Providers {
		providers = append(providers, []markup{rowHead(prose(p.Name)), td(prose(p.Newest)), `<td data-n="` + numeral(len(p.Used)) + `"><ul>` + bullets(p.Used) + `</ul></td>`,
			`<td class="lag">` + chart(p.Lag) + `</td>`, td(onlyIf(len(p.Held) > 0, `<ul>`+bullets(p.Held)+`</ul>`))})
	}
	return pageSection("versions", "Versions in use", "\n<p>After this run. How far each is behind the newest release that the run came across: "+
		mark("patch", "")+" a patch or prerelease, "+mark("minor", "")+" a minor version, "+mark("major", "")+" a major version."+
		onlyIf(v.More > 0, " "+counted(v.More, "provider is", "providers are")+" not in the matrix but in the list below it.")+"</p>"+
		table("Versions in use", "sorts matrix", append([]markup{"Root module", "Tool"}, collect.Mapped(v.Columns, escaped)...), matrix)+
		"\n<h3>By provider</h3>"+
		table("Versions in use by provider", "sorts", []markup{"Provider", "Newest known", "In use", "How far behind", "What holds it"}, providers))
}

func usedCell(version string, behind provider.Bump) markup {
	if version == "" || behind == "" {
		return td(escaped(version))
	}
	class := escaped(string(behind))
	return `<td class="` + class + `">` + escaped(version) + ` ` + mark(class, ` role="img" aria-label="`+class+` behind"`) + `</td>`
}

func coverageSection(c outline.CoverageTable) markup {
	if len(c.Rows) == 0 {
		return ""
	}
	var rows [][]markup
	for _, row := range c.Rows {
		cells := []markup{rowHead(prose(row.Name)), td(prose(row.Version)), td(numeral(row.Of))}
		for _, c := range row.Cells {
			class := onlyIf(c.Covered == row.Of, ` class="good"`)
			if c.Missing > 0 {
				class = ` class="bad"`
			}
			cells = append(cells, `<td`+class+`>`+onlyIf(c.Covered > 0, numeral(c.Covered))+onlyIf(c.Missing > 0, " not published")+`</td>`)
		}
		rows = append(rows, cells)
	}
	return pageSection("platforms", "Platforms", `<p>How many lock file entries cover a platform, of those that this run looked at.</p>`+
		table("Platforms", "sorts", append([]markup{"Provider", "Version", "Entries"}, collect.Mapped(c.Platforms, escaped)...), rows))
}

func signersSection(all []outline.PageSigner) markup {
	return onlyIf(len(all) > 0, pageSection("signers", "Signers", causeList(markupOf(all, func(s outline.PageSigner) markup {
		return `<li class="row"><p>` + prose(s.Name) + `</p>` + folded(counted(len(s.Releases), "release", "releases"), `<ul>`+bullets(s.Releases)+`</ul>`) + `</li>`
	}))))
}

// modulesSection has the root modules that change. Those that change alike share an item.
func modulesSection(r report.Report, o outline.Outline) markup {
	return onlyIf(len(o.Modules) > 0, pageSection("modules", nounOf(r)+" that change", onlyIf(!o.Assumed.Empty(), `<p>`+prose(o.Assumed)+`</p>`)+
		causeList(markupOf(o.Modules, func(b outline.Block) markup {
			return `<li class="row"><div class="where">` + dirs(b.Dirs) + prose(b.Tool) + `</div>` +
				folded(prose(b.What), `<ul>`+bullets(b.Items)+`</ul>`) + `</li>`
		}))))
}

func notesSection(o outline.Outline) markup {
	var all markup
	for _, n := range o.Notes {
		problem := safe.Plain(n.Problem)
		all += `<li class="row"><p>` + prose(o.Words.Upgrade(n)) + onlyIf(problem != "", `: none, since `+escaped(problem)) + `</p>`
		for _, release := range n.Releases {
			var lines []string
			for _, s := range release.Sections {
				lines = append(append(lines, safe.Plain(s.Title)), plainLines(s.Text)...)
			}
			if release.Cut {
				lines = append(lines, notesCut)
			}
			all += noteOf(safe.Link(o.Words.Version(release.Version), release.URL), lines)
		}
		if n.More > 0 {
			all += noteOf(safe.Count(n.More, "release in between was not read", "releases in between were not read"), nil)
		}
		all += `</li>`
	}
	return onlyIf(all != "", pageSection("notes", "Release notes", causeList(all)))
}

// noteOf has the notes of a release under its name.
func noteOf(name safe.Markdown, lines []string) markup {
	if len(lines) == 0 {
		return `<p>` + prose(name) + `</p>`
	}
	return folded(prose(name), preformatted(lines))
}

// plainLines are the lines of an outside text, each harmless.
func plainLines(text string) []string {
	return collect.Mapped(strings.Split(strings.TrimSpace(text), "\n"), safe.Plain)
}
