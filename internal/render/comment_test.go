package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
)

func TestCommentStaysWithinItsLimit(t *testing.T) {
	t.Parallel()
	r := report.Report{Verb: verbs.Upgrade}
	for i := range 3000 {
		r.Modules = append(r.Modules, module(fmt.Sprintf("envs/%04d-%s", i, strings.Repeat("x", 40)), upgraded("hashicorp/aws", "5.31.0", "5.34.0", provider.Signer{})))
	}
	got := render.Comment(safe.Const("Pushed commit 0123abc."), r).String()
	if !strings.HasPrefix(got, "Pushed commit 0123abc.\n\n1 provider is upgraded") || len(got) > 60_000 {
		t.Errorf("Comment has %d bytes and begins %.80q", len(got), got)
	}
	if got := render.Comment(safe.Markdown{}, report.Report{Verb: verbs.Diff}).String(); got != "No differences.\n" {
		t.Errorf("Comment without a lead = %q", got)
	}
}

func TestProblemsAreHarmlessAndSayWhatToDo(t *testing.T) {
	t.Parallel()
	got := render.Problems([]problem.Problem{
		{Code: problem.CodeSyntax, Message: "@octo closes #1 <img src=x>", Place: problem.Place{Path: "live/`main`.tf", Line: 3}},
		{Code: problem.CodeGitHub, Message: "GitHub answered 403.", Hint: "grant the token access"},
		{Severity: problem.SeverityWarning, Code: problem.CodePolicy, Message: "a rule is over"},
	}).String()
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
	if got := render.Problems(nil).String(); got != "" {
		t.Errorf("Problems of none = %q", got)
	}
}

func TestAnswerIsTheReport(t *testing.T) {
	t.Parallel()
	r := report.Report{Verb: verbs.Comment, Answer: "Opened again.", Stats: report.Stats{Requests: 3}}
	for name, got := range map[string]string{
		"text":     text(t, r, render.TextOptions{}),
		"markdown": render.Markdown(r, 0).String(),
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
	if got := text(t, r, render.TextOptions{Stats: true}); !strings.Contains(got, "Opened again.\n\n3 requests") {
		t.Errorf("text with stats = %q", got)
	}
	if got := render.Summary(r).String(); got != "## relock\n\nOpened again.\n\n3 requests, 0 B received\n" {
		t.Errorf("Summary = %q", got)
	}
	if got := render.Markdown(report.Report{Verb: verbs.Comment}, 0).String(); got != "The comment is no command.\n" {
		t.Errorf("Markdown of no command = %q", got)
	}
}
