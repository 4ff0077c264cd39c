package conversation

import (
	"errors"
	"testing"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
)

// What the answer to a command says of the push, by what became of it.
func TestOutcomeOfARepair(t *testing.T) {
	t.Parallel()
	pattern, err := provider.ParsePattern("hashicorp/aws")
	if err != nil {
		t.Fatal(err)
	}
	stale := []report.Module{{Dir: "prod", Pending: true}}
	tests := map[string]struct {
		self   string
		why    safe.Markdown
		report report.Report
		want   string
	}{
		"pushed by an App": {self: "relock[bot]", report: report.Report{Pushed: "0123abc", Modules: stale}, want: "Pushed commit 0123abc."},
		"pushed by the workflow": {self: github.WorkflowLogin, report: report.Report{Pushed: "0123abc"},
			want: "Pushed commit 0123abc.\n\nWorkflows on what the workflow's own token pushes wait until somebody with write access approves them; " +
				"older GitHub Enterprise Servers start none. With the token of a GitHub App they start by themselves."},
		"nothing to push":        {want: "Nothing was pushed."},
		"nothing a push was for": {why: safe.Text("it is forbidden"), want: "Nothing was pushed."},
		"refused": {why: safe.Text("@octo forbids it"), report: report.Report{Modules: stale},
			want: "Nothing was pushed: @&#8203;octo forbids it. Run this at the top of a checkout of the branch, and commit the result:\n\n" +
				"```text\nrelock lock --provider hashicorp/aws prod\n```\n"},
	}
	for name, tt := range tests {
		command := comment.Command{Providers: []provider.Pattern{pattern}}
		c := conversation{request: request{premises: &premises{reply: &reply{self: tt.self}}, command: command}}
		if got := c.outcome(t.Context(), tt.report, verbs.Lock, tt.why).String(); got != tt.want {
			t.Errorf("%s: outcome says\n%q, want\n%q", name, got, tt.want)
		}
	}
}

// What the answer says of a pull request of ours that was made anew.
func TestBecameOfARebuild(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pull report.PullRequest
		want string
	}{
		"closed":        {report.PullRequest{Operation: string(pr.Closed), Reason: "nothing left to do"}, "Nothing left to do."},
		"rebuilt":       {report.PullRequest{Operation: string(pr.Updated), HeadSHA: "new"}, "Rebuilt on `main`: commit new."},
		"edited":        {report.PullRequest{Operation: string(pr.Updated), HeadSHA: "old"}, "The text is up to date again; nothing had to be pushed."},
		"left alone":    {report.PullRequest{Operation: string(pr.None), HeadSHA: "old", Reason: "already up to date"}, "Nothing was pushed: already up to date."},
		"nobody knows":  {report.PullRequest{Operation: string(pr.None), HeadSHA: "old"}, "Nothing was pushed."},
		"moved, by all": {report.PullRequest{Operation: string(pr.None), HeadSHA: "new"}, "Nothing was pushed."},
	}
	for name, tt := range tests {
		c := conversation{request: request{premises: &premises{reply: &reply{self: "relock[bot]"}, pull: github.PullRequest{Base: "main", Head: "old"}}}}
		if got := c.outcomeOf(t.Context(), tt.pull).String(); got != tt.want {
			t.Errorf("%s: outcomeOf says %q, want %q", name, got, tt.want)
		}
	}
}

// What a command names and is nowhere is refused, with what to do next. Nobody can write
// Markdown by the name of it.
func TestRefused(t *testing.T) {
	t.Parallel()
	missing := problem.Several{
		{Message: "no root module locks hashicorp/awss", Hint: "relock scan lists all"},
		{Message: "there is no directory <img> here"},
	}
	var no *comment.Refusal
	if !errors.As(refused(missing), &no) {
		t.Fatalf("%v is no refusal", refused(missing))
	}
	const want = "Nothing was done: no root module locks hashicorp/awss (relock scan lists all); there is no directory &lt;img&gt; here."
	if got := no.Why.Sentence().String(); got != want {
		t.Errorf("it says\n%q, want\n%q", got, want)
	}
	moved := refused(run.ErrMoved)
	if !errors.As(moved, &no) || moved.Error() != run.ErrMoved.Error() {
		t.Errorf("a push to a branch that has moved became %v", moved)
	}
	other := &problem.Error{Problem: problem.Problem{Message: "an outage"}}
	if got := refused(other); got != error(other) {
		t.Errorf("another error became %v", got)
	}
}
