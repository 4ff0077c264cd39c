package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// The measures of an estate.
const (
	estateProviders = 30
)

// estate is a large repository: 30 providers, and root modules of four
// environments in five regions. Of 200 root modules, 80 call modules of three
// repositories that need a credential. 50 have failures with five causes. Nothing
// in it is random.
func estate(roots int) report.Report {
	r := report.Report{Verb: verbs.PR, Summarised: true}
	for i := range roots {
		env, region := []string{"dev", "prod", "shared", "staging"}[i%4], []string{"af", "ap", "eu", "sa", "us"}[i/4%5]
		m := module(fmt.Sprintf("live/%s/%s/stack-%02d", env, region, i/20))
		for j := range 5 + i%3 {
			estateChange(&m, i, (i*7+j*11)%estateProviders)
		}
		estateProblems(&m, i, roots)
		m.Pending, m.Assumed = len(m.Changes) > 0, i%4 == 3
		r.Modules = append(r.Modules, m)
	}
	r.Diagnostics = []problem.Problem{{
		Severity: problem.SeverityWarning, Code: problem.CodeUnreachable,
		Message: "registry.example.com does not answer: the connection was refused", Hint: "everything that needs it stays as it is; run again when it answers",
		Outage: refusedByRegistry,
	}}
	return r
}

// refusedByRegistry is the outage of a registry that does not run.
var refusedByRegistry = problem.Outage{Server: "registry.example.com", Reason: "the connection was refused"}

// estateProvider is the name of a provider.
func estateProvider(n int) string { return fmt.Sprintf("publisher-%d/provider-%02d", n%3, n) }

// estateChange adds the change of a provider in a root module.
func estateChange(m *report.Module, i, n int) {
	name := estateProvider(n)
	c := upgraded(name, fmt.Sprintf("5.%d.0", 30+(i/3+n)%5), "5.100.0", hashicorp)
	c.HashesAdded = c.HashesAdded[:12+i%4] // no two lock files cover the same platforms
	if n%4 == 0 {
		h := upgrade.Held{
			Version: version("6.2.0"), By: policy.Hold{Reason: upgrade.HeldByConstraint}, Published: day("2026-11-06"),
			Term: term("~> 5.0", "", m.Dir+"/versions.tf", 4+n),
		}
		c.Held = []upgrade.Held{h}
	}
	if n%10 == 3 {
		c.Missing, c.Serving = []provider.Platform{mac}, version("5.98.0")
	}
	if n == 7 {
		c.Warnings = []string{"This provider is deprecated. Use publisher-2/provider-08 instead."}
	}
	switch {
	case n == 22:
		c.To, c.Bump = version("6.2.0"), provider.BumpMajor
	case n == 11 && i%3 == 0:
		c.SignerFrom = partner
	case n == 26 && i%40 == 0:
		c.Signer = nobody
	}
	m.Changes = append(m.Changes, c)
	m.InUse = append(m.InUse, report.Use{Addr: c.Addr, Version: c.To})
}

// estateProblems adds the failures of a root module.
func estateProblems(m *report.Module, i, roots int) {
	if i*5 < roots*2 {
		module, ref := fmt.Sprintf("part_%02d", i%9), fmt.Sprintf("v1.%d.0", i%7)
		source := fmt.Sprintf("git::https://git.example.com/platform/modules-%d.git//%s", i%3, module)
		u := scan.Unread{
			Module: module, Source: source, Code: problem.CodeUnauthorized, Place: problem.Place{Path: m.Dir + "/main.tf", Line: 10 + i%5},
			Reason: fmt.Sprintf("fetching https://git.example.com/platform/modules-%d.git at %s: authentication is required", i%3, ref),
			Hint:   "no token was sent to git.example.com, only what git finds on this machine, and module-token is for github.com: give git a login or a key that needs no answer",
		}
		m.Unread = []scan.Unread{u}
		m.Diagnostics = append(m.Diagnostics, problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeUnreadModule, Place: u.Place, Hint: u.Hint,
			Message: fmt.Sprintf("module.%s could not be read: %s; the recorded constraints are used instead", module, u.Reason),
		})
	}
	if i%4 == 0 {
		name := fmt.Sprintf("registry.example.com/acme/internal-%d", i/4%5)
		m.Diagnostics = append(m.Diagnostics, problem.Problem{
			Code: problem.CodeUnreachable, Host: "registry.example.com", Subject: problem.Subject{Addr: addr(name)},
			Message: fmt.Sprintf("reading the versions of %s: registry.example.com does not answer", name), Hint: "try again later",
			Outage: refusedByRegistry,
		})
	}
	if i%2 == 1 {
		name := estateProvider(i % 6)
		m.Diagnostics = append(m.Diagnostics, problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeNoPackage, Subject: problem.Subject{Addr: addr(name)}, Place: problem.Place{Path: m.LockPath, Line: 1 + i},
			Message: fmt.Sprintf("the entry of %s has %d hashes that could not be explained", name, 3+i%5),
			Hint:    "keep relock's hash cache between runs",
		})
	}
}

