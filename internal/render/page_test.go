package render_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/safe/safetest"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

func webpage(t *testing.T, r report.Report) string {
	t.Helper()
	var b strings.Builder
	if err := render.HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// parsed is the document that a browser makes of a page.
func parsed(t *testing.T, page string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// elements are the elements of the page with a name.
func elements(root *html.Node, name string) []*html.Node {
	var all []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			all = append(all, n)
		}
	}
	return all
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// shownText is the text of a node with single spaces.
func shownText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && d.Parent.Data != "style" && d.Parent.Data != "script" {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// pages are reports to make pages of.
func pages(t *testing.T) map[string]report.Report {
	t.Helper()
	reports := fixtures(t)
	reports["estate"], reports["verified"] = estate(200), verified()
	return reports
}

func TestPage(t *testing.T) {
	reports := pages(t)
	for _, name := range []string{"kinds", "monorepo", "held", "failures", "verified"} {
		_, body, _ := strings.Cut(webpage(t, reports[name]), "<body>")
		body, _, _ = strings.Cut(body, "<script>")
		golden(t, name+".html", body)
	}
}

func TestPageRunsAndLoadsNothingButItsOwn(t *testing.T) {
	for name, r := range pages(t) {
		root := parsed(t, webpage(t, r))
		policy := ""
		for _, m := range elements(root, "meta") {
			if attribute(m, "http-equiv") == "Content-Security-Policy" {
				policy = attribute(m, "content")
			}
		}
		if !strings.HasPrefix(policy, "default-src 'none'; base-uri 'none'; form-action 'none'; ") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %q", name, policy)
		}
		for _, kind := range []string{"style", "script"} {
			own := elements(root, kind)
			if len(own) != 1 {
				t.Fatalf("%s: %d elements %s", name, len(own), kind)
			}
			sum := sha256.Sum256([]byte(own[0].FirstChild.Data))
			if want := kind + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
				t.Errorf("%s: the policy does not let its own %s be: want %s in %s", name, kind, want, policy)
			}
		}
		checkElements(t, root)
	}
}

// checkElements fails for elements that our pages do not have.
func checkElements(t *testing.T, root *html.Node) {
	t.Helper()
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "img", "iframe", "link", "object", "embed", "form", "base", "em", "strong", "input":
			if n.Data != "input" || attribute(n, "id") != "filter" {
				t.Errorf("the page has an element %s", n.Data)
			}
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "src":
				t.Errorf("an element %s has %s=%q", n.Data, a.Key, a.Val)
			case a.Key == "href" && !strings.HasPrefix(a.Val, "https://github.com/") && !strings.HasPrefix(a.Val, "https://registry.terraform.io/"):
				t.Errorf("a link leads to %q", a.Val)
			}
		}
	}
}

func TestPageShowsOutsideTextAsText(t *testing.T) {
	for _, tt := range safetest.Threats {
		t.Run(tt.Name, func(t *testing.T) {
			evil := tt.Text
			c := upgraded("hashicorp/aws", "5.31.0", "5.34.0", provider.Signer{KeyID: evil, Label: evil})
			c.Warnings = []string{evil}
			c.Held = []upgrade.Held{{Version: version("6.1.0"), By: policy.Hold{Reason: upgrade.HeldByConstraint}, Term: term("~> 5.0", evil, evil, 4)}, {Version: version("6.0.0"), By: policy.Hold{Reason: policy.HeldByRule, Rule: evil}}}
			c.Coverage = []provider.Platform{{OS: evil, Arch: evil}}
			m := module(evil, c)
			m.Tool.Name = provider.ToolName(evil)
			m.InUse = []report.Use{{Addr: c.Addr, Version: provider.Version{Major: 5, Prerelease: evil}}}
			m.Diagnostics = []problem.Problem{{Code: problem.CodeSyntax, Place: problem.Place{Path: evil, Line: 1}, Message: evil, Hint: evil}}
			other := m
			other.Dir = "other"
			r := report.Report{Verb: verbs.PR, Modules: []report.Module{m, other}, Footer: safe.Ours(evil)}
			r.PullRequests = []report.PullRequest{{Operation: "created", Number: 1, URL: evil, Title: evil, Branch: evil, Base: evil, Reason: evil, Body: evil}}
			r.Notes = []notes.Notes{{Addr: c.Addr, From: c.From, To: c.To, Problem: evil, Releases: []notes.Release{{URL: evil, Sections: []notes.Section{{Title: evil, Text: evil}}}}}}
			checkShown(t, webpage(t, r), evil, 1)
			found := problem.Problem{Code: problem.CodeHashUnknown, Subject: problem.Subject{Addr: c.Addr}, Place: problem.Place{Path: evil, Line: 8}, Message: evil, Hint: evil}
			m = module(evil)
			m.Findings = []problem.Problem{found}
			m.Verified = &report.Verified{Unchecked: []string{evil}}
			m.Accepted = []ledger.Acceptance{{Problem: found, Reason: evil, By: evil}}
			// A finding shows directory, place, what and next. An accepted one
			// shows the first three, reason and by. A gap shows what is not
			// checked and where.
			checkShown(t, webpage(t, report.Report{Verb: verbs.Verify, Modules: []report.Module{m}}), evil, 4+5+2)
		})
	}
	forged := module("envs/\x02prod\x03", upgraded("hashicorp/aws", "5.31.0", "5.34.0", hashicorp))
	forged.Diagnostics = []problem.Problem{{Code: problem.CodeSyntax, Message: "\x04click\x05https://evil.example/\x06"}}
	checkElements(t, parsed(t, webpage(t, report.Report{Verb: verbs.Check, Modules: []report.Module{forged}})))
}

