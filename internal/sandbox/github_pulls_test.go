package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"
)

// open opens a pull request through the API.
func (h *hub) open(t *testing.T, head, base string) *github.PullRequest {
	t.Helper()
	return must[*github.PullRequest](t)(h.PullRequests.Create(context.Background(), "octo", "infra", &github.NewPullRequest{
		Title: github.String("Change " + head), Head: github.String(head), Base: github.String(base), Body: github.String("why"),
	}))
}

func (h *hub) pullRequest(t *testing.T, number int) *github.PullRequest {
	t.Helper()
	return must[*github.PullRequest](t)(h.PullRequests.Get(context.Background(), "octo", "infra", number))
}

func TestGitHubOpensPullRequests(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	main, sha := h.head(t, "main"), h.push(t, "topic", "prod/main.tf", "terraform {}\n# more\n")
	p := h.open(t, "topic", "main")

	if p.GetNumber() != 1 || p.GetState() != "open" || p.GetTitle() != "Change topic" || p.GetBody() != "why" || p.GetUser().GetLogin() != actionsBot {
		t.Errorf("pull request = %v", p)
	}
	if p.Head.GetSHA() != sha || p.Head.GetLabel() != "octo:topic" || p.Head.Repo.GetFullName() != octoInfra || p.Base.GetSHA() != main || p.Base.GetRef() != "main" {
		t.Errorf("head = %v, base = %v", p.Head, p.Base)
	}
	if p.GetHTMLURL() != h.url+"/github/octo/infra/pull/1" {
		t.Errorf("page = %s", p.GetHTMLURL())
	}
	if p.GetCommits() != 1 || p.GetChangedFiles() != 1 || p.GetAdditions() != 1 || p.Mergeable != nil {
		t.Errorf("%d commits, %d files, %d additions, mergeable %v; want 1, 1, 1, unknown", p.GetCommits(), p.GetChangedFiles(), p.GetAdditions(), p.Mergeable)
	}
	refs, err := h.Refs(octoInfra)
	if err != nil || refs["refs/pull/1/head"] != sha {
		t.Errorf("refs/pull/1/head = %s, %v; want %s", refs["refs/pull/1/head"], err, sha)
	}
	_, _, err = h.PullRequests.Get(context.Background(), "octo", "infra", 2)
	wantRefusal(t, err, 404, "Not Found")
}

func TestGitHubRefusesPullRequests(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	h.push(t, "topic", "f", "1")
	h.push(t, "other", "f", "2")
	h.open(t, "topic", "main")
	long := func(n int) string { return strings.Repeat("ä", n) }
	tests := []struct{ name, title, head, base, body, message string }{
		{"second_of_a_branch", "T", "topic", "main", "", "A pull request already exists for octo:topic."},
		{"no_commits", "T", "main", "main", "", "No commits between main and main"},
		{"unknown_head", "T", "nothing", "main", "", "invalid head"},
		{"head_of_a_stranger", "T", "stranger:topic", "main", "", "invalid head"},
		{"unknown_base", "T", "other", "nothing", "", "invalid base"},
		{"no_title", " ", "other", "main", "", "missing_field title"},
		{"long_title", long(257), "other", "main", "", "title is too long (maximum is 256 characters)"},
		{"long_body", "T", "other", "main", long(65_537), "body is too long (maximum is 65536 characters)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := h.PullRequests.Create(ctx, "octo", "infra", &github.NewPullRequest{Title: &tt.title, Head: &tt.head, Base: &tt.base, Body: &tt.body})
			wantRefusal(t, err, 422, tt.message)
		})
	}
	t.Run("longest_texts_pass", func(t *testing.T) {
		title, body := long(256), long(65_536)
		must[*github.PullRequest](t)(h.PullRequests.Create(ctx, "octo", "infra", &github.NewPullRequest{
			Title: &title, Body: &body, Head: github.String("octo:other"), Base: github.String("main"),
		}))
	})
}

