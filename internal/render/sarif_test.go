package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// asShown writes SARIF as in a directory next to those of the repository.
var asShown = render.SARIFOptions{Version: "1.2.3", Path: func(shown string) (string, bool) {
	return strings.TrimPrefix(shown, "../"), !strings.HasPrefix(shown, "/")
}}

func sarifText(t *testing.T, r report.Report, o render.SARIFOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.SARIF(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sarifParsed is the one run of a SARIF text.
func sarifParsed(t *testing.T, text string) (*sarif.Report, *sarif.Run) {
	t.Helper()
	read, err := sarif.FromBytes([]byte(text), sarif.WithStrictValidation())
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Runs) != 1 {
		t.Fatalf("%d runs, want 1", len(read.Runs))
	}
	return read, read.Runs[0]
}

// sarifRead is the one run of a report in SARIF. The text must be valid by the
// standard's schema, and the library must read all of it.
func sarifRead(t *testing.T, r report.Report, o render.SARIFOptions) *sarif.Run {
	t.Helper()
	text := sarifText(t, r, o)
	read, run := sarifParsed(t, text)
	if err := read.Validate(); err != nil {
		t.Error(err)
	}
	again, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	var wrote, kept any
	if err := json.Unmarshal([]byte(text), &wrote); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &kept); err != nil {
		t.Fatal(err)
	}
	delete(kept.(map[string]any), "properties")
	if diff := cmp.Diff(kept, wrote); diff != "" {
		t.Errorf("what is written is not all in the library's types (-kept +written):\n%s", diff)
	}
	return run
}

// results lists the results of a run, a line each: level, rule, place and
// message.
func results(run *sarif.Run) string {
	var b strings.Builder
	for _, r := range run.Results {
		at := r.Locations[0].PhysicalLocation
		place := fmt.Sprintf("%s:%d", *at.ArtifactLocation.URI, *at.Region.StartLine)
		if at.Region.StartColumn != nil {
			place += fmt.Sprintf(":%d-%d", *at.Region.StartColumn, *at.Region.EndColumn)
		}
		fmt.Fprintf(&b, "%s %s %s: %s\n", r.Level, *run.Tool.Driver.Rules[r.RuleIndex].ID, place, strings.ReplaceAll(*r.Message.Text, "\n", " | "))
		for _, s := range r.Suppressions {
			fmt.Fprintf(&b, "  accepted: %s\n", *s.Justification)
		}
	}
	for _, n := range run.Invocations[0].ToolExecutionNotifications {
		fmt.Fprintf(&b, "notification: %s %s\n", n.Level, *n.Message.Text)
	}
	return b.String()
}

func TestSARIF(t *testing.T) {
	t.Parallel()
	golden(t, "verified.sarif", results(sarifRead(t, verified(), asShown)))
	run := sarifRead(t, report.Report{Verb: verbs.Verify}, asShown)
	if len(run.Results) > 0 || len(run.Tool.Driver.Rules) != len(problem.Meanings) || !*run.Invocations[0].ExecutionSuccessful {
		t.Errorf("nothing was found: %d results, %d rules, successful %t", len(run.Results), len(run.Tool.Driver.Rules), *run.Invocations[0].ExecutionSuccessful)
	}
}

// checked is a check with a finding of every kind.
func checked() report.Report {
	r := failures()
	r.Verb = verbs.Check
	prod := module("envs/prod", everyKind()...)
	for i := range prod.Changes {
		prod.Changes[i].Line = 10 * (i + 1)
	}
	prod.Findings = []problem.Problem{forged("envs/prod", "h1:forged=", 8)}
	before := module("envs/before", everyKind()[5])
	before.OnBase = true
	before.Diagnostics = []problem.Problem{{Severity: problem.SeverityWarning, Code: problem.CodeOnBase, Place: problem.Place{Path: before.LockPath}, Message: "the lock file was like that before the change"}}
	other := module("envs/form")
	other.Pending = true
	r.Modules = append(r.Modules, prod, before, other)
	return r
}

func TestSARIFOfACheck(t *testing.T) {
	t.Parallel()
	run := sarifRead(t, checked(), asShown)
	golden(t, "checked.sarif", results(run))
	seen := map[string]bool{}
	for _, r := range run.Results {
		if print := r.PartialFingerprints["primaryLocationLineHash"]; seen[print] || !strings.HasSuffix(print, ":1") {
			t.Errorf("the fingerprint %s of %q is not its own", print, *r.Message.Text)
		} else {
			seen[print] = true
		}
	}
	for _, rule := range run.Tool.Driver.Rules {
		score := rule.Properties.Properties["security-severity"]
		if own, found := problem.MeaningOf(problem.Code(*rule.ID)); (score != nil) != (found && own.Severity != problem.SeverityNote) {
			t.Errorf("%s has the score %v", *rule.ID, score)
		}
	}
}

