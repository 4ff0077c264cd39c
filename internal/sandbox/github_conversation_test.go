package sandbox

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"
)

// pullAsSeen is a pull request as people see it.
func (h *hub) pullAsSeen(t *testing.T, number int) PullRequest {
	t.Helper()
	pulls, err := h.Pulls(octoInfra)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pulls {
		if p.Number == number {
			return p
		}
	}
	t.Fatalf("no pull request %d", number)
	return PullRequest{}
}

func (h *hub) comment(t *testing.T, number int, by, body string) int64 {
	t.Helper()
	id, err := h.Comment(octoInfra, number, by, body)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestReactions(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	id := h.comment(t, h.propose(t, "topic"), "hubot", "hello")

	eyes := must[*github.Reaction](t)(h.Client.Reactions.CreateIssueCommentReaction(ctx, "octo", "infra", id, "eyes"))
	again, resp, err := h.Client.Reactions.CreateIssueCommentReaction(ctx, "octo", "infra", id, "eyes")
	if err != nil || resp.StatusCode != 200 || again.GetID() != eyes.GetID() {
		t.Errorf("the same reaction again = %v, %v, %v; want the first one with 200", again, resp.Status, err)
	}
	must[*github.Reaction](t)(h.Client.Reactions.CreateIssueCommentReaction(ctx, "octo", "infra", id, "rocket"))
	if _, err := h.Client.Reactions.DeleteIssueCommentReaction(ctx, "octo", "infra", id, eyes.GetID()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"rocket by " + actionsBot}, h.pullAsSeen(t, 1).Comments[0].Reactions); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
	if c := must[*github.IssueComment](t)(h.Issues.GetComment(ctx, "octo", "infra", id)); c.GetReactions().GetRocket() != 1 || c.GetReactions().GetTotalCount() != 1 {
		t.Errorf("reactions counted = %v, want one rocket", c.GetReactions())
	}
	_, _, err = h.Client.Reactions.CreateIssueCommentReaction(ctx, "octo", "infra", id, "shrug")
	wantRefusal(t, err, 422, "invalid content")
}

func TestLockedConversations(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	n := h.propose(t, "topic")
	id := h.comment(t, n, "hubot", "hello")
	if err := h.Lock(octoInfra, n, true); err != nil {
		t.Fatal(err)
	}
	h.Admit("reader", Identity{Login: "hubot"})
	text := &github.IssueComment{Body: github.String("x")}
	for _, token := range []string{ActionsToken, "reader"} {
		c := h.client(t, token)
		_, _, err := c.Issues.CreateComment(ctx, "octo", "infra", n, text)
		wantRefusal(t, err, 403, "Unable to create comment because issue is locked.")
		_, _, err = c.Reactions.CreateIssueCommentReaction(ctx, "octo", "infra", id, "eyes")
		wantRefusal(t, err, 403, "Unable to add reaction because issue is locked.")
	}
	must[*github.IssueComment](t)(h.client(t, UserToken).Issues.CreateComment(ctx, "octo", "infra", n, text))
	if !must[*github.PullRequest](t)(h.PullRequests.Get(ctx, "octo", "infra", n)).GetLocked() {
		t.Error("a locked pull request does not say so")
	}
}

func TestCommentsAreTheirAuthorsAndTheWriters(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	n := h.propose(t, "topic")
	id := h.comment(t, n, "hubot", "hello")
	h.Admit("author", Identity{Login: "hubot"})
	h.Admit("reader", Identity{Login: "stranger"})
	text := &github.IssueComment{Body: github.String("changed")}
	must[*github.IssueComment](t)(h.client(t, "author").Issues.EditComment(ctx, "octo", "infra", id, text))
	must[*github.IssueComment](t)(h.client(t, UserToken).Issues.EditComment(ctx, "octo", "infra", id, text))
	_, _, err := h.client(t, "reader").Issues.EditComment(ctx, "octo", "infra", id, text)
	wantRefusal(t, err, 404, "Not Found")
	if _, err := h.client(t, "author").Issues.DeleteComment(ctx, "octo", "infra", id); err != nil {
		t.Error(err)
	}
	_, _, err = h.Issues.GetComment(ctx, "octo", "infra", id)
	wantRefusal(t, err, 404, "Not Found")
}

