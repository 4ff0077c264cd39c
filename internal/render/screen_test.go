package render_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// organisation is a run over 300 repositories. It opened 12 pull requests and updated
// 40. 30 are as they were, and 160 wait. 8 repositories failed.
func organisation() report.Report {
	r := report.Report{Verb: verbs.PR, Fleet: &report.Fleet{Owner: "acme", Listed: 300}}
	for i := range 300 {
		repository := fmt.Sprintf("acme/app-%03d", i)
		of := report.Outcome{Name: repository, State: report.Outdated, Modules: 1, Pending: 1}
		m := module(repository+"//.", upgraded("hashicorp/aws", "5.31.0", "5.34.0", hashicorp))
		p := report.PullRequest{
			Operation: "none", Repository: repository, Number: 3, URL: "https://github.com/" + repository + "/pull/3", Branch: "relock/all-0a1b2c3d", Base: "main",
			Title: "Bump hashicorp/aws from 5.31.0 to 5.34.0", Directories: []string{"."},
		}
		switch {
		case i < 12:
			p.Operation = "created"
		case i < 52:
			p.Operation = "updated"
		case i < 82:
		case i < 242:
			p.Number, p.URL, p.Waits, of.Waits = 0, "", true, 1
			p.Reason = "it waits, since this run opens no more pull requests"
		case i < 250:
			m.Changes, m.Pending, of.State = nil, false, report.FleetFailed
			m.Diagnostics = []problem.Problem{{Code: problem.CodeSyntax, Message: "unclosed configuration block", Place: problem.Place{Path: "main.tf", Line: 1 + i}}}
		default:
			of.State = report.NoLockFile
		}
		r.Fleet.Repositories = append(r.Fleet.Repositories, of)
		if of.State == report.NoLockFile {
			continue
		}
		r.Modules = append(r.Modules, m)
		if of.State == report.Outdated {
			r.PullRequests = append(r.PullRequests, p)
			r.Notes = append(r.Notes, notes.Notes{Addr: addr("hashicorp/aws"), From: version("5.31.0"), To: version("5.34.0"), Problem: "the registry does not say where the source is"})
		}
	}
	return r
}

func TestTheSummaryOfAnOrganisationBeginsWithCountsAndFailures(t *testing.T) {
	t.Parallel()
	got := render.Summary(organisation()).String()
	golden(t, "organisation.summary.md", got)
	checkPage(t, got)
	if want := "## relock\n\nacme: 300 repositories: 242 outdated, 50 no lock file, 8 failed; in 160 repositories something waits for room.\n" +
		"Pull requests: created 12, updated 40, kept 30, not opened 160.\n" +
		"Failed: `acme/app-242`, `acme/app-243`, `acme/app-244`, `acme/app-245`, `acme/app-246` and 3 more.\n"; !strings.HasPrefix(got, want) {
		t.Errorf("the summary begins with\n%.600s\nwant\n%s", got, want)
	}
	if first := got[:1200]; !strings.Contains(first, "### Needs review") || !strings.Contains(first, "- **Failed** in `acme/app-242//.`") {
		t.Errorf("the first screen does not say what needs a person:\n%s", first)
	}
	for text, want := range map[string]int{
		"it waits": 1,
		"- Opened no pull request for 160 groups": 1,
		"- Kept 30 pull requests: ":               1,
		" and 155 more\n":                         1,
		"- Created [pull request 3]":              12,
		"- None for ":                             1,
		"`hashicorp/aws` 5.31.0 → 5.34.0: the registry does not say where the source is": 1,
	} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("the summary says %d times %q, want %d", n, text, want)
		}
	}
	shown := text(t, organisation(), render.TextOptions{})
	if n := strings.Count(shown, "it waits"); n != 1 {
		t.Errorf("the text says %d times that something waits, want once", n)
	}
}

