package sandbox

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-github/v60/github"
)

// Issues are made, edited and closed by those who may, vanish, and can be switched off.
func TestIssuesLive(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	made := must[*github.Issue](t)(h.Issues.Create(ctx, "octo", "infra", &github.IssueRequest{Title: github.String("Page"), Body: github.String("- [ ] one\n"), Labels: &[]string{"page"}}))
	if made.GetUser().GetLogin() != actionsBot || len(made.Labels) != 1 {
		t.Errorf("an issue by a workflow is %v", made)
	}
	if err := h.TickAs(octoInfra, made.GetNumber(), "hubot", "one"); err != nil {
		t.Fatal(err)
	}
	issues, err := h.AllIssues(octoInfra)
	if err != nil || len(issues) != 1 || issues[0].Editor != "hubot" || issues[0].Body != "- [x] one\n" {
		t.Errorf("after a tick the issues are %+v, %v", issues, err)
	}
	event, err := h.IssueEvent(octoInfra, made.GetNumber(), "edited", "hubot")
	if err != nil || !strings.Contains(string(event), `"from": "- [ ] one\n"`) {
		t.Errorf("the event is %s, %v", event, err)
	}
	edited := must[*github.Issue](t)(h.Issues.Edit(ctx, "octo", "infra", made.GetNumber(), &github.IssueRequest{State: github.String("closed"), Body: github.String("over")}))
	if edited.GetState() != "closed" || edited.GetBody() != "over" {
		t.Errorf("after an edit it is %v", edited)
	}
	if err := h.DeleteIssue(octoInfra, made.GetNumber()); err != nil {
		t.Fatal(err)
	}
	_, answer, err := h.Issues.Get(ctx, "octo", "infra", made.GetNumber())
	if err == nil || answer.StatusCode != http.StatusGone {
		t.Errorf("a deleted issue is answered %v, %v", answer, err)
	}
	if err := h.Configure(octoInfra, func(s *Settings) { s.NoIssues = true }); err != nil {
		t.Fatal(err)
	}
	_, answer, err = h.Issues.Create(ctx, "octo", "infra", &github.IssueRequest{Title: github.String("Page")})
	if err == nil || answer.StatusCode != http.StatusGone {
		t.Errorf("without issues one is answered %v, %v", answer, err)
	}
}