func TestReviewers(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	n := h.propose(t, "topic")
	h.setRole(t, "ada", RoleRead)
	h.configure(t, func(s *Settings) { s.Teams = []string{"platform"} })
	h.Admit("app", Identity{Login: "relock[bot]", Bot: true, Permissions: workflowPermissions("write")})
	const nobody = "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the octo/infra repository."
	const noTeam = "Reviews may only be requested from collaborators. One or more of the teams you specified is not a collaborator of the octo/infra repository."
	tests := []struct {
		name, token string
		people      []string
		teams       []string
		message     string
	}{
		{"collaborator", ActionsToken, []string{"ada"}, nil, ""},
		{"stranger", ActionsToken, []string{"ada", "stranger"}, nil, nobody},
		{"author", ActionsToken, []string{"monalisa"}, nil, "Review cannot be requested from pull request author."},
		{"team_by_a_workflow", ActionsToken, nil, []string{"platform"}, "Could not resolve to a node with the global id of '" + teamID("platform") + "'."},
		{"team_by_an_app", "app", nil, []string{"platform"}, ""},
		{"unknown_team", "app", nil, []string{"other"}, noTeam},
	}
	for _, tt := range tests {
		_, _, err := h.client(t, tt.token).PullRequests.RequestReviewers(ctx, "octo", "infra", n, github.ReviewersRequest{Reviewers: tt.people, TeamReviewers: tt.teams})
		switch {
		case tt.message == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.message != "":
			wantRefusal(t, err, 422, tt.message)
		}
	}
	p := h.pullAsSeen(t, n)
	if diff := cmp.Diff([]string{"ada", "platform"}, append(p.Reviewers, p.Teams...)); diff != "" {
		t.Errorf("who was asked (-want +got):\n%s", diff)
	}
}

func TestMilestones(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	n := h.propose(t, "topic")
	h.configure(t, func(s *Settings) { s.Milestones = []string{"v1", "v2"} })
	all := must[[]*github.Milestone](t)(h.Issues.ListMilestones(ctx, "octo", "infra", nil))
	if len(all) != 2 || all[1].GetTitle() != "v2" || all[1].GetNumber() != 2 {
		t.Errorf("milestones = %v", all)
	}
	must[*github.Issue](t)(h.Issues.Edit(ctx, "octo", "infra", n, &github.IssueRequest{Milestone: github.Int(2)}))
	if got := h.pullAsSeen(t, n).Milestone; got != "v2" {
		t.Errorf("milestone = %q, want v2", got)
	}
	_, _, err := h.Issues.Edit(ctx, "octo", "infra", n, &github.IssueRequest{Milestone: github.Int(3)})
	wantRefusal(t, err, 422, "invalid milestone")
	must[*github.Issue](t)(h.Issues.RemoveMilestone(ctx, "octo", "infra", n))
	if got := h.pullAsSeen(t, n).Milestone; got != "" {
		t.Errorf("milestone after it was removed = %q, want none", got)
	}
}

func TestIssuesAreNoPullRequests(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	n, err := h.OpenIssue(octoInfra, "Question", "hubot")
	if err != nil {
		t.Fatal(err)
	}
	if issue := must[*github.Issue](t)(h.Issues.Get(ctx, "octo", "infra", n)); issue.IsPullRequest() || !strings.HasSuffix(issue.GetHTMLURL(), "/issues/1") {
		t.Errorf("issue = %v", issue)
	}
	_, _, err = h.PullRequests.Get(ctx, "octo", "infra", n)
	wantRefusal(t, err, 404, "Not Found")
	if pulls := must[[]*github.PullRequest](t)(h.PullRequests.List(ctx, "octo", "infra", &github.PullRequestListOptions{State: "all"})); len(pulls) != 0 {
		t.Errorf("pull requests = %v, want none", pulls)
	}
	if next := h.propose(t, "topic"); next != n+1 {
		t.Errorf("the pull request after issue %d has number %d, want one more", n, next)
	}
}

