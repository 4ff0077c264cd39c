package render_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe/safetest"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// hostile has a text in every field for outside text.
func hostile(text string) report.Report {
	term := term("~> 5.0", text, text, 4)
	advice := upgrade.Advice{Version: version("6.1.0")}
	call := upgrade.HoldingCall{Module: text, Place: problem.Place{Path: text, Line: 1}, Source: text, Version: text, Constraint: text, Ref: text}
	for _, kind := range []upgrade.MeasureKind{upgrade.MeasureListed, upgrade.MeasureRefuted, upgrade.MeasureUnread} {
		advice.Measures = append(advice.Measures, upgrade.Measure{Kind: kind, Term: term, Call: call, Release: text, ByName: true, Against: term, Why: text})
	}
	held := []upgrade.Held{
		{Version: version("6.1.0"), By: policy.Hold{Reason: upgrade.HeldByConstraint}, Term: term, Others: []scan.Term{term}, Help: advice},
		{Version: version("6.0.0"), By: policy.Hold{Reason: policy.HeldByRule, Rule: text}},
	}
	facts := upgrade.Facts{
		Coverage: []provider.Platform{{OS: text, Arch: text}}, Missing: []provider.Platform{{OS: text, Arch: "x"}},
		Signer: provider.Signer{KeyID: text, Label: text}, Held: held, Warnings: []string{text},
	}
	wrong := problem.Problem{Code: problem.CodeBadAnswer, Message: text, Place: problem.Place{Path: text, Line: 1}, Hint: text}
	m := module(text, upgraded("hashicorp/aws", "5.31.0", "6.0.0-GH-1", provider.Signer{}))
	m.Changes[0].Facts = facts
	m.Kept = []report.Kept{{Addr: addr("hashicorp/kept"), Version: version("1.0.0"), Facts: facts}}
	m.Unread = []scan.Unread{{Module: text, Source: text, Reason: text, Place: problem.Place{Path: text, Line: 1}}}
	m.Diagnostics = []problem.Problem{wrong}
	told := notes.Notes{
		Addr: addr("hashicorp/aws"), From: version("5.31.0"), To: version("6.0.0-GH-1"),
		Repository: provider.Repository{Host: "github.com", Owner: "a", Name: "b", Tag: text + "6.0.0-GH-1"},
		Releases: []notes.Release{
			{Version: version("6.0.0-GH-1"), URL: text, Sections: []notes.Section{{Kind: notes.Breaking, Title: text, Text: text}, {Kind: notes.Other, Text: "- " + text}}},
		},
		More: 1,
	}
	return report.Report{
		Verb: verbs.PR, Modules: []report.Module{m}, Diagnostics: []problem.Problem{wrong},
		Notes:        []notes.Notes{told, {Addr: addr("hashicorp/other"), From: version("1.0.0"), To: version("1.1.0"), Problem: text}},
		PullRequests: []report.PullRequest{{Operation: text, Number: 1, URL: text, Title: text, Branch: text, Base: text, Reason: text}},
		Stats:        report.Stats{Requests: 1},
	}
}

// checkPage checks that Markdown has the intended structure.
func checkPage(t *testing.T, markdown string) {
	t.Helper()
	page := safetest.Rendered(t, markdown)
	if open, closed := strings.Count(page, "<details>"), strings.Count(page, "</details>"); open != closed {
		t.Errorf("%d details open and %d close:\n%s", open, closed, markdown)
	}
	head := strings.Count(page, "<th>")
	rows := strings.Split(page, "<tr>")[1:]
	for i, row := range rows {
		row, _, _ = strings.Cut(row, "</tr>")
		if n := strings.Count(row, "<th>") + strings.Count(row, "<td>"); n != head {
			t.Errorf("row %d has %d cells, the head has %d: %s", i, n, head, row)
		}
	}
	if source := regexp.MustCompile(`(?m)^\| `).FindAllString(markdown, -1); len(source) > 0 && len(source) != len(rows)+1 {
		t.Errorf("%d lines of the source are table rows, %d on the page:\n%s", len(source)-1, len(rows), page)
	}
}

func TestMarkdownHasTheStructureMeant(t *testing.T) {
	for name, r := range fixtures(t) {
		if r.Verb == verbs.Scan {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, markdown := range []string{render.Markdown(r, 0).String(), render.Body(r).String(), render.Summary(r).String()} {
				checkPage(t, markdown)
				// GitHub parses Markdown within a collapsed block.
				if page := safetest.Rendered(t, markdown); strings.Contains(page, "- `") || strings.Contains(safetest.Prose(page), "**") {
					t.Errorf("Markdown is shown as text:\n%s", page)
				}
			}
		})
	}
}

