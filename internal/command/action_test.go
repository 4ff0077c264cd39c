package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/action"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// stepIn is the environment of a step of a workflow whose files for the runner are in a
// directory of their own, and what is printed.
func stepIn(t *testing.T, vars ...string) (env Env, dir string, printed *bytes.Buffer) {
	t.Helper()
	dir, printed = t.TempDir(), &bytes.Buffer{}
	env = inWorkflow(append(vars, "GITHUB_OUTPUT="+filepath.Join(dir, "outputs"), "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary"), "RUNNER_TEMP="+dir)...)
	env.Stdout, env.Stderr, env.WorkDir, env.Home = printed, printed, dir, dir
	return env, dir, printed
}

// The outputs are a contract with workflows: each is there, whatever became of the
// run, and the first pull request is the one of those that are about one.
func TestOutputs(t *testing.T) {
	t.Parallel()
	none := map[string]string{
		"changed": "false", "pull-request-number": "", "pull-request-url": "", "pull-request-operation": "none", "pull-request-branch": "",
		"pull-request-head-sha": "", "pull-requests": "[]", "directories": "[]", "findings": "0",
	}
	for name, tt := range map[string]struct {
		report report.Report
		other  map[string]string
	}{
		"nothing": {report.Report{Verb: verbs.PR}, nil},
		"changes": {report.Report{Verb: verbs.Upgrade, Modules: []report.Module{{Dir: "a\"b", Pending: true}, {Dir: "c"}}}, map[string]string{
			"changed": "true", "directories": `["a\"b"]`,
		}},
		"pull requests": {report.Report{Verb: verbs.PR, PullRequests: []report.PullRequest{
			{Operation: "created", Number: 7, URL: "https://github.com/acme/infra/pull/7", Branch: "relock/a-01234567", HeadSHA: "abc"}, {Operation: "closed", Number: 5},
		}}, map[string]string{
			"pull-request-number": "7", "pull-request-url": "https://github.com/acme/infra/pull/7", "pull-request-operation": "created",
			"pull-request-branch": "relock/a-01234567", "pull-request-head-sha": "abc",
		}},
		"findings": {report.Report{Verb: verbs.Verify, Modules: []report.Module{{Findings: []problem.Problem{{}, {Severity: problem.SeverityNote}}}}}, map[string]string{
			"findings": "1",
		}},
	} {
		var doc bytes.Buffer
		if err := report.JSON(&doc, tt.report); err != nil {
			t.Fatal(err)
		}
		got := outputs(tt.report, doc.Bytes())
		if pulls := len(tt.report.PullRequests); strings.Count(got["pull-requests"], `"branch":`) != pulls || strings.Contains(got["pull-requests"], "\n") {
			t.Errorf("%s: pull-requests is %q, want a line with %d", name, got["pull-requests"], pulls)
		}
		delete(got, "pull-requests")
		for key, want := range none {
			if other, ok := tt.other[key]; ok {
				want = other
			}
			if value, there := got[key]; key != "pull-requests" && (value != want || !there) {
				t.Errorf("%s: %s is %q, want %q", name, key, value, want)
			}
			delete(got, key)
		}
		if len(got) > 0 {
			t.Errorf("%s: also %v", name, got)
		}
	}
}