// prints are the fingerprints of the findings about hashes.
func prints(t *testing.T, findings ...problem.Problem) map[string]string {
	t.Helper()
	m := module("envs/prod")
	m.Verified, m.Findings = &report.Verified{}, findings
	got := map[string]string{}
	for _, result := range sarifRead(t, report.Report{Verb: verbs.Verify, Modules: []report.Module{m}}, asShown).Results {
		print := result.PartialFingerprints["primaryLocationLineHash"]
		if print == "" || print != result.PartialFingerprints["relock/v1"] {
			t.Errorf("the fingerprints are %v", result.PartialFingerprints)
		}
		hash, _, _ := strings.Cut(*result.Message.Text, " ")
		got[hash] += print
	}
	return got
}

// A dismissed alert stays dismissed when its neighbours change:
// https://github.com/github/codeql-action keeps fingerprints that are there.
func TestSARIFKnowsAFindingAgain(t *testing.T) {
	t.Parallel()
	before := prints(t, forged("envs/prod", "h1:a=", 8))
	moved := prints(t, found(problem.CodeUnsigned, "envs/prod", "acme/tool", "1.2.0", 2), forged("envs/prod", "h1:0=", 9), forged("envs/prod", "h1:a=", 31), forged("envs/prod", "h1:z=", 32))
	if before["h1:a="] == "" || moved["h1:a="] != before["h1:a="] {
		t.Errorf("the fingerprint was %q and is %q among others", before["h1:a="], moved["h1:a="])
	}
	if moved["h1:0="] == moved["h1:a="] || moved["h1:0="] == moved["h1:z="] {
		t.Errorf("findings about other hashes have the same fingerprint: %v", moved)
	}
	twice := prints(t, forged("envs/prod", "h1:a=", 8), forged("envs/prod", "h1:a=", 9))
	first := strings.TrimSuffix(before["h1:a="], ":1")
	if twice["h1:a="] != first+":1"+first+":2" {
		t.Errorf("two that are alike have the fingerprints %q", twice["h1:a="])
	}
}

func TestSARIFNamesFilesOfTheRepository(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"envs/prod/.terraform.lock.hcl": "envs/prod/.terraform.lock.hcl",
		"a b/c#d?e%f/x":                 "a%20b/c%23d%3Fe%25f/x",
		"aux:x/y":                       "aux%3Ax/y",
		"ümlaut/\xff":                   "%C3%BCmlaut/%FF",
		"[a](b)/\"<&>\\":                "%5Ba%5D%28b%29/%22%3C%26%3E%5C",
	} {
		f := forged("x", "h1:a=", 8)
		f.Place.Path = path
		m := module("x")
		m.Findings, m.Verified = []problem.Problem{f}, &report.Verified{}
		at := sarifRead(t, report.Report{Verb: verbs.Verify, Modules: []report.Module{m}}, asShown).Results[0].Locations[0].PhysicalLocation
		if *at.ArtifactLocation.URI != want || *at.ArtifactLocation.URIBaseID != "%SRCROOT%" {
			t.Errorf("%q is the file %q of %s, want %q", path, *at.ArtifactLocation.URI, *at.ArtifactLocation.URIBaseID, want)
		}
		if *at.Region.StartLine != 8 || *at.Region.StartColumn != 5 || *at.Region.EndColumn != 12 {
			t.Errorf("the region is %+v", at.Region)
		}
	}
}

// A file of another repository, or of the machine, has no place in this one.
func TestSARIFHasNoPlacesElsewhere(t *testing.T) {
	t.Parallel()
	f := forged("x", "h1:a=", 8)
	f.Place.Path = "/elsewhere/.terraform.lock.hcl"
	m := module("x")
	m.Findings, m.Verified = []problem.Problem{f}, &report.Verified{}
	run := sarifRead(t, report.Report{Verb: verbs.Verify, Modules: []report.Module{m}}, asShown)
	told := run.Invocations[0].ToolExecutionNotifications
	if len(run.Results) > 0 || len(told) != 1 || !strings.HasPrefix(*told[0].Message.Text, "hash-unknown: /elsewhere/.terraform.lock.hcl:8: h1:a=") {
		t.Errorf("%d results and the notifications %v", len(run.Results), told)
	}
}