func TestReportsAreInert(t *testing.T) {
	for _, tt := range safetest.Threats {
		t.Run(tt.Name, func(t *testing.T) {
			r := hostile(tt.Text)
			for name, markdown := range map[string]string{"Markdown": render.Markdown(r, 0).String(), "Body": render.Body(r).String(), "Summary": render.Summary(r).String()} {
				page := safetest.Rendered(t, markdown)
				checkPage(t, markdown)
				safetest.CheckProse(t, page)
				safetest.CheckSource(t, markdown)
				// What is ours is taken away; nothing else may be markup.
				rest := regexp.MustCompile(`<a href="https://(github.com/relock-dev/relock|redirect.github.com[^"]*|registry.terraform.io/providers/[a-z/]*[0-9.]*-GH-1/docs)">|</?(strong|h2|h3|h4|h5|hr|table|details|summary|blockquote)>`).ReplaceAllString(page, "")
				if got := safetest.Foreign.FindString(rest); got != "" {
					t.Errorf("%s becomes %s:\n%s", name, got, page)
				}
			}
			shown := text(t, r, render.TextOptions{Width: 80, Verbose: true})
			safetest.CheckSource(t, strings.ReplaceAll(shown, "<", ""))
			safetest.CheckSource(t, strings.ReplaceAll(jsonText(t, r), "<", ""))
		})
	}
}

func TestBodyNamesOddDirectoriesNotInACommand(t *testing.T) {
	for _, dir := range []string{"a b", "$(reboot)", "-rf", "a;b", "`id`", "a'b", "a\nb"} {
		body := render.Body(report.Report{Verb: verbs.PR, Modules: []report.Module{module(dir, change(diff.Added, "hashicorp/aws", "", "5.0.0"))}}).String()
		if !strings.Contains(body, "```sh\nrelock upgrade\n```") {
			t.Errorf("with a directory %q the command is\n%s", dir, body[strings.LastIndex(body, "```sh"):])
		}
	}
}

// large is a monorepo in which no two root modules are alike.
func large(modules, providers int) report.Report {
	r := report.Report{Verb: verbs.PR, Summarised: true}
	pool := hashes("x", modules)
	for i := range modules {
		m := module(fmt.Sprintf("teams/team-%03d/environments/production", i))
		for j := range providers {
			c := change(diff.Upgraded, fmt.Sprintf("hashicorp/provider%d", j), "5.31.0", fmt.Sprintf("5.%d.0", 32+j))
			c.Coverage, c.Signer = []provider.Platform{mac, linux}, hashicorp
			c.HashesAdded = pool[:i+1]
			m.Changes = append(m.Changes, c)
		}
		m.Pending = true
		r.Modules = append(r.Modules, m)
	}
	return r
}

func TestBodyOfAMonorepoKeepsWhatMatters(t *testing.T) {
	r := large(60, 25)
	r.Modules[59].Changes[24] = upgraded("hashicorp/provider24", "5.31.0", "6.0.0", nobody)
	r.Modules[59].Changes[24].Held = []upgrade.Held{heldByVPC}
	for i := range r.Modules {
		v := version("5.100.0")
		if i%20 == 0 {
			v = version("5.31.0")
		}
		r.Modules[i].InUse = []report.Use{{Addr: addr("hashicorp/provider3"), Version: v}}
	}
	body := render.Body(r).String()
	golden(t, "sixty.body.md", body)
	if len(body) > 60_000 {
		t.Errorf("the body has %d bytes", len(body))
	}
	checkPage(t, body)
	if rows := strings.Count(body, "\n| `"); rows != 25 {
		t.Errorf("the table has %d rows, want one for each of 25 providers", rows)
	}
	for _, want := range []string{
		"- **Major upgrade** in `teams/team-059/environments/production`: `hashicorp/provider24` 5.31.0 → 6.0.0 ([documentation](https://registry.terraform.io/providers/hashicorp/provider24/6.0.0/docs))\n",
		"- **Signer** in `teams/team-059/environments/production`",
		"### Held back\n\n- `hashicorp/provider24` at 6.0.0 by `~> 5.0`",
		"### Versions in use\n\n- `hashicorp/provider3`\n  - 5.100.0 in 57 root modules\n  - 5.31.0 in `teams/team-000/environments/production`, ",
		"more root modules are not shown, to stay within GitHub's limit. The step summary of the run lists them.\n",
		"```sh\nrelock upgrade\n```",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the body lacks %q", want)
		}
	}
	if strings.Contains(render.Summary(r).String(), "not shown") {
		t.Error("the step summary is cut, though it has room")
	}
}