// Runners show ten annotations of a step: failures come first. What a finding is
// depends on the verb.
func TestAnnotationsOfAReport(t *testing.T) {
	t.Parallel()
	at := func(severity problem.Severity, message string) problem.Problem {
		return problem.Problem{Severity: severity, Code: problem.CodeNoVersion, Message: message, Place: problem.Place{Path: "live/main.tf", Line: 3}}
	}
	r := report.Report{
		Diagnostics: []problem.Problem{at(problem.SeverityWarning, "careful")},
		Modules: []report.Module{{
			Dir: "live", Diagnostics: []problem.Problem{at(problem.SeverityNote, "by the way"), at(problem.SeverityError, "wrong")},
			Findings: []problem.Problem{{Code: problem.CodeHashUnknown, Message: "belongs to nothing", Place: problem.Place{Path: "live/.terraform.lock.hcl", Line: 9}}},
		}},
	}
	for verb, want := range map[verbs.Verb][]string{
		verbs.Check:   {"error wrong", "error belongs to nothing", "warning careful", "notice by the way"},
		verbs.Upgrade: {"error wrong", "warning careful", "warning belongs to nothing", "notice by the way"},
	} {
		r.Verb = verb
		var got []string
		for _, a := range annotations(r) {
			text, _, _ := strings.Cut(a.Message, "\n")
			got = append(got, string(a.Level)+" "+text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", verb, diff)
		}
	}
	elsewhere := at(problem.SeverityError, "wrong")
	elsewhere.Place.Package, elsewhere.Hint = "acme/vpc/aws", "try this"
	want := action.Annotation{Level: action.Error, Title: string(problem.CodeNoVersion), Message: "acme/vpc/aws//live/main.tf:3: wrong\ntry this"}
	if diff := cmp.Diff(want, annotation(elsewhere)); diff != "" {
		t.Errorf("a place that is no file of the workspace (-want +got):\n%s", diff)
	}
}

func TestWhichStepsAnswerComments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command, event string
		want           bool
	}{{"auto", "issue_comment", true}, {"comment", "schedule", true}, {"auto", "schedule", false}, {"check", "issue_comment", false}} {
		inputs := settings.Merge(settings.Inputs(func(name string) string { return map[string]string{"INPUT_COMMAND": tt.command}[name] }))
		if got := commented(inputs, inWorkflow("GITHUB_EVENT_NAME="+tt.event).runtime()); got != tt.want {
			t.Errorf("commented(%s on %s) = %t, want %t", tt.command, tt.event, got, tt.want)
		}
	}
}

// What ends a step before it has a report is an annotation, and its text is no command
// for the runner.
func TestStepThatCannotBegin(t *testing.T) {
	t.Parallel()
	env, _, printed := stepIn(t, "GITHUB_EVENT_NAME=fork", "INPUT_TOKEN=s3cret")
	var status exit
	if err := runAction(t.Context(), env); !errors.As(err, &status) || status != ExitUsage {
		t.Errorf("runAction() = %v, want status %d", err, ExitUsage)
	}
	for _, want := range []string{"::add-mask::s3cret\n", "::error", `relock does not answer the event "fork"`} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("printed %q, want %q in it", printed, want)
		}
	}
	if err := runAction(t.Context(), Env{Getenv: func(string) string { return "" }}); err == nil || !strings.Contains(err.Error(), "use one of the other verbs") {
		t.Errorf("runAction(outside of a workflow) = %v", err)
	}
}

// An event that hands secrets to code from outside is refused whatever the step is to do.
func TestRefusedEvents(t *testing.T) {
	t.Parallel()
	for _, event := range []string{"pull_request_target", "workflow_run"} {
		for _, command := range []string{"auto", "pr", "upgrade", "lock", "check", "verify", "comment"} {
			env, _, printed := stepIn(t, "GITHUB_EVENT_NAME="+event, "INPUT_COMMAND="+command)
			var status exit
			err := runAction(t.Context(), env)
			if want := "the event " + event + " is refused"; !errors.As(err, &status) || status != ExitUsage || !strings.Contains(printed.String(), want) {
				t.Errorf("%s on %s: %v, printed %q, want status %d and %q", command, event, err, printed, ExitUsage, want)
			}
		}
	}
}

// The report is handed to the runner as a file, a page, a summary and outputs; what
// stands at the place of a file is replaced, and not followed.
func TestReportIsHandedToTheRunner(t *testing.T) {
	t.Parallel()
	env, dir, printed := stepIn(t)
	victim := filepath.Join(t.TempDir(), "victim")
	put(t, victim, "as it was")
	if err := os.Symlink(victim, filepath.Join(dir, reportFile)); err != nil {
		t.Logf("links are missing on this system, a file stands there instead: %v", err)
		put(t, filepath.Join(dir, reportFile), "of an earlier run")
	}
	missed := problem.Problem{Severity: problem.SeverityWarning, Code: problem.CodeNotFound, Message: "nobody need be stopped for it"}
	r := report.Report{Verb: verbs.Check, Diagnostics: []problem.Problem{missed, {Message: "wrong"}}}
	if err := tell(env.runtime(), r, dir, sarifOptions(env, settings.Settings{})); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		reportFile: `"format_version": 1`, pageFile: "<!doctype html>", sarifFile: `"version": "2.1.0"`, "summary": "wrong", "outputs": "changed<<",
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(strings.ToLower(string(got)), strings.ToLower(want)) {
			t.Errorf("%s holds %q, %v, want %q in it", name, got, err, want)
		}
	}
	if got, _ := os.ReadFile(victim); string(got) != "as it was" {
		t.Errorf("the file behind the link holds %q", got)
	}
	if got := printed.String(); !strings.Contains(got, "::error") || strings.Contains(got, missed.Message) {
		t.Errorf("printed %q, want the error alone", got)
	}
}