func TestALargeRepositoryIsReadInAMinute(t *testing.T) {
	r := estate(200)
	body, shown := render.Body(r).String(), text(t, r, render.TextOptions{Width: 100})
	checkPage(t, body)
	if len(body) > 60_000 {
		t.Errorf("the body has %d bytes", len(body))
	}
	if lines := strings.Count(shown, "\n"); lines > 150 {
		t.Errorf("the text has %d lines", lines)
	}
	if rows := strings.Count(body, "\n| `"); rows != estateProviders {
		t.Errorf("the table has %d rows, want one for each of %d providers", rows, estateProviders)
	}
	// Each cause, with what to do, stands once: three repositories of modules, five
	// providers, and those whose entries hold unknown hashes.
	for what, want := range map[string]struct{ body, text int }{
		"- **Warning** in 27 root modules: modules of `git::https://git.example.com/platform/modules-0.git` could not be read, and the recorded constraints are used instead": {1, 0},
		"no token was sent": {3, 1},
		"registry.example.com cannot be reached: the connection was refused; 5 providers need it": {1, 1},
		"reading the versions of":                {0, 0},
		"try again later":                        {0, 0},
		"keep relock's hash cache":               {0, 1},
		"This provider is deprecated":            {1, 1},
		"--summary=false shows each of 200 root": {0, 1},
		"`publisher-0/provider-00` by `~> 5.0`; newest is 6.2.0, released 2026-11-06 (in 40 root modules: ": {1, 0},
	} {
		if got := strings.Count(body, what); got != want.body {
			t.Errorf("the body says %d times %q, want %d", got, what, want.body)
		}
		if got := strings.Count(shown, what); got != want.text {
			t.Errorf("the text says %d times %q, want %d", got, what, want.text)
		}
	}
}

// The same holds of a few root modules, and of more than a screen shows.
func TestReportsOfSomeSizes(t *testing.T) {
	for _, roots := range []int{4, 130, 200} {
		r, name := estate(roots), fmt.Sprintf("estate%d", roots)
		body := render.Body(r).String()
		golden(t, name+".body.md", body)
		golden(t, name+".txt", text(t, r, render.TextOptions{Width: 100}))
		golden(t, name+".narrow.txt", text(t, r, render.TextOptions{Width: 60}))
		_, page, _ := strings.Cut(webpage(t, r), "<body>")
		page, _, _ = strings.Cut(page, "<script>")
		golden(t, name+".html", page)
		checkPage(t, body)
		// The major upgrade comes first, then what wants a reviewer.
		table := body[strings.Index(body, "| --- |"):]
		if first := strings.SplitN(table, "\n", 3)[1]; roots > 4 && !strings.HasPrefix(first, "| `publisher-1/provider-22` | 5.31.0 … 5.34.0 → 6.2.0 | major |") {
			t.Errorf("of %d root modules the table begins with %q", roots, first)
		}
	}
}

func TestMarkdownStaysWithinABound(t *testing.T) {
	r := estate(200)
	for _, most := range []int{10_000, 20_000, 40_000} {
		got := render.Markdown(r, most).String()
		checkPage(t, got)
		if want := fmt.Sprintf("not shown, to stay within %d bytes. --format json lists them.", most); len(got) > most || !strings.Contains(got, want) {
			t.Errorf("of %d bytes there are %d; it must say %q", most, len(got), want)
		}
		if rows := strings.Count(got, "\n| `"); most > 10_000 && rows < estateProviders {
			t.Errorf("within %d bytes the table has %d rows, want one for each provider at least", most, rows)
		}
	}
}

func TestSummaryIsForManyRootModules(t *testing.T) {
	yes, no := true, false
	many, few := estate(200), estate(200)
	few.Modules = few.Modules[:4]
	for name, tt := range map[string]struct {
		r     report.Report
		o     render.TextOptions
		brief bool
	}{
		"many":            {many, render.TextOptions{}, true},
		"many, all asked": {many, render.TextOptions{Summary: &no}, false},
		"many, verbose":   {many, render.TextOptions{Verbose: true}, false},
		"few":             {few, render.TextOptions{}, false},
		"few, in short":   {few, render.TextOptions{Summary: &yes}, true},
	} {
		got := text(t, tt.r, tt.o)
		if single := strings.Contains(got, "\nlive/prod/af/stack-00 (Terraform 1.11.4)\n"); single == tt.brief {
			t.Errorf("%s: a root module stands by itself: %t", name, single)
		}
		if told := strings.Contains(got, "--summary=false shows each of "); told != tt.brief {
			t.Errorf("%s: it says how to see all: %t", name, told)
		}
	}
}