func TestGitHubListsPullRequests(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	for i := range 4 {
		h.push(t, fmt.Sprintf("topic-%d", i), "f", fmt.Sprint(i))
	}
	h.open(t, "topic-0", "main")        // 1
	h.open(t, "topic-1", "main")        // 2
	h.open(t, "topic-1", "release/1.0") // 3
	h.open(t, "topic-2", "main")        // 4, closed
	if err := h.Close(octoInfra, 4, "monalisa"); err != nil {
		t.Fatal(err)
	}
	if err := h.Fork(octoInfra, "stranger"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Open(octoInfra, "stranger:topic-0", "main", "Mine", "stranger"); err != nil { // 5
		t.Fatal(err)
	}
	if _, err := h.Comment(octoInfra, 2, "monalisa", "nice"); err != nil { // updates 2, makes it popular
		t.Fatal(err)
	}
	tests := []struct {
		name string
		opts github.PullRequestListOptions
		want []int
	}{
		{"open_newest_first", github.PullRequestListOptions{}, []int{5, 3, 2, 1}},
		{"closed", github.PullRequestListOptions{State: "closed"}, []int{4}},
		{"all", github.PullRequestListOptions{State: "all"}, []int{5, 4, 3, 2, 1}},
		{"head", github.PullRequestListOptions{Head: "octo:topic-0"}, []int{1}},
		{"head_of_a_fork", github.PullRequestListOptions{Head: "stranger:topic-0"}, []int{5}},
		{"head_owner_in_any_case", github.PullRequestListOptions{Head: "OCTO:topic-0"}, []int{1}},
		{"head_is_exact", github.PullRequestListOptions{Head: "octo:topic"}, []int{}},
		{"head_without_owner_is_ignored", github.PullRequestListOptions{Head: "topic-0"}, []int{5, 3, 2, 1}},
		{"base", github.PullRequestListOptions{Base: "release/1.0"}, []int{3}},
		{"head_and_base", github.PullRequestListOptions{Head: "octo:topic-1", Base: "main"}, []int{2}},
		{"oldest_first", github.PullRequestListOptions{Direction: "asc"}, []int{1, 2, 3, 5}},
		{"least_recently_updated", github.PullRequestListOptions{Sort: "updated"}, []int{1, 3, 5, 2}},
		{"most_recently_updated", github.PullRequestListOptions{Sort: "updated", Direction: "desc"}, []int{2, 5, 3, 1}},
		{"popular", github.PullRequestListOptions{Sort: "popularity", Direction: "desc"}, []int{2, 5, 3, 1}},
		{"page", github.PullRequestListOptions{ListOptions: github.ListOptions{Page: 2, PerPage: 3}}, []int{1}},
		{"beyond_the_last_page", github.PullRequestListOptions{ListOptions: github.ListOptions{Page: 9}}, []int{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := []int{}
			for _, p := range must[[]*github.PullRequest](t)(h.PullRequests.List(ctx, "octo", "infra", &tt.opts)) {
				got = append(got, p.GetNumber())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pull requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGitHubLinksPages(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	h.push(t, "topic", "f", "1")
	h.open(t, "topic", "main")
	for i := range 101 {
		if _, err := h.Comment(octoInfra, 1, "monalisa", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	var bodies []string
	opts := &github.IssueListCommentsOptions{}
	for pages := 1; ; pages++ {
		comments, resp, err := h.Issues.ListComments(ctx, "octo", "infra", 1, opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range comments {
			bodies = append(bodies, c.GetBody())
		}
		if resp.NextPage == 0 {
			if pages != 4 || resp.PrevPage != 3 || resp.FirstPage != 1 {
				t.Errorf("walk ended on page %d with %s", pages, resp.Header.Get("Link"))
			}
			break
		}
		if resp.LastPage != 4 {
			t.Errorf("last page = %d, want 4", resp.LastPage)
		}
		opts.Page = resp.NextPage
	}
	if len(bodies) != 101 || bodies[30] != "30" || bodies[100] != "100" {
		t.Errorf("pages of 30 held %d comments: %v", len(bodies), bodies)
	}
	comments, resp, err := h.Issues.ListComments(ctx, "octo", "infra", 1, &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: 1000}})
	if err != nil || len(comments) != 100 || resp.NextPage != 2 {
		t.Errorf("page of 1000 has %d comments and page %d after it, %v; want 100 and 2", len(comments), resp.NextPage, err)
	}
}

func TestGitHubEditsPullRequests(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	h.push(t, "topic", "f", "1")
	h.open(t, "topic", "main")
	edit := func(p *github.PullRequest) (*github.PullRequest, error) {
		got, _, err := h.PullRequests.Edit(ctx, "octo", "infra", 1, p)
		return got, err
	}

	p, err := edit(&github.PullRequest{Title: github.String("New")})
	if err != nil || p.GetTitle() != "New" || p.GetBody() != "why" {
		t.Errorf("after a new title: %q %q, %v", p.GetTitle(), p.GetBody(), err)
	}
	p, err = edit(&github.PullRequest{Body: github.String("because"), Base: &github.PullRequestBranch{Ref: github.String("release/1.0")}})
	if err != nil || p.GetBody() != "because" || p.Base.GetRef() != "release/1.0" || p.Base.GetSHA() != h.head(t, "release/1.0") {
		t.Errorf("after a new body and base: %q %v, %v", p.GetBody(), p.Base, err)
	}
	_, err = edit(&github.PullRequest{Base: &github.PullRequestBranch{Ref: github.String("nothing")}})
	wantRefusal(t, err, 422, "Proposed base branch 'nothing' was not found")
	_, err = edit(&github.PullRequest{Body: github.String(strings.Repeat("x", 65_537))})
	wantRefusal(t, err, 422, "body is too long (maximum is 65536 characters)")
	_, err = edit(&github.PullRequest{State: github.String("merged")})
	wantRefusal(t, err, 422, "invalid state")

	p, err = edit(&github.PullRequest{State: github.String("closed")})
	if err != nil || p.GetState() != "closed" || p.ClosedAt == nil || p.GetMerged() {
		t.Errorf("after closing: %v, %v", p, err)
	}
	_, err = edit(&github.PullRequest{Base: &github.PullRequestBranch{Ref: github.String("main")}})
	wantRefusal(t, err, 422, "Cannot change base branch of closed pull request")
	p, err = edit(&github.PullRequest{State: github.String("open")})
	if err != nil || p.GetState() != "open" || p.ClosedAt != nil {
		t.Errorf("after reopening: %v, %v", p, err)
	}
}

func TestGitHubReopensOnlyWhatStayed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	reopen := func(h *hub) error {
		_, _, err := h.PullRequests.Edit(ctx, "octo", "infra", 1, &github.PullRequest{State: github.String("open")})
		return err
	}
	closed := func(t *testing.T) *hub {
		h := startHub(t)
		h.push(t, "topic", "f", "1")
		h.open(t, "topic", "main")
		if err := h.Close(octoInfra, 1, "monalisa"); err != nil {
			t.Fatal(err)
		}
		return h
	}
	t.Run("pushed_to", func(t *testing.T) {
		t.Parallel()
		h := closed(t)
		sha := h.push(t, "topic", "f", "2")
		if p := h.pullRequest(t, 1); p.Head.GetSHA() == sha {
			t.Error("the head of a closed pull request moved")
		}
		if err := reopen(h); err != nil {
			t.Error(err)
		}
		if p := h.pullRequest(t, 1); p.Head.GetSHA() != sha {
			t.Errorf("head after reopening = %s, want %s", p.Head.GetSHA(), sha)
		}
	})
	t.Run("rewritten", func(t *testing.T) {
		t.Parallel()
		h := closed(t)
		if _, err := h.Push(octoInfra, Push{Branch: "topic", Amend: true}); err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, reopen(h), 422, "state cannot be changed. The topic branch was force-pushed or recreated.")
	})
	t.Run("deleted", func(t *testing.T) {
		t.Parallel()
		h := closed(t)
		if err := h.DeleteBranch(octoInfra, "topic"); err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, reopen(h), 422, "state cannot be changed. The topic branch has been deleted.")
	})
	t.Run("replaced_by_another", func(t *testing.T) {
		t.Parallel()
		h := closed(t)
		h.open(t, "topic", "main")
		wantRefusal(t, reopen(h), 422, "A pull request already exists for octo:topic.")
	})
}

func TestGitHubPullRequestFollowsItsBranches(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	base := h.head(t, "main")
	h.push(t, "topic", "f", "1")
	h.open(t, "topic", "main")

	moved := h.push(t, "main", "g", "1")
	if p := h.pullRequest(t, 1); p.Base.GetSHA() != base {
		t.Errorf("base moved to %s with its branch: GitHub keeps it until the head moves", p.Base.GetSHA())
	}
	sha := h.push(t, "topic", "f", "2")
	if p := h.pullRequest(t, 1); p.Head.GetSHA() != sha || p.Base.GetSHA() != moved || p.GetCommits() != 2 {
		t.Errorf("after a push: head %s, base %s, %d commits; want %s, %s, 2", p.Head.GetSHA(), p.Base.GetSHA(), p.GetCommits(), sha, moved)
	}
	amended, err := h.Push(octoInfra, Push{Branch: "topic", Amend: true, Files: map[string]File{"f": {Content: []byte("3")}}})
	if err != nil {
		t.Fatal(err)
	}
	if p := h.pullRequest(t, 1); p.Head.GetSHA() != amended || p.GetState() != "open" {
		t.Errorf("after a forced push: %s, head %s; want open, %s", p.GetState(), p.Head.GetSHA(), amended)
	}

	reset := &github.Reference{Ref: github.String("heads/topic"), Object: &github.GitObject{SHA: github.String(base)}}
	must[*github.Reference](t)(h.Git.UpdateRef(ctx, "octo", "infra", reset, true))
	if p := h.pullRequest(t, 1); p.GetState() != "closed" || p.GetMerged() {
		t.Errorf("pull request with nothing left to merge is %s, merged %v", p.GetState(), p.GetMerged())
	}
}

func TestGitHubDeletedBranchClosesPullRequests(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	sha := h.push(t, "topic", "f", "1")
	h.push(t, "stacked", "g", "1")
	h.open(t, "topic", "main")
	h.open(t, "stacked", "topic")
	if _, err := h.Git.DeleteRef(ctx, "octo", "infra", "heads/topic"); err != nil {
		t.Fatal(err)
	}
	if p := h.pullRequest(t, 1); p.GetState() != "closed" || p.GetMerged() || p.Head.GetSHA() != sha {
		t.Errorf("pull request of a deleted head = %s, head %s", p.GetState(), p.Head.GetSHA())
	}
	if p := h.pullRequest(t, 2); p.GetState() != "closed" {
		t.Errorf("pull request onto a deleted base is %s, want closed", p.GetState())
	}
	pulls, err := h.Pulls(octoInfra)
	if err != nil || pulls[0].ClosedBy != actionsBot {
		t.Errorf("closed by %q, %v; want %s", pulls[0].ClosedBy, err, actionsBot)
	}
}

func TestGitHubPullRequestCommitsAndFiles(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	one, two := h.push(t, "topic", "a", "1\n"), h.push(t, "topic", "b", "1\n")
	h.push(t, "main", "c", "1\n")
	h.open(t, "topic", "main")

	var shas, files []string
	for _, c := range must[[]*github.RepositoryCommit](t)(h.PullRequests.ListCommits(ctx, "octo", "infra", 1, nil)) {
		shas = append(shas, c.GetSHA())
	}
	for _, f := range must[[]*github.CommitFile](t)(h.PullRequests.ListFiles(ctx, "octo", "infra", 1, nil)) {
		files = append(files, f.GetFilename())
	}
	if diff := cmp.Diff([]string{one, two}, shas); diff != "" {
		t.Errorf("commits, oldest first (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, files); diff != "" {
		t.Errorf("files since the branches parted (-want +got):\n%s", diff)
	}
}

func TestGitHubComments(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	h.push(t, "topic", "f", "1")
	h.open(t, "topic", "main")

	c := must[*github.IssueComment](t)(h.Issues.CreateComment(ctx, "octo", "infra", 1, &github.IssueComment{Body: github.String("first")}))
	if c.GetBody() != "first" || c.GetUser().GetLogin() != actionsBot || !strings.HasSuffix(c.GetHTMLURL(), fmt.Sprintf("/pull/1#issuecomment-%d", c.GetID())) {
		t.Errorf("comment = %v", c)
	}
	edited := must[*github.IssueComment](t)(h.Issues.EditComment(ctx, "octo", "infra", c.GetID(), &github.IssueComment{Body: github.String("second")}))
	list := must[[]*github.IssueComment](t)(h.Issues.ListComments(ctx, "octo", "infra", 1, nil))
	if edited.GetBody() != "second" || len(list) != 1 || list[0].GetBody() != "second" {
		t.Errorf("edited = %v, list = %v", edited, list)
	}

	_, _, err := h.Issues.CreateComment(ctx, "octo", "infra", 2, &github.IssueComment{Body: github.String("x")})
	wantRefusal(t, err, 404, "Not Found")
	_, _, err = h.Issues.EditComment(ctx, "octo", "infra", 999, &github.IssueComment{Body: github.String("x")})
	wantRefusal(t, err, 404, "Not Found")
	_, _, err = h.Issues.CreateComment(ctx, "octo", "infra", 1, &github.IssueComment{Body: github.String(" ")})
	wantRefusal(t, err, 422, "missing_field body")
	_, _, err = h.Issues.CreateComment(ctx, "octo", "infra", 1, &github.IssueComment{Body: github.String(strings.Repeat("x", 65_537))})
	wantRefusal(t, err, 422, "body is too long (maximum is 65536 characters)")
}

func TestGitHubLabelsAndAssignees(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	h.push(t, "topic", "f", "1")
	h.push(t, "other", "f", "2")
	h.open(t, "topic", "main")
	h.open(t, "other", "main")
	names := func(labels []*github.Label) []string {
		var names []string
		for _, l := range labels {
			names = append(names, l.GetName())
		}
		return names
	}

	must[[]*github.Label](t)(h.Issues.AddLabelsToIssue(ctx, "octo", "infra", 1, []string{"Terraform"}))
	again := must[[]*github.Label](t)(h.Issues.AddLabelsToIssue(ctx, "octo", "infra", 1, []string{"dependencies", "Terraform"}))
	if diff := cmp.Diff([]string{"Terraform", "dependencies"}, names(again)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	known := must[[]*github.Label](t)(h.Issues.AddLabelsToIssue(ctx, "octo", "infra", 2, []string{"terraform"}))
	if diff := cmp.Diff([]string{"Terraform"}, names(known)); diff != "" {
		t.Errorf("label that exists in another case (-want +got):\n%s", diff)
	}
	if resp, _ := h.send(t, "POST", "/repos/octo/infra/issues/1/labels", `{"labels": ["bot"]}`, authorized); resp.StatusCode != http.StatusOK {
		t.Errorf("answer to labels in an object = %s", resp.Status)
	}
	if diff := cmp.Diff([]string{"Terraform", "dependencies", "bot"}, names(h.pullRequest(t, 1).Labels)); diff != "" {
		t.Errorf("labels of the pull request (-want +got):\n%s", diff)
	}
	listed := must[[]*github.Label](t)(h.Issues.ListLabelsByIssue(ctx, "octo", "infra", 1, nil))
	if len(listed) != 3 {
		t.Errorf("listed labels = %v", names(listed))
	}

	if err := h.SetRole(octoInfra, "hubot", RoleRead); err != nil {
		t.Fatal(err)
	}
	issue := must[*github.Issue](t)(h.Issues.AddAssignees(ctx, "octo", "infra", 1, []string{"monalisa", "stranger", "hubot", "monalisa"}))
	if len(issue.Assignees) != 2 || !issue.IsPullRequest() {
		t.Errorf("issue = %v", issue)
	}
	if got := must[*github.Issue](t)(h.Issues.Get(ctx, "octo", "infra", 1)); len(got.Assignees) != 2 || len(got.Labels) != 3 {
		t.Errorf("issue read again = %v", got)
	}
}

func TestGitHubForks(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	if err := h.Fork(octoInfra, "stranger"); err != nil {
		t.Fatal(err)
	}
	sha, err := h.Push("stranger/infra", Push{Branch: "topic", Files: map[string]File{"f": {Content: []byte("1")}}, Author: "stranger"})
	if err != nil {
		t.Fatal(err)
	}
	if h.head(t, "topic") != "" {
		t.Error("a push to a fork made a branch of the original")
	}
	if _, err := h.Open(octoInfra, "stranger:topic", "main", "Mine", "stranger"); err != nil {
		t.Fatal(err)
	}
	p := h.pullRequest(t, 1)
	if p.Head.GetLabel() != "stranger:topic" || p.Head.GetSHA() != sha || !p.Head.Repo.GetFork() || p.Base.Repo.GetFork() {
		t.Errorf("head = %v, base = %v", p.Head, p.Base)
	}
	if next, err := h.Push("stranger/infra", Push{Branch: "topic", Files: map[string]File{"f": {Content: []byte("2")}}}); err != nil || h.pullRequest(t, 1).Head.GetSHA() != next {
		t.Errorf("the pull request did not follow the fork's branch: %v", err)
	}
	if err := h.Fork(octoInfra, "stranger"); err == nil {
		t.Error("a second fork of one owner succeeded")
	}
	pulls, err := h.Pulls(octoInfra)
	if err != nil || !slices.Equal(pulls[0].ChangedFiles, []string{"f"}) || pulls[0].HeadOwner != "stranger" {
		t.Errorf("pull request = %v, %v", pulls, err)
	}
}