// Lock files that a check would change count among the ten of a level, behind what else
// failed. What the base has wrong is one warning, and other verbs have none.
func TestAnnotationsOfWhatWouldChange(t *testing.T) {
	t.Parallel()
	r := report.Report{Verb: verbs.Check, Mending: report.Mending{Verb: verbs.Lock}}
	for i := range 12 {
		name := fmt.Sprintf("m%02d", i)
		m := report.Module{Dir: name, LockPath: name + "/.terraform.lock.hcl", Pending: true, Changes: []report.Change{{Change: diff.Change{Kind: diff.Completed}, Line: 3}}}
		switch i {
		case 5:
			m.Changes = append(m.Changes, report.Change{Change: diff.Change{Kind: diff.Added}, Required: problem.Place{Path: "m05/main.tf", Line: 7}})
		case 7:
			m.Findings = []problem.Problem{{Code: problem.CodeHashUnknown, Message: "of nothing", Place: problem.Place{Path: m.LockPath, Line: 9, From: 5, To: 8}}}
		case 8:
			m.OnBase, m.Diagnostics = true, []problem.Problem{{Code: problem.CodeOnBase, Severity: problem.SeverityWarning, Message: "was like that"}}
		}
		r.Modules = append(r.Modules, m)
	}
	short := func(a action.Annotation) string {
		last := a.Message[strings.LastIndex(a.Message, "\n")+1:]
		return fmt.Sprintf("%s %s:%d:%d-%d %s", a.Level, a.File, a.Line, a.From, a.To, last)
	}
	all := annotations(r)
	if len(all) != 11 {
		t.Fatalf("%d annotations, want ten errors and a warning", len(all))
	}
	for i, want := range map[int]string{
		0:  "error m07/.terraform.lock.hcl:9:5-7 of nothing",
		1:  "error m05/main.tf:7:0-0 run `relock lock m05` and commit the result",
		2:  "error m00/.terraform.lock.hcl:3:0-0 run `relock lock m00` and commit the result",
		9:  "error :0:0-0 run `relock lock` and commit the result",
		10: "warning m08/.terraform.lock.hcl:3:0-0 run `relock lock m08` on the base branch and commit the result",
	} {
		if got := short(all[i]); got != want {
			t.Errorf("annotation %d is %q, want %q", i, got, want)
		}
	}
	r.Verb = verbs.PR
	if all := annotations(r); len(all) != 1 { // the finding
		t.Errorf("of what is proposed: %v", all)
	}
}

// GitHub refuses a longer title than this.
func TestTitlesAreShort(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		strings.Repeat("ü", 255): strings.Repeat("ü", 255), strings.Repeat("ü", 256): strings.Repeat("ü", 254) + "…",
	} {
		if got := shortTitle(text); got != want {
			t.Errorf("shortTitle(%q) = %q, want %q", text, got, want)
		}
	}
}

// A runner shows ten annotations of each level. None of these is spent on what is
// less bad, and the last one tells of the rest.
func TestAnnotationsAreTheWorst(t *testing.T) {
	t.Parallel()
	r := report.Report{Verb: verbs.Verify}
	for i := range 30 {
		for _, s := range []problem.Severity{problem.SeverityNote, problem.SeverityWarning, problem.SeverityError} {
			m := report.Module{Dir: fmt.Sprint(i), Findings: []problem.Problem{{Severity: s, Code: problem.CodeHashUnknown, Message: fmt.Sprintf("%s %d", s, i)}}}
			r.Modules = append(r.Modules, m)
		}
	}
	all := annotations(r)
	if len(all) != 30 {
		t.Fatalf("%d annotations, want ten of each level", len(all))
	}
	for i, level := range []action.Level{action.Error, action.Warning, action.Notice} {
		first, last := all[10*i], all[10*i+9]
		name := problem.Severity(i).String()
		if first.Level != level || first.Message != name+" 0" || last.Level != level || last.Message != "21 more of this level are in the summary of the step" {
			t.Errorf("of the level %s the first is %v, and the last %v", name, first, last)
		}
	}
	r.Modules = r.Modules[:30]
	if all := annotations(r); len(all) != 30 || all[9].Message != "error 9" {
		t.Errorf("ten of a level are %v", all)
	}
}