func TestATableWithoutRoomIsJoinedByProvider(t *testing.T) {
	r := estate(200)
	for i := range r.Modules {
		for j := range r.Modules[i].Changes {
			r.Modules[i].Changes[j].From = version(fmt.Sprintf("4.%d.%d", i, j))
		}
	}
	body := render.Body(r).String()
	checkPage(t, body)
	if rows := strings.Count(body, "\n| `"); rows != estateProviders {
		t.Errorf("the table has %d rows, want one for each of %d providers", rows, estateProviders)
	}
	if want := "| `publisher-0/provider-00` | 4.0.0 … 4.194.2 → 5.100.0 | minor | 40 root modules |"; !strings.Contains(body, want) {
		t.Errorf("the body lacks %q:\n%s", want, body[:2000])
	}
}

// simple is a repository of n root modules that upgrade two providers alike. With one host
// dead each lacks the versions of a third one; with a broken module three of them can be
// read.
func simple(n int, what string) report.Report {
	r := report.Report{Verb: verbs.PR, Summarised: true}
	for i := range n {
		dir := fmt.Sprintf("live/stack-%03d", i)
		m := module(dir, upgraded("hashicorp/aws", "5.31.0", "5.34.0", hashicorp), upgraded("hashicorp/random", "3.6.0", "3.7.0", hashicorp))
		switch {
		case what == "dead host":
			name := fmt.Sprintf("registry.example.com/acme/internal-%d", i%7)
			m.Diagnostics = []problem.Problem{{
				Code: problem.CodeUnreachable, Host: "registry.example.com", Subject: problem.Subject{Addr: addr(name)}, Outage: refusedByRegistry,
				Place: problem.Place{Path: dir + "/main.tf", Line: 3 + i}, Hint: "check that the host can be reached from here, and try again",
				Message: fmt.Sprintf("provider %s: requesting https://registry.example.com/v1/providers/acme/internal-%d/versions: the connection was refused", name, i%7),
			}}
		case what == "failed" && i < n-3:
			m = module(dir)
			m.Diagnostics = []problem.Problem{{
				Code: problem.CodeSyntax, Message: "unclosed configuration block", Place: problem.Place{Path: "modules/network/main.tf", Line: 7},
			}}
		}
		r.Modules = append(r.Modules, m)
	}
	return r
}

// Whatever the size, the first sentence says first what failed, and one cause is one line.
func TestReportsSayFirstWhatFailed(t *testing.T) {
	for _, n := range []int{4, 130, 200} {
		rest := fmt.Sprintf("2 providers are upgraded in the lock files of %d root modules.", n)
		for what, want := range map[string]struct{ headline, cause string }{
			"right":     {rest, ""},
			"dead host": {fmt.Sprintf("All %d root modules failed in part; %s", n, rest), "registry.example.com cannot be reached: the connection was refused; "},
			"failed":    {fmt.Sprintf("%d of %d root modules could not be read; in the other 3, 2 providers are upgraded.", n-3, n), "unclosed configuration block"},
		} {
			r := simple(n, what)
			body, shown, page := render.Body(r).String(), text(t, r, render.TextOptions{Width: 100}), webpage(t, r)
			name := fmt.Sprintf("simple-%d-%s", n, strings.ReplaceAll(what, " ", "-"))
			golden(t, name+".body.md", body)
			golden(t, name+".txt", shown)
			checkPage(t, body)
			begins := want.headline + "\n"
			if want.cause != "" {
				begins = "**Needs review:** 1 failure.\n\n" + begins
			}
			if !strings.HasPrefix(body, begins) {
				t.Errorf("%s: the body begins with\n%.200s\nwant\n%s", name, body, begins)
			}
			if !strings.Contains(page, `<p class="headline">`+want.headline+"</p>") {
				t.Errorf("%s: the page does not begin with %q", name, want.headline)
			}
			if failed, _, some := strings.Cut(want.headline, "; "); some && !strings.Contains(shown, "\n"+strings.ToLower(failed[:1])+failed[1:]+"; ") {
				t.Errorf("%s: the text does not end in a line that begins with %q", name, failed)
			}
			for form, printed := range map[string]string{"body": body, "text": shown, "page": page} {
				if got := strings.Count(printed, want.cause); want.cause != "" && got != 1 {
					t.Errorf("%s: the %s has the cause %d times, want once", name, form, got)
				}
			}
		}
	}
}
