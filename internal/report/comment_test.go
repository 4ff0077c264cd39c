package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

func TestCommentStaysWithinItsLimit(t *testing.T) {
	t.Parallel()
	r := report.Report{Verb: report.VerbUpgrade}
	for i := range 3000 {
		r.Modules = append(r.Modules, module(fmt.Sprintf("envs/%04d-%s", i, strings.Repeat("x", 40)), upgraded("hashicorp/aws", "5.31.0", "5.34.0", provider.Signer{})))
	}
	got := report.Comment("Pushed commit 0123abc.", r)
	if !strings.HasPrefix(got, "Pushed commit 0123abc.\n\n1 provider is upgraded") || len(got) > 60_000 {
		t.Errorf("Comment has %d bytes and begins %.80q", len(got), got)
	}
	if got := report.Comment("", report.Report{Verb: report.VerbDiff}); got != "No differences.\n" {
		t.Errorf("Comment without a lead = %q", got)
	}
}

func TestProblemsAreHarmlessAndSayWhatToDo(t *testing.T) {
	t.Parallel()
	got := report.Problems([]problem.Diagnostic{
		{Code: problem.CodeSyntax, Message: "@octo closes #1 <img src=x>", Place: problem.Place{Path: "live/`main`.tf", Line: 3}},
		{Code: problem.CodeGitHub, Message: "GitHub answered 403.", Hint: "grant the token access"},
		{Severity: problem.SeverityWarning, Code: problem.CodePolicy, Message: "a rule is over"},
	})
	for _, want := range []string{":3", "GitHub answered 403. Next: grant the token access\n", "**Failed**", "a rule is over"} {
		if !strings.Contains(got, want) {
			t.Errorf("Problems lacks %q:\n%s", want, got)
		}
	}
	for _, bad := range []string{"@octo", "#1", "<img"} {
		if strings.Contains(got, bad) {
			t.Errorf("Problems has %q:\n%s", bad, got)
		}
	}
	if got := report.Problems(nil); got != "" {
		t.Errorf("Problems of none = %q", got)
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"":                       "",
		"the branch has moved":   "The branch has moved.",
		"it ended.":              "It ended.",
		"did you mean that?":     "Did you mean that?",
		"ändern":                 "Ändern.",
		"first\n\n| a table |\n": "First\n\n| a table |\n",
		"`code` begins it":       "`code` begins it.",
	} {
		if got := report.Sentence(message); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", message, got, want)
		}
	}
}

// What was said under the comment is what every format shows.
func TestAnswerIsTheReport(t *testing.T) {
	t.Parallel()
	r := report.Report{Verb: report.VerbComment, Answer: "Opened again.", Stats: report.Stats{Requests: 3}}
	for name, got := range map[string]string{
		"text":     text(t, r, report.TextOptions{}),
		"markdown": report.Markdown(r, 0),
	} {
		if got != "Opened again.\n" {
			t.Errorf("%s = %q", name, got)
		}
	}
	r.PullRequests = []report.PullRequest{{Operation: "updated", Number: 7}}
	var doc struct {
		Answer string
		Pulls  []struct{ Number int } `json:"pull_requests"`
	}
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc.Answer != r.Answer || len(doc.Pulls) != 1 || doc.Pulls[0].Number != 7 {
		t.Errorf("JSON has %+v, %v", doc, err)
	}
	if got := text(t, r, report.TextOptions{Stats: true}); !strings.Contains(got, "Opened again.\n\n3 requests") {
		t.Errorf("text with stats = %q", got)
	}
	if got := report.Summary(r); got != "## relock\n\nOpened again.\n\n3 requests, 0 B received\n" {
		t.Errorf("Summary = %q", got)
	}
	if got := report.Markdown(report.Report{Verb: report.VerbComment}, 0); got != "The comment is no command.\n" {
		t.Errorf("Markdown of no command = %q", got)
	}
}