// checkShown fails if an outside text becomes more than text in a page, or
// appears fewer than least times.
func checkShown(t *testing.T, page, evil string, least int) {
	t.Helper()
	root := parsed(t, page)
	checkElements(t, root)
	if scripts := elements(root, "script"); len(scripts) != 1 {
		t.Errorf("the page has %d scripts", len(scripts))
	}
	want := strings.Join(strings.Fields(safe.Plain(evil)), " ")
	// What is between backquotes in a hint is code on the page.
	want = strings.Trim(want, "`")
	if n := strings.Count(shownText(root), want); n < least {
		t.Errorf("the page shows %d times %q, want %d", n, want, least)
	}
	if i := strings.IndexAny(page, "\x00\x02\x03\x04\x05\x06\x07\x08\x1b\x7f\r\u0085\u202e\u2066\u200f"); i >= 0 {
		t.Errorf("the page has the control character %q", page[i:i+1])
	}
}

// TestMarkupIsMadeInOneFile holds that no text becomes part of the page unescaped.
func TestMarkupIsMadeInOneFile(t *testing.T) {
	conversion := regexp.MustCompile(`\bmarkup\(`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if made := conversion.FindAll(src, -1); name != "markup.go" && !strings.HasSuffix(name, "_test.go") && made != nil {
			t.Errorf("%s converts to markup %d times: use escaped", name, len(made))
		}
	}
}

func TestPageOfAVerification(t *testing.T) {
	sections := map[string]string{}
	root := parsed(t, webpage(t, verified()))
	for _, s := range elements(root, "section") {
		sections[attribute(s, "id")] += shownText(s)
	}
	for section, wanted := range map[string][]string{
		"":          {"16 in signed lists", "3 h1 by packages hashed now", "2 refuted", "1 unproven"},
		"findings":  {"3 errors, 1 warning, 2 notes, 1 accepted", "envs/prod/.terraform.lock.hcl:8 h1:forged= belongs to no package", "git::https://example.com/net.git//main.tf:3"},
		"accepted":  {"h1:accepted= belongs to no package of registry.terraform.io/hashicorp/aws 5.31.0 built by ourselves mona 2027-05-31"},
		"unchecked": {"entries that nothing requires: 2 modules could not be read", "envs/dev"},
		"review":    {"invalid provider source address", "registry.example.com answered no question"},
	} {
		for _, want := range wanted {
			if !strings.Contains(sections[section], want) {
				t.Errorf("the section %q lacks %q: %s", section, want, sections[section])
			}
		}
	}
	if strings.Contains(sections["review"], "forged") || strings.Contains(shownText(root), "up to date") {
		t.Errorf("findings stand among the problems, or a lock file is called up to date: %s", sections["review"])
	}
	var severities []string
	for _, row := range elements(root, "tr") {
		if cells := elements(row, "td"); len(cells) == 6 {
			severities = append(severities, shownText(cells[0]))
		}
	}
	if got := strings.Join(severities, " "); got != "error error error warning note note" {
		t.Errorf("the findings are %s, want the errors first", got)
	}
}

func TestPageOfAVerificationThatFoundNothing(t *testing.T) {
	m := module(".")
	m.Verified = &report.Verified{Counts: verify.Counts{verify.ByList: 2}}
	text := shownText(parsed(t, webpage(t, report.Report{Verb: verbs.Verify, Modules: []report.Module{m}})))
	for _, want := range []string{"2 hashes: 2 in signed lists; 0 unproven.", "1 without findings", "Findings none"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
}

func TestPageOfALargeRepository(t *testing.T) {
	r := estate(200)
	old := version("4.67.0")
	r.Modules[0].InUse[0].Version = old
	root := parsed(t, webpage(t, r))
	rows := map[string]int{}
	for _, s := range elements(root, "section") {
		for _, body := range elements(s, "tbody") {
			rows[attribute(s, "id")] += len(elements(body, "tr"))
		}
	}
	// The matrix and the list below it.
	if rows["changes"] != estateProviders || rows["versions"] != 200+estateProviders {
		t.Errorf("the tables have %v rows", rows)
	}
	text := shownText(root)
	for _, want := range []string{
		"50 with errors", "150 changing",
		"4.67.0 ▾▾▾", "1 a major version behind",
		"by ~> 5.0 ; newest is 6.2.0, released 2026-11-06",
		"modules of git::https://git.example.com/platform/modules-0.git could not be read",
		"46 not published", "HashiCorp 34365D9472D7468F",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestPageHasAMatrixThatCanBeRead(t *testing.T) {
	r := report.Report{Verb: verbs.Check}
	m := module("envs/prod")
	for i := range 50 {
		m.InUse = append(m.InUse, report.Use{Addr: addr(fmt.Sprintf("acme/p%02d", i)), Version: version("1.0.0")})
	}
	r.Modules = []report.Module{m}
	root := parsed(t, webpage(t, r))
	if text := shownText(root); !strings.Contains(text, "10 providers are not in the matrix but in the list below it.") {
		t.Errorf("the page does not say what the matrix leaves out: %s", text)
	}
}