func TestSARIFLeavesOutTheLeast(t *testing.T) {
	t.Parallel()
	m := module("envs/prod")
	m.Verified, m.Accepted = &report.Verified{}, []ledger.Acceptance{{Problem: forged("envs/prod", "h1:accepted=", 9), Reason: "r", Until: day("2027-05-31")}}
	for i := range 6000 {
		f := forged("envs/prod", provider.Hash(fmt.Sprintf("h1:%04d=", i)), i)
		f.Severity = problem.SeverityNote
		m.Findings = append(m.Findings, f)
	}
	m.Findings = append(m.Findings, found(problem.CodeUnsigned, "envs/prod", "acme/tool", "1.2.0", 7000), forged("envs/prod", "h1:worst=", 7001))
	var doc struct {
		Runs []struct {
			Results []struct {
				Level, RuleID string
				RuleIndex     int
				Message       struct{ Text string }
			}
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
		}
	}
	if err := json.Unmarshal([]byte(sarifText(t, report.Report{Verb: verbs.Verify, Modules: []report.Module{m}}, asShown)), &doc); err != nil {
		t.Fatal(err)
	}
	run := doc.Runs[0]
	if len(run.Results) != 5000 {
		t.Fatalf("%d results, want 5000", len(run.Results))
	}
	if levels := run.Results[0].Level + " " + run.Results[1].Level + " " + run.Results[2].Level; levels != "error warning note" {
		t.Errorf("the first results are %s, want the worst first", levels)
	}
	last := run.Results[4999]
	if last.RuleID != "left-out" || !strings.HasPrefix(last.Message.Text, "1004 more results are left out") || last.Level != "warning" {
		t.Errorf("the last result is %s: %s", last.RuleID, last.Message.Text)
	}
	if rule := run.Tool.Driver.Rules[last.RuleIndex]; rule.ID != "left-out" {
		t.Errorf("its rule is %s", rule.ID)
	}
}

func TestSARIFKeepsOutsideTextText(t *testing.T) {
	t.Parallel()
	const evil = "[click](https://evil.example) \x1b[31m\u202e<script>{0}"
	m := module("x")
	f := forged("x", "h1:a=", 8)
	f.Message, f.Hint = evil, evil
	m.Findings = []problem.Problem{f}
	m.Verified, m.Accepted = &report.Verified{}, []ledger.Acceptance{{Problem: f, Reason: evil, By: evil, Until: day("2027-05-31")}}
	o := asShown
	o.Category = evil
	r := report.Report{Verb: verbs.Verify, Modules: []report.Module{m}, Diagnostics: []problem.Problem{{Message: evil}}}
	run := sarifRead(t, r, o)
	text := sarifText(t, r, o)
	if strings.Contains(text, "](https://evil") || strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, `\u001b`) {
		t.Errorf("outside text became more than text:\n%s", text)
	}
	why := run.Results[1].Suppressions[0]
	if *why.Kind != "external" || !strings.HasPrefix(*why.Justification, "[click] (https://evil.example)") {
		t.Errorf("the suppression is %s: %s", *why.Kind, *why.Justification)
	}
}

// Code scanning reads the text before the last slash as the category:
// https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support-for-code-scanning#runautomationdetails-object
func TestSARIFHasACategory(t *testing.T) {
	t.Parallel()
	for category, want := range map[string]string{"": "relock/verify/", "prod": "relock/verify/prod/", "/shard 1/3/": "relock/verify/shard 1/3/"} {
		o := asShown
		o.Category = category
		if got := *sarifRead(t, report.Report{Verb: verbs.Verify}, o).AutomationDetails.ID; got != want {
			t.Errorf("category %q makes %q, want %q", category, got, want)
		}
	}
}

func TestSARIFRulesSayWhatToDo(t *testing.T) {
	t.Parallel()
	r := verified()
	r.Modules[0].Findings[0].Severity = problem.SeverityError // as a user configured it
	run := sarifRead(t, r, asShown)
	score := func(code problem.Code) any {
		i := slices.IndexFunc(run.Tool.Driver.Rules, func(rule *sarif.ReportingDescriptor) bool { return *rule.ID == string(code) })
		return run.Tool.Driver.Rules[i].Properties.Properties["security-severity"]
	}
	for code, want := range map[problem.Code]any{
		problem.CodeHashUnknown: "8.0", problem.CodeUnsigned: "5.0", problem.CodeNotNormal: nil, problem.CodeConstraintsDiffer: "8.0",
	} {
		if got := score(code); got != want {
			t.Errorf("%s has the score %v, want %v", code, got, want)
		}
	}
	for _, rule := range run.Tool.Driver.Rules {
		if *rule.HelpURI != "https://github.com/relock-dev/relock/blob/main/docs/troubleshooting.md#"+*rule.ID || !strings.Contains(*rule.Help.Markdown, *rule.HelpURI) || *rule.ShortDescription.Text == "" {
			t.Errorf("the rule %s says %q, %q", *rule.ID, *rule.ShortDescription.Text, *rule.Help.Markdown)
		}
	}
}