func TestCommentEvents(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	n := h.propose(t, "topic")
	issue, err := h.OpenIssue(octoInfra, "Question", "hubot")
	if err != nil {
		t.Fatal(err)
	}
	onPull, onIssue := h.comment(t, n, "hubot", "first"), h.comment(t, issue, "hubot", "first")
	if err := h.EditComment(octoInfra, onPull, "second"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		action string
		id     int64
		isPull bool
	}{{"created", onIssue, false}, {"created", onPull, true}, {"edited", onPull, true}, {"deleted", onPull, true}} {
		payload, err := h.CommentEvent(octoInfra, tt.id, tt.action, "monalisa")
		if err != nil {
			t.Fatal(err)
		}
		var event github.IssueCommentEvent
		if err := json.Unmarshal(payload, &event); err != nil {
			t.Fatal(err)
		}
		if event.GetAction() != tt.action || event.GetIssue().IsPullRequest() != tt.isPull || event.GetComment().GetID() != tt.id ||
			event.GetComment().GetUser().GetLogin() != "hubot" || event.GetSender().GetLogin() != "monalisa" || event.GetRepo().GetFullName() != octoInfra {
			t.Errorf("event of %s = %s", tt.action, payload)
		}
		if was := event.GetChanges(); tt.action == "edited" && (was == nil || was.Body.GetFrom() != "first") {
			t.Errorf("changes of an edit = %v, want the body before", was)
		}
	}
	if _, err := h.CommentEvent(octoInfra, 999, "created", "monalisa"); err == nil {
		t.Error("there is an event of a comment that does not exist")
	}
}

func TestPeopleSteerPullRequests(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	n := h.propose(t, "topic")
	steps := []struct {
		name  string
		act   func() error
		holds func(PullRequest) bool
	}{
		{"close", func() error { return h.Close(octoInfra, n, "hubot") }, func(p PullRequest) bool { return p.State == "closed" && p.ClosedBy == "hubot" }},
		{"reopen", func() error { return h.Reopen(octoInfra, n) }, func(p PullRequest) bool { return p.State == "open" && p.ClosedBy == "" }},
		{"retarget", func() error { return h.Retarget(octoInfra, n, "release/1.0") }, func(p PullRequest) bool { return p.Base == "release/1.0" }},
		{"label", func() error { return h.Label(octoInfra, n, "later") }, func(p PullRequest) bool { return len(p.Labels) == 1 }},
		{"rewrite", func() error { return h.Edit(octoInfra, n, "", "- [ ] other\n- [ ] rebase this\n") }, func(p PullRequest) bool { return p.Body != "" }},
		{"tick", func() error { return h.Tick(octoInfra, n, "rebase") }, func(p PullRequest) bool { return p.Body == "- [ ] other\n- [x] rebase this\n" }},
	}
	for _, s := range steps {
		if err := s.act(); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if p := h.pullAsSeen(t, n); !s.holds(p) {
			t.Errorf("after %s = %+v", s.name, p)
		}
	}
	for name, err := range map[string]error{
		"reopening what is open":       h.Reopen(octoInfra, n),
		"a base that does not exist":   h.Retarget(octoInfra, n, "none"),
		"a box that is not there":      h.Tick(octoInfra, n, "nothing"),
		"edits to a branch of its own": h.AllowEdits(octoInfra, n, true),
		"a comment of nothing":         func() error { _, err := h.NewestComment(octoInfra, n); return err }(),
	} {
		if err == nil {
			t.Errorf("%s was possible", name)
		}
	}
}