func TestBodyCutsReleaseNotesFirst(t *testing.T) {
	r := large(8, 25)
	for j := range 25 {
		n := notes.Notes{
			Addr: addr(fmt.Sprintf("hashicorp/provider%d", j)), From: version("5.31.0"), To: version(fmt.Sprintf("5.%d.0", 32+j)),
			Releases: []notes.Release{{Version: version("5.32.0"), Sections: []notes.Section{
				{Kind: notes.Other, Title: "FEATURES", Text: strings.Repeat("* resource/aws_thing: a change of some length\n", 2000)},
			}}},
		}
		if j == 24 {
			n.Releases[0].Sections = append([]notes.Section{{Kind: notes.Breaking, Title: "BREAKING CHANGES", Text: "* everything\n"}}, n.Releases[0].Sections...)
		}
		r.Notes = append(r.Notes, n)
	}
	body := render.Body(r).String()
	if len(body) > 60_000 {
		t.Errorf("the body has %d bytes", len(body))
	}
	checkPage(t, body)
	for _, want := range []string{
		"- **Breaking changes** in 8 root modules: `hashicorp/provider24` 5.31.0 → 5.56.0: everything\n",
		"### Release notes\n\n<details><summary><code>hashicorp/provider24</code>", "##### BREAKING CHANGES\n\n- everything\n",
		"The notes are longer than shown.", "more release notes are not shown, to stay within GitHub's limit.",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the body lacks %q", want)
		}
	}
	if blocks := strings.Count(body, "(Terraform 1.11.4)"); blocks != 8 {
		t.Errorf("%d root modules are shown, want all 8 before any release note is", blocks)
	}
}

func TestCutsAreWholeAndCounted(t *testing.T) {
	t.Parallel()
	more := regexp.MustCompile(`(?m)^(\d+) more (change|item|root module)s? (?:is|are) not shown`)
	for _, size := range [][2]int{{3, 800}, {400, 3}, {1, 1000}} {
		r := large(size[0], size[1])
		for i := range 500 {
			r.Diagnostics = append(r.Diagnostics, problem.Problem{Message: fmt.Sprintf("problem %03d %s", i, strings.Repeat("x", 200))})
		}
		body := render.Body(r).String()
		if len(body) > 60_000 {
			t.Errorf("%v: the body has %d bytes", size, len(body))
		}
		checkPage(t, body)
		cut := map[string]int{}
		for _, m := range more.FindAllStringSubmatch(body, -1) {
			cut[m[2]], _ = strconv.Atoi(m[1])
		}
		shown := map[string]int{
			"item": strings.Count(body, "\n- **Failed**"), "change": strings.Count(body, "\n| `"),
			"root module": strings.Count(body, "<details>"),
		}
		want := map[string]int{"item": 500, "change": size[1], "root module": size[0]}
		for what, n := range want {
			if shown[what]+cut[what] != n {
				t.Errorf("%v: %d of %s shown and %d said to be cut, want %d together", size, shown[what], what, cut[what], n)
			}
		}
		if cut["item"] == 0 || shown["item"] < 60 {
			t.Errorf("%v: %d items are shown, want a quarter of the room for them at least", size, shown["item"])
		}
		if !strings.HasSuffix(body, "```\n") {
			t.Errorf("%v: the end of the body is cut", size)
		}
	}
}

func TestSummaryStaysWithinItsLimit(t *testing.T) {
	t.Parallel()
	r := large(150, 50)
	summary := render.Summary(r).String()
	if whole := render.Markdown(r, 0).String(); len(summary) > 1<<20 || len(whole) < 1<<20 {
		t.Errorf("the step summary has %d of %d bytes, want it cut below 1 MiB", len(summary), len(whole))
	}
	checkPage(t, summary)
}

// A body that is cut names the step summary only where there is one.
func TestBodySaysWhereTheRestIs(t *testing.T) {
	t.Parallel()
	r := large(100, 12)
	for summarised, want := range map[bool]string{true: "The step summary of the run lists them.", false: "The report of the run lists them."} {
		r.Summarised = summarised
		if body := render.Body(r).String(); !strings.Contains(body, want) || strings.Contains(body, "step summary") != summarised {
			t.Errorf("with a step summary %t, the body does not say: %s", summarised, want)
		}
	}
}

// A short name is read by the tool of its root module: the registry of the other tool
// has another provider of that name.
func TestNamesAreShortByTheTool(t *testing.T) {
	t.Parallel()
	c := upgraded("registry.opentofu.org/hashicorp/aws", "5.31.0", "5.34.0", provider.Signer{})
	for name, want := range map[provider.ToolName]string{
		provider.OpenTofu:  "`hashicorp/aws`",
		provider.Terraform: "`registry.opentofu.org/hashicorp/aws`",
		"":                 "`hashicorp/aws`", // nobody says: a diff of files
	} {
		m := report.Module{Dir: "prod", Tool: provider.Tool{Name: name}, Pending: true, Changes: []report.Change{c}}
		if got := render.Body(report.Report{Verb: verbs.PR, Modules: []report.Module{m}}).String(); !strings.Contains(got, want) {
			t.Errorf("for %q the body does not call the provider %s:\n%s", name, want, got)
		}
	}
}