// A dry run has done nothing.
func TestTheSummaryOfADryRunSaysWhatItWouldDo(t *testing.T) {
	t.Parallel()
	r := organisation()
	r.DryRun = true
	if got, want := render.Summary(r).String(), "Pull requests: would create 12, would update 40, kept 30, not opened 160.\n"; !strings.Contains(got, want) {
		t.Errorf("the summary lacks %q:\n%.600s", want, got)
	}
}

// The measures of a pull request on GitHub, in pixels: a table is as wide as the text, a
// cell has padding and a line, and code is smaller than text.
const (
	pullWidth  = 826
	commentPad = 2 * 16
	cellPad    = 2*13 + 1
	digit      = 7.8 // of text with 14 pixels
	codeLetter = 7.2
)

var codeSpan = regexp.MustCompile("`[^`]*`")

// wordWidth is the width of the longest word of a cell: a browser breaks lines at
// spaces. Whole is the width of a cell that should have one line.
func wordWidth(cell string, whole bool) float64 {
	most := 0.0
	words := strings.Fields(cell)
	if whole {
		words = []string{cell}
	}
	for _, word := range words {
		code := 0
		for _, c := range codeSpan.FindAllString(word, -1) {
			code += len(c)
		}
		most = max(most, float64(code)*codeLetter+float64(len([]rune(word))-code)*digit)
	}
	return most
}

// On GitHub the table of a pull request needs no sideways scrolling, also with the
// providers of several registries. Names of providers stay on one line.
func TestTheTableOfAPullFitsItsWidth(t *testing.T) {
	t.Parallel()
	for _, roots := range []int{4, 50, 200} {
		for _, hosts := range [][]string{{"registry.terraform.io"}, {"registry.terraform.io", "registry.opentofu.org"}, {"terraform-registry.platform.example.com", "registry.terraform.io", "registry.opentofu.org"}} {
			r := estate(roots)
			for i := range r.Modules {
				for j, c := range r.Modules[i].Changes {
					host := hosts[int(c.Addr.Type[len(c.Addr.Type)-1])%len(hosts)]
					c.Addr, c.Published = addr(host+"/"+c.Addr.Namespace+"/"+c.Addr.Type), day("2026-10-30")
					r.Modules[i].Changes[j] = c
				}
			}
			body := render.Body(r).String()
			checkPage(t, body)
			above, table, _ := strings.Cut(body, "| Provider")
			if review, heading, many := strings.Cut(above, "### Changes\n"); many {
				above = heading
				if !strings.Contains(review, "### Needs review\n") {
					t.Errorf("%d root modules, %d registries: many changes are above what needs a person:\n%.400s", roots, len(hosts), body)
				}
			}
			table, _, _ = strings.Cut("| Provider"+table, "\n\n")
			var widths []float64
			for _, row := range strings.Split(table, "\n") {
				for i, cell := range strings.Split(strings.Trim(row, "|"), " | ") {
					if i == len(widths) {
						widths = append(widths, 0)
					}
					widths[i] = max(widths[i], wordWidth(strings.TrimSpace(cell), i == 0 && !strings.HasPrefix(row, "| Provider")))
				}
			}
			all := commentPad
			for _, w := range widths {
				all += cellPad + int(w)
			}
			if all > pullWidth {
				t.Errorf("%d root modules, %d registries: the table needs %d pixels (%.0f), GitHub has %d:\n%.400s", roots, len(hosts), all, widths, pullWidth, table)
			}
			for _, host := range hosts[1:] {
				if n := strings.Count(above, host) + strings.Count(table, host); n != 1 {
					t.Errorf("%d root modules, %d registries: %s is named %d times in the table and its heading, want once", roots, len(hosts), host, n)
				}
			}
		}
	}
}

func TestABodyBeginsWithWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		r    report.Report
		want string
	}{
		"every kind": {fixtures(t)["kinds"], "**Needs review:** 1 re-released version, 5 new or missing signers, 1 downgrade, 1 major upgrade, " +
			"1 provider of another registry, 1 removed provider, 1 registry warning, 1 provider with missing platforms.\n\n4 providers are upgraded"},
		"a major upgrade in many root modules": {estate(130), "**Needs review:** 1 failure, 2 new or missing signers, 1 major upgrade, 1 registry warning, " +
			"3 providers with missing platforms, 6 warnings.\n\n33 of 130 root modules failed in part"},
		"breaking changes": {noted(), "**Needs review:** 1 major upgrade, 1 upgrade with breaking changes, 1 registry warning.\n\n2 providers are upgraded"},
		"nothing":          {pullRequests(), "1 provider is upgraded in the lock file of 1 root module.\n\n| Provider"},
	} {
		if got := render.Body(tt.r).String(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: the body begins with\n%.400s\nwant\n%s", name, got, tt.want)
		}
	}
}

// Usual signers are a sentence at the end, and the review has the unusual ones. No signer
// is passed over.
func TestABodyEndsWithWhoSigned(t *testing.T) {
	t.Parallel()
	const usually, odd = "All releases are signed by their publishers' usual keys", ", except where Needs review says otherwise"
	usual := upgraded("hashicorp/aws", "5.31.0", "5.34.0", hashicorp)
	same, resigned, replaced := usual, upgraded("acme/resigned", "1.0.0", "1.1.0", hashicorp), change(diff.ReReleased, "acme/tool", "1.2.0", "1.2.0")
	same.SignerFrom, resigned.SignerFrom = hashicorp, partner
	replaced.Signer, replaced.SignerFrom = hashicorp, partner
	bare, unknown := upgraded("acme/bare", "1.0.0", "1.1.0", nobody), upgraded("acme/mirrored", "1.0.0", "1.1.0", provider.Signer{})
	var many []report.Change
	for i := range 7 {
		many = append(many, upgraded(fmt.Sprintf("acme/mirrored-%d", i), "1.0.0", "1.1.0", provider.Signer{}))
	}
	for name, tt := range map[string]struct {
		changes  []report.Change
		said     string
		reviewed bool // a signer is below "Needs review"
	}{
		"usual":             {[]report.Change{usual}, usually + ".", false},
		"the same as ever":  {[]report.Change{same}, usually + ".", false},
		"another key":       {[]report.Change{usual, resigned}, usually + odd + ".", true},
		"no signature":      {[]report.Change{usual, bare}, usually + odd + ".", true},
		"replaced packages": {[]report.Change{usual, replaced}, usually + odd + ".", true},
		"not known of one":  {[]report.Change{usual, unknown}, usually + ", except for those of `acme/mirrored`, whose signers are not known.", false},
		"not known of many": {append(many, usual), usually + ", except for those of `acme/mirrored-0`, `acme/mirrored-1`, `acme/mirrored-2`, `acme/mirrored-3`, `acme/mirrored-4` and 2 more providers, whose signers are not known.", false},
		"both":              {[]report.Change{usual, bare, unknown}, usually + odd + ", and for those of `acme/mirrored`, whose signers are not known.", true},
		"unusual alone":     {[]report.Change{bare}, "", true},
		"none is usual":     {[]report.Change{bare, unknown}, "The signers of the releases of `acme/mirrored` are not known.", true},
		"not known of any":  {[]report.Change{unknown}, "", false},
		"nothing is taken":  {[]report.Change{change(diff.Removed, "acme/gone", "1.0.0", "")}, "", false},
	} {
		body := render.Body(report.Report{Verb: verbs.PR, Modules: []report.Module{module("live", tt.changes...)}}).String()
		if tt.said != "" && !strings.Contains(body, "\n\n"+tt.said+"\n\n---\n") || tt.said == "" && regexp.MustCompile("usual keys|not known").MatchString(body) {
			t.Errorf("%s: the body does not end with %q:\n%s", name, tt.said, body)
		}
		if reviewed := strings.Contains(body, "- **Signer** in `live`: "); reviewed != tt.reviewed {
			t.Errorf("%s: that a signer is below Needs review is %t:\n%s", name, reviewed, body)
		}
		if strings.Contains(body, "| Signer") {
			t.Errorf("%s: the table has a column for signers:\n%s", name, body)
		}
	}
}