func TestGraphQLPullRequests(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	first := h.propose(t, "topic")
	if err := h.Close(octoInfra, first, "monalisa"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Open(octoInfra, "topic", "main", "Again", "monalisa"); err != nil {
		t.Fatal(err)
	}
	if err := h.Fork(octoInfra, "hubot"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Push("hubot/infra", Push{Branch: "topic", Files: map[string]File{"g": {}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Open(octoInfra, "hubot:topic", "main", "From a fork", "hubot"); err != nil {
		t.Fatal(err)
	}
	h.propose(t, "beside")
	a := h.query(t, `query($branch: String!) { repository(owner: "octo", name: "infra") {
		b0: pullRequests(headRefName: $branch, first: 2, orderBy: {field: CREATED_AT, direction: DESC}) {
			nodes { number title state isCrossRepository headRefOid author { login } labels(first: 5) { nodes { name } } }
			pageInfo { hasNextPage }
		}
		open: pullRequests(states: [OPEN], first: 1) { totalCount nodes { number } }
		none: pullRequests(headRefName: "nothing", first: 1) { nodes { number } }
	} }`, map[string]any{"branch": "topic"})
	if len(a.Errors) > 0 {
		t.Fatal(a.messages())
	}
	noLabels := map[string]any{"nodes": []any{}}
	want := map[string]any{"repository": map[string]any{
		"b0": map[string]any{
			"nodes": []any{
				map[string]any{"number": 3.0, "title": "From a fork", "state": "OPEN", "isCrossRepository": true,
					"headRefOid": h.pullAsSeen(t, 3).HeadSHA, "author": map[string]any{"login": "hubot"}, "labels": noLabels},
				map[string]any{"number": 2.0, "title": "Again", "state": "OPEN", "isCrossRepository": false,
					"headRefOid": h.head(t, "topic"), "author": map[string]any{"login": "monalisa"}, "labels": noLabels},
			},
			"pageInfo": map[string]any{"hasNextPage": true},
		},
		"open": map[string]any{"totalCount": 3.0, "nodes": []any{map[string]any{"number": 2.0}}},
		"none": map[string]any{"nodes": []any{}},
	}}
	if diff := cmp.Diff(want, a.Data); diff != "" {
		t.Errorf("pull requests (-want +got):\n%s", diff)
	}
	for query, want := range map[string]string{
		`pullRequests(states: OPEN) { totalCount }`: "MISSING_PAGINATION_BOUNDARIES",
		`pullRequests(first: 101) { totalCount }`:   "EXCESSIVE_PAGINATION",
		`pullRequest(number: 99) { title }`:         "NOT_FOUND",
	} {
		a := h.query(t, `{ repository(owner: "octo", name: "infra") { `+query+` } }`, nil)
		if len(a.Errors) != 1 || a.Errors[0].Type != want {
			t.Errorf("%s = %v, want %s", query, a.messages(), want)
		}
	}
}

func TestAutoMerge(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	n := h.propose(t, "topic")
	id := must[*github.PullRequest](t)(h.PullRequests.Get(ctx, "octo", "infra", n)).GetNodeID()
	enable := func() []string {
		return h.query(t, `mutation($input: EnablePullRequestAutoMergeInput!) {
			enablePullRequestAutoMerge(input: $input) { pullRequest { number autoMergeRequest { mergeMethod } } }
		}`, map[string]any{"input": map[string]any{"pullRequestId": id, "mergeMethod": "SQUASH"}}).messages()
	}
	if diff := cmp.Diff([]string{"UNPROCESSABLE Auto merge is not allowed for this repository"}, enable()); diff != "" {
		t.Errorf("where it is not allowed (-want +got):\n%s", diff)
	}
	h.configure(t, func(s *Settings) { s.AutoMerge, s.Unprotected = true, true })
	if diff := cmp.Diff([]string{"UNPROCESSABLE Pull request Pull request is in clean status"}, enable()); diff != "" {
		t.Errorf("with nothing to wait for (-want +got):\n%s", diff)
	}
	h.configure(t, func(s *Settings) { s.Unprotected = false })
	if errs := enable(); len(errs) > 0 || h.pullAsSeen(t, n).AutoMerge != "squash" {
		t.Errorf("errors %v, auto-merge %q, want squash", errs, h.pullAsSeen(t, n).AutoMerge)
	}
	h.Admit(ActionsToken, Identity{Login: actionsBot, Bot: true, Permissions: workflowPermissions("read")})
	if diff := cmp.Diff([]string{"FORBIDDEN Resource not accessible by integration"}, enable()); diff != "" {
		t.Errorf("without the permission (-want +got):\n%s", diff)
	}
}
