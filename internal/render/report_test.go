package render_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe/safetest"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/versionfile"
)

// plan has one provider that changes, one that is held, one that needs no comment
// and one that failed.
func plan() upgrade.Result {
	selection := func(name, to string) upgrade.Selection {
		return upgrade.Selection{Requirement: scan.Requirement{Addr: addr(name)}, To: version(to)}
	}
	changed, heldBack, quiet, broken := selection("hashicorp/aws", "5.34.0"), selection("hashicorp/held", "1.0.0"), selection("hashicorp/quiet", "1.0.0"), selection("hashicorp/broken", "")
	changed.Coverage, changed.Signer = []provider.Platform{linux}, hashicorp
	heldBack.Held = []upgrade.Held{heldByVPC}
	broken.Err = &problem.Error{Problem: problem.Problem{Code: problem.CodeUnreachable, Host: "example.com", Message: "no answer", Hint: "try again"}}
	return upgrade.Result{
		Module:     scan.RootModule{Root: scan.Root{Dir: "envs/prod", Tool: terraform}},
		Selections: []upgrade.Selection{changed, broken, heldBack, quiet},
		File:       []byte("new"),
	}
}

func TestFromPlanJoinsChangesAndFacts(t *testing.T) {
	c := diff.Change{Addr: addr("hashicorp/aws"), Kind: diff.Upgraded, From: version("5.31.0"), To: version("5.34.0")}
	got := report.FromPlan(plan(), []diff.Change{c})
	want := report.Module{
		Dir: "envs/prod", Tool: terraform, Pending: true,
		Changes:     []report.Change{{Change: c, Facts: upgrade.Facts{Coverage: []provider.Platform{linux}, Signer: hashicorp}}},
		Kept:        []report.Kept{{Addr: addr("hashicorp/held"), Version: version("1.0.0"), Facts: upgrade.Facts{Held: []upgrade.Held{heldByVPC}}}},
		Diagnostics: []problem.Problem{{Code: problem.CodeUnreachable, Host: "example.com", Subject: problem.Subject{Addr: addr("hashicorp/broken")}, Message: "no answer", Hint: "try again"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(provider.Constraints{})); diff != "" {
		t.Errorf("FromPlan (-want +got):\n%s", diff)
	}
}

func TestFromPlanSaysAFailureOnce(t *testing.T) {
	r := plan()
	d := problem.Of(r.Selections[1].Err)
	d.Subject.Addr = addr("hashicorp/broken")
	r.Diagnostics = []problem.Problem{d}
	if got := report.FromPlan(r, nil).Diagnostics; len(got) != 1 {
		t.Errorf("diagnostics = %v, want one", got)
	}
}

// A failed provider is held at the version in the old lock file, even at 0.0.0.
func TestFromPlanKeepsWhatHoldsAFailure(t *testing.T) {
	r := plan()
	failed := &r.Selections[1]
	failed.Held = []upgrade.Held{heldByVPC}
	if got := report.FromPlan(r, nil).Kept; slices.ContainsFunc(got, func(k report.Kept) bool { return k.Addr == failed.Requirement.Addr }) {
		t.Errorf("a provider without an entry is kept at something: %v", got)
	}
	r.Old = []lockfile.Lock{{Addr: failed.Requirement.Addr}}
	if got := report.FromPlan(r, nil).Kept; !slices.ContainsFunc(got, func(k report.Kept) bool { return k.Addr == failed.Requirement.Addr }) {
		t.Errorf("an entry of 0.0.0 is not kept: %v", got)
	}
}

func TestFromPlanWithoutAFileChangesNothing(t *testing.T) {
	r := plan()
	r.File = nil
	got := report.FromPlan(r, []diff.Change{{Addr: addr("hashicorp/aws"), Kind: diff.Upgraded}})
	if got.Pending || len(got.Changes) > 0 {
		t.Errorf("pending %t with changes %v, want none", got.Pending, got.Changes)
	}
}

// TestEveryFormatNamesFilesAsPeopleKnowThem writes a module twice: with names for
// its files, and with these names as paths. Both outputs are equal.
func TestEveryFormatNamesFilesAsPeopleKnowThem(t *testing.T) {
	const far = "git::https://example.com/net.git"
	reports := func(place func(path string) problem.Place, names problem.Naming) map[verbs.Verb]report.Report {
		far := problem.Place{Path: "main.tf", Package: far, Line: 3}
		planned := hostile("dir").Modules[0]
		planned.LockPath = "dir/.terraform.lock.hcl"
		held := []upgrade.Held{{Version: version("6.1.0"), By: policy.Hold{Reason: upgrade.HeldByConstraint}, Term: scan.Term{Constraint: constraints("~> 5.0").Terms()[0], Place: place("dir/held.tf")}, Others: []scan.Term{{Module: "net", Place: far}}}}
		planned.Changes[0].Held, planned.Kept[0].Held = held, held
		planned.Unread = []scan.Unread{{Module: "a", Place: place("dir/a.tf")}, {Module: "b", Place: far}}
		planned.Diagnostics = []problem.Problem{{Message: "wrong", Place: place("dir/wrong.tf")}, {Message: "far", Place: far}, {Message: "nowhere"}, {Message: "all of it", Place: place(".")}}
		planned.Findings = []problem.Problem{{Code: problem.CodeHashUnknown, Message: "forged", Place: place("dir/.terraform.lock.hcl")}}
		planned.Undecided = planned.Findings
		proven := planned
		proven.Verified, proven.Accepted = &report.Verified{}, []ledger.Acceptance{{Problem: planned.Findings[0]}}
		seen := report.FromScan(scan.RootModule{
			Root: scan.Root{
				Dir: "dir", Pin: &versionfile.Pin{Text: "1.11", Place: place(".terraform-version")},
				Made: scan.Made{
					Terragrunt: &versionfile.Pin{Text: "1.1", Place: place("terragrunt.txt")},
					Holes:      []scan.Hole{{Parts: 1, Place: place("dir/terragrunt.hcl")}},
				},
			},
			Tree: scan.ModuleTree{
				Requirements: []scan.Requirement{{Addr: addr("hashicorp/aws"), Terms: []scan.Term{{Place: place("dir/main.tf")}}}},
				Unread:       []scan.Unread{{Code: problem.CodeTerragruntUnit, Place: place("dir/unread.tf")}},
				Diagnostics:  planned.Diagnostics, Notes: []problem.Problem{{Message: "note", Place: place("dir/note.tf")}},
			},
		})
		all := map[verbs.Verb]report.Report{}
		for verb, m := range map[verbs.Verb]report.Module{verbs.Check: planned, verbs.Verify: proven, verbs.Scan: seen} {
			all[verb] = report.Report{Verb: verb, Modules: []report.Module{m.Named(names)}}
		}
		return all
	}
	for _, names := range []problem.Naming{{Root: "/src/infra", WorkDir: "/src"}, {Root: "/src/infra", WorkDir: "/src/infra/live"}, {Repository: "acme/infra"}} {
		named := reports(func(path string) problem.Place { return problem.Place{Path: path, Line: 7} }, names)
		for verb, want := range reports(func(path string) problem.Place { return names.Place(problem.Place{Path: path, Line: 7}) }, problem.Naming{}) {
			want.Modules[0].Dir = names.Of("dir")
			if want.Modules[0].LockPath != "" {
				want.Modules[0].LockPath = names.Of("dir/.terraform.lock.hcl")
			}
			for what, made := range map[string]func(report.Report) string{
				"text":     func(r report.Report) string { return text(t, r, render.TextOptions{Verbose: true}) },
				"Markdown": func(r report.Report) string { return render.Markdown(r, 0).String() },
				"page":     func(r report.Report) string { return webpage(t, r) },
				"SARIF":    func(r report.Report) string { return withoutFingerprints(sarifText(t, r, asNamed)) },
				"JSON":     func(r report.Report) string { return withoutFingerprints(jsonText(t, r)) },
			} {
				if diff := cmp.Diff(made(want), made(named[verb])); diff != "" {
					t.Errorf("%s of %s with %+v (-want +got):\n%s", what, verb, names, diff)
				}
			}
		}
	}
}

// asNamed writes SARIF as if each name were a path in the repository.
var asNamed = render.SARIFOptions{Path: func(shown string) (string, bool) { return shown, shown != "" }}

// withoutFingerprints removes the parts of a text that are computed from paths.
func withoutFingerprints(text string) string {
	return regexp.MustCompile(`[0-9a-f]{32}:\d`).ReplaceAllString(text, "")
}

func TestFailedAndPending(t *testing.T) {
	warning := problem.Problem{Severity: problem.SeverityWarning}
	tests := []struct {
		name            string
		r               report.Report
		failed, pending bool
	}{
		{"nothing", report.Report{}, false, false},
		{"warnings", report.Report{Diagnostics: []problem.Problem{warning}, Modules: []report.Module{{Diagnostics: []problem.Problem{warning}}}}, false, false},
		{"error of the run", report.Report{Diagnostics: []problem.Problem{warning, {}}}, true, false},
		{"error of a module", report.Report{Modules: []report.Module{{}, {Diagnostics: []problem.Problem{{}}}}}, true, false},
		{"pending", report.Report{Modules: []report.Module{{}, {Pending: true}}}, false, true},
	}
	for _, tt := range tests {
		if failed, pending := tt.r.Failed(), tt.r.Pending(); failed != tt.failed || pending != tt.pending {
			t.Errorf("%s: failed %t, pending %t, want %t, %t", tt.name, failed, pending, tt.failed, tt.pending)
		}
	}
}

// broken is a writer that fails.
type broken struct{}

var errBroken = errors.New("broken pipe")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWriterErrorsAreReturned(t *testing.T) {
	r := monorepo()
	for name, err := range map[string]error{
		"Text": render.Text(broken{}, r, render.TextOptions{}),
		"JSON": report.JSON(broken{}, r),
	} {
		if !errors.Is(err, errBroken) {
			t.Errorf("%s returns %v, want the writer's error", name, err)
		}
	}
}

func TestTextFitsItsWidth(t *testing.T) {
	checkFits := func(name string, r report.Report, width int) {
		t.Helper()
		for line := range strings.Lines(text(t, r, render.TextOptions{Width: width, Verbose: true, Stats: true})) {
			line = strings.TrimRight(line, "\n")
			if strings.HasSuffix(line, ")") && !strings.HasPrefix(line, " ") {
				continue // the title: a directory and a tool
			}
			// A word is never broken, so that people can copy it: a word that is
			// too long has a line of its own. So have a few words before a colon
			// at the start of a line.
			alone := !strings.Contains(strings.TrimSpace(line), " ") || strings.HasSuffix(line, ":") && strings.Count(line, ":") == 1
			if n := utf8.RuneCountInString(line); n > width && !alone {
				t.Errorf("%s at width %d has a line of %d: %q", name, width, n, line)
			}
		}
	}
	for name, r := range fixtures(t) {
		for _, width := range []int{20, 40, 60, 80, 100, 132} {
			checkFits(name, r, width)
		}
	}
	for width := 20; width <= 120; width++ {
		checkFits("verified", verified(), width)
	}
}

func TestWideCharactersTakeTwoColumns(t *testing.T) {
	r := report.Report{Verb: verbs.Upgrade, Modules: []report.Module{module("a")}}
	r.Modules[0].Diagnostics = []problem.Problem{{Message: "日本語 日本語 日本語 日本語"}}
	want := "  error: 日本語\n    日本語 日本語\n    日本語\n"
	if got := text(t, r, render.TextOptions{Width: 20}); !strings.Contains(got, want) {
		t.Errorf("text = %q, want in it %q", got, want)
	}
}

func TestScanNamesTheDecidingTerm(t *testing.T) {
	tests := []struct {
		name, want string
		terms      []string
	}{
		{"an upper bound before a lower one", "~> 5.0", []string{">= 5.31.0", "~> 5.0"}},
		{"the least upper bound", "~> 5.31.0", []string{"~> 5.0", "< 6.0.0", "~> 5.31.0"}},
		{"an exact version", "5.31.0", []string{"~> 5.0", "= 5.31.0", ">= 1.0.0"}},
		{"the greatest lower bound", ">= 5.2.0", []string{">= 4.0.0", ">= 5.2.0", "> 5.1.0"}},
		{"a bound before an exception", ">= 4.0.0", []string{"!= 5.0.0", ">= 4.0.0"}},
		{"the first of equals", "<= 6.0.0", []string{"<= 6.0.0", "< 6.0.0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := scan.Requirement{Addr: addr("hashicorp/aws")}
			for i, text := range tt.terms {
				q.Terms = append(q.Terms, term(text, "", "main.tf", i+1))
			}
			r := report.Report{Verb: verbs.Scan, Modules: []report.Module{report.FromScan(scan.RootModule{Root: scan.Root{Dir: "a"}, Tree: scan.ModuleTree{Requirements: []scan.Requirement{q}}})}}
			if got := text(t, r, render.TextOptions{}); !strings.Contains(got, "  "+tt.want+" at main.tf:") {
				t.Errorf("scan says\n%swant %q at its place", got, tt.want)
			}
		})
	}
}

func TestScanSaysNotRequiredOnlyWhereAllWasRead(t *testing.T) {
	lock, problems := lockfile.Parse([]byte(`provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.1"
}
`), "a/.terraform.lock.hcl")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	unread := func(n int) []scan.Unread { return make([]scan.Unread, n) }
	broken := []problem.Problem{{Code: problem.CodeSyntax, Place: problem.Place{Path: "a/main.tf"}, Message: "unclosed block"}}
	tests := []struct {
		name string
		m    scan.RootModule
		want string
	}{
		{"all was read", scan.RootModule{}, "not required"},
		{"one module was not", scan.RootModule{Tree: scan.ModuleTree{Unread: unread(1)}}, "unknown: 1 module not read"},
		{"three were not, and errors are beside the point", scan.RootModule{Tree: scan.ModuleTree{Unread: unread(3), Diagnostics: broken}}, "unknown: 3 modules not read"},
		{"a file could not be read", scan.RootModule{Tree: scan.ModuleTree{Diagnostics: broken}}, "unknown: the configuration has errors"},
		{"a warning leaves nothing out", scan.RootModule{Tree: scan.ModuleTree{Diagnostics: []problem.Problem{{Severity: problem.SeverityWarning, Place: problem.Place{Path: "a/main.tf"}}}}}, "not required"},
		{"an error of the lock file says nothing of the configuration", scan.RootModule{Tree: scan.ModuleTree{Diagnostics: []problem.Problem{{Place: problem.Place{Path: "a/.terraform.lock.hcl"}}}}}, "not required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.m.Dir, tt.m.Lock = "a", lock
			m := report.FromScan(tt.m).Named(problem.Naming{Root: "/src/repo", WorkDir: "/src"})
			got := text(t, report.Report{Verb: verbs.Scan, Modules: []report.Module{m}}, render.TextOptions{})
			if !strings.Contains(got, "hashicorp/null  3.2.1   "+tt.want+"\n") {
				t.Errorf("scan says\n%swant %q of the entry", got, tt.want)
			}
		})
	}
}

func TestHashesInShort(t *testing.T) {
	tests := []struct {
		added, removed int
		want           string
	}{
		{4, 0, "4 hashes added"},
		{1, 0, "1 hash added"},
		{16, 12, "4 hashes added, 12 replaced"},
		{3, 3, "3 hashes replaced"},
		{1, 3, "1 hash replaced, 2 removed"},
		{0, 2, "2 hashes removed"},
	}
	for _, tt := range tests {
		c := change(diff.Completed, "hashicorp/aws", "5.31.0", "5.31.0")
		c.HashesAdded, c.HashesRemoved = hashes("a", tt.added), hashes("b", tt.removed)
		got := text(t, report.Report{Verb: verbs.Lock, Modules: []report.Module{module("a", c)}}, render.TextOptions{})
		if !strings.Contains(got, "completed  "+tt.want+"\n") {
			t.Errorf("%d added and %d removed reads\n%swant %q", tt.added, tt.removed, got, tt.want)
		}
	}
}

func TestSignersInTheWordsOfTheTools(t *testing.T) {
	const key = "34365D9472D7468F"
	for label, want := range map[string]string{
		"HashiCorp":   "signed by HashiCorp, key " + key,
		"partner":     "signed by a HashiCorp partner, key " + key,
		"self-signed": "signed by its publisher's key " + key,
		"signed":      "signed, key " + key,
		"":            "signed, key " + key,
		"Acme Ltd":    "signed by Acme Ltd, key " + key,
	} {
		c := upgraded("hashicorp/aws", "5.31.0", "5.34.0", provider.Signer{KeyID: key, Label: label})
		if got := text(t, report.Report{Verb: verbs.Lock, Modules: []report.Module{module("a", c)}}, render.TextOptions{}); strings.Contains(got, "signed") {
			t.Errorf("a usual signer labelled %q reads\n%swant nothing of it", label, got)
		}
		c.SignerFrom = provider.Signer{KeyID: "0123456789ABCDEF"}
		got := text(t, report.Report{Verb: verbs.Lock, Modules: []report.Module{module("a", c)}}, render.TextOptions{})
		if !strings.Contains(got, "; "+want+" (before: signed, key 0123456789ABCDEF)\n") {
			t.Errorf("a signer labelled %q reads\n%swant %q", label, got, want)
		}
	}
}

func TestJSONArraysAreNeverNull(t *testing.T) {
	reports := fixtures(t)
	reports["bare"] = report.Report{Verb: verbs.PR, Modules: []report.Module{{Changes: []report.Change{{}}}}, PullRequests: []report.PullRequest{{}}}
	reports["bare scan"] = report.Report{Verb: verbs.Scan, Modules: []report.Module{report.FromScan(scan.RootModule{Tree: scan.ModuleTree{Requirements: []scan.Requirement{{}}}})}}
	// These objects or texts may be absent.
	nullable := map[string]bool{"lock": true, "signer": true, "signer_from": true, "released": true, "from": true, "to": true, "eligible": true, "served_by": true, "version_file": true}
	for name, r := range reports {
		var doc any
		if err := json.NewDecoder(strings.NewReader(jsonText(t, r))).Decode(&doc); err != nil {
			t.Fatal(err)
		}
		eachNull(doc, "", func(key string) {
			if !nullable[key] {
				t.Errorf("%s: %s is null", name, key)
			}
		})
		if version := doc.(map[string]any)["format_version"]; version != 1.0 {
			t.Errorf("%s: format_version = %v, want 1", name, version)
		}
	}
}

func eachNull(v any, key string, found func(key string)) {
	switch v := v.(type) {
	case nil:
		found(key)
	case []any:
		for _, e := range v {
			eachNull(e, key, found)
		}
	case map[string]any:
		for k, e := range v {
			eachNull(e, k, found)
		}
	}
}

func TestJSONKeepsOutsideTextWhole(t *testing.T) {
	want := "\x1b[31m \u009b2J \u202E \U000E0041 <b> & é\x7f"
	var doc struct{ Errors []struct{ Message string } }
	out := jsonText(t, report.Report{Diagnostics: []problem.Problem{{Message: want}}})
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Errors[0].Message != want {
		t.Errorf("message = %q, want %q", doc.Errors[0].Message, want)
	}
	safetest.CheckSource(t, out)
}

func TestRenderingIsDeterministic(t *testing.T) {
	all := func() string {
		r := monorepo()
		return render.Body(r).String() + render.Summary(r).String() + jsonText(t, r) + text(t, r, render.TextOptions{Verbose: true})
	}
	want := all()
	for range 20 {
		if got := all(); got != want {
			t.Fatalf("the same report gives other bytes:\n%s", cmp.Diff(want, got))
		}
	}
}

func TestUnreadModulesCanBeStoodInFor(t *testing.T) {
	u := scan.Unread{Module: "vpc", Source: "git::https://git.example.com/vpc.git", Reason: "it is private", Place: problem.Place{Path: "a/main.tf", Line: 3}}
	m := module("a")
	m.Unread = []scan.Unread{u}
	m.Diagnostics = []problem.Problem{{Code: problem.CodeUnreadModule, Place: u.Place, Message: "module.vpc could not be read: it is private", Hint: "set module-token"}}
	r := report.Report{Verb: verbs.Upgrade, Modules: []report.Module{m}}
	const remedy = "set module-token; or --unreadable-modules preserve uses the recorded constraints instead"
	if got := text(t, r, render.TextOptions{}); !strings.Contains(got, "  error: a/main.tf:3: module.vpc could not be read: it is private\n    next: "+remedy+"\n") {
		t.Errorf("the text does not say what can be done:\n%s", got)
	}
	r.Modules[0].Diagnostics[0].Severity = problem.SeverityWarning // they are warnings already
	if got := text(t, r, render.TextOptions{}); strings.Contains(got, "preserve") {
		t.Errorf("the text advises what is done already:\n%s", got)
	}
}

// A version 0.0.0 can be locked; it does not mean "no version".
func TestZeroVersionIsAVersion(t *testing.T) {
	zero, later := change(diff.Upgraded, "hashicorp/aws", "0.0.0", "5.34.0"), change(diff.Upgraded, "hashicorp/aws", "5.31.0", "5.34.0")
	r := report.Report{Verb: verbs.Upgrade, Modules: []report.Module{module("a", zero), module("b", later), module("c", change(diff.Added, "hashicorp/null", "", "0.0.0"))}}
	if got := text(t, r, render.TextOptions{}); !strings.Contains(got, "0.0.0 -> 5.34.0") {
		t.Errorf("the text does not say from where:\n%s", got)
	}
	many := report.Report{Verb: verbs.Upgrade}
	for i := range 100 { // more than each table has rows for
		many.Modules = append(many.Modules, module(fmt.Sprint("m", i), change(diff.Upgraded, "hashicorp/aws", fmt.Sprintf("0.0.%d", i), "5.34.0")))
	}
	if got := text(t, many, render.TextOptions{}); !strings.Contains(got, "0.0.0 … 0.0.99 -> 5.34.0") {
		t.Errorf("the span leaves 0.0.0 out:\n%s", got)
	}
	if got := jsonText(t, r); !strings.Contains(got, `"from": "0.0.0"`) || !strings.Contains(got, `"from": null`) || !strings.Contains(got, `"to": "0.0.0"`) {
		t.Errorf("the document leaves 0.0.0 out:\n%s", got)
	}
	kept := report.Report{Verb: verbs.Check, Modules: []report.Module{module("a")}}
	kept.Modules[0].Kept = []report.Kept{{Addr: addr("acme/early"), Version: version("0.0.0"), Facts: upgrade.Facts{
		Held: []upgrade.Held{{Version: version("0.0.0"), By: policy.Hold{Reason: upgrade.HeldByProtocol}}},
	}}}
	kept.Modules[0].Findings = []problem.Problem{found(problem.CodeUnsigned, "a", "acme/early", "0.0.0", 2)}
	if got := text(t, kept, render.TextOptions{}); !strings.Contains(got, "acme/early at 0.0.0 by its plugin protocol; newest is 0.0.0") {
		t.Errorf("the text does not say what is held back, and where:\n%s", got)
	}
	if got := jsonText(t, kept); strings.Count(got, `"version": "0.0.0"`) != 2 {
		t.Errorf("the document leaves 0.0.0 out:\n%s", got)
	}
	if zero, none := found(problem.CodeUnsigned, "a", "acme/early", "0.0.0", 2), found(problem.CodeUnsigned, "a", "acme/early", "", 2); zero.Fingerprint() == none.Fingerprint() {
		t.Error("a finding about 0.0.0 has the fingerprint of one about no version")
	}
}

func TestUnreadModuleIsNamedOnce(t *testing.T) {
	m := module("a")
	for _, source := range []string{"acme/gone/aws", "git::https://git.example.com/r.git", "https://example.com/net.zip//vpc"} {
		m.Unread = []scan.Unread{{
			Module: "vpc", Code: problem.CodeUnreadModule, Source: source, Reason: "fetching it: it is private", Cause: "it is private", Place: problem.Place{Path: "a/main.tf", Line: 3},
		}}
		m.Diagnostics = []problem.Problem{{Code: problem.CodeUnreadModule, Place: problem.Place{Path: "a/main.tf", Line: 3}, Message: "module.vpc could not be read: " + m.Unread[0].Reason}}
		b := m // another call of the same package
		b.Dir = "b"
		b.Unread, b.Diagnostics = slices.Clone(m.Unread), slices.Clone(m.Diagnostics)
		b.Unread[0].Place.Line, b.Diagnostics[0].Place.Line = 9, 9
		got := text(t, report.Report{Verb: verbs.Upgrade, Modules: []report.Module{m, b}}, render.TextOptions{})
		if !strings.Contains(got, "could not be read: it is private") || strings.Contains(got, "fetching") {
			t.Errorf("of %s the text says:\n%s", source, got)
		}
	}
	m.Diagnostics = nil
	m.Unread[0].Cause, m.Unread[0].Reason = "", "fetching the module package https://other.example.com/: it is private"
	if got := text(t, report.Report{Verb: verbs.Scan, Modules: []report.Module{m}}, render.TextOptions{}); !strings.Contains(got, "other.example.com") {
		t.Errorf("the text leaves out where the module would have come from:\n%s", got)
	}
}

// A report whose last line would say nothing has none.
func TestTextEndsWithoutAnEmptyLine(t *testing.T) {
	t.Parallel()
	m := module("envs/prod")
	m.Forgiven = true
	if got := text(t, report.Report{Verb: verbs.Check, Modules: []report.Module{m}}, render.TextOptions{}); strings.HasSuffix(got, "\n\n") || got == "\n" {
		t.Errorf("the report is %q", got)
	}
}
