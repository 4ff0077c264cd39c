package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-github/v60/github"
)

// protectedHub is a hub with a pull request that is behind its base.
func protectedHub(t *testing.T, p Protection) *hub {
	t.Helper()
	h := startHub(t)
	if err := h.Protect(octoInfra, "main", &p); err != nil {
		t.Fatal(err)
	}
	h.push(t, "topic", "ours", "1\n")
	h.open(t, "topic", "main")
	return h
}

// view is the pull request of a protected hub.
func (h *hub) view(t *testing.T) PullRequest {
	t.Helper()
	pulls, err := h.Pulls(octoInfra)
	if err != nil {
		t.Fatal(err)
	}
	return pulls[0]
}

func (h *hub) wantState(t *testing.T, want string) {
	t.Helper()
	const query = `{ repository(owner: "octo", name: "infra") { pullRequest(number: 1) { mergeStateStatus } } }`
	state := func() any {
		return h.query(t, query, nil).Data["repository"].(map[string]any)["pullRequest"].(map[string]any)["mergeStateStatus"]
	}
	if got := state(); got != "UNKNOWN" {
		t.Errorf("merge state = %v, want UNKNOWN, since nobody has asked before", got)
	}
	if got := state(); got != want {
		t.Errorf("merge state = %v, want %s", got, want)
	}
	if got := h.pullRequest(t, 1).GetMergeableState(); !strings.EqualFold(got, want) {
		t.Errorf("mergeable_state = %s, want %s", got, want)
	}
}

func TestGitHubTellsMergeStates(t *testing.T) {
	t.Parallel()
	h := protectedHub(t, Protection{Strict: true, Checks: true, Reviews: 1})
	h.push(t, "main", "theirs", "1\n")
	h.wantState(t, "BLOCKED") // which hides that it is behind
	if err := h.Approve(octoInfra, 1, "monalisa"); err != nil {
		t.Fatal(err)
	}
	if err := h.PassChecks(octoInfra, 1); err != nil {
		t.Fatal(err)
	}
	h.push(t, "main", "theirs", "2\n")
	h.wantState(t, "BEHIND")
	if _, err := h.Squash(octoInfra, 1, "monalisa"); err == nil {
		t.Error("a branch that is behind was merged")
	}
	if err := h.UpdateBranch(octoInfra, 1, "monalisa"); err != nil {
		t.Fatal(err)
	}
	h.wantState(t, "BLOCKED") // the checks run again
	h.push(t, "main", "ours", "clash\n")
	h.wantState(t, "DIRTY")
}

// reviewed is the review decision and the reviews of the pull request in GraphQL.
func (h *hub) reviewed(t *testing.T, writers bool) string {
	t.Helper()
	const query = `query($writers: Boolean) { repository(owner: "octo", name: "infra") { pullRequest(number: 1) {
		reviewDecision latestOpinionatedReviews(first: 5, writersOnly: $writers) { totalCount nodes { state author { login } } } } } }`
	data := h.query(t, query, map[string]any{"writers": writers}).Data["repository"].(map[string]any)["pullRequest"].(map[string]any)
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// There is a decision only if the base demands reviews, and only people who may
// write count. Opinions are always there.
func TestGitHubTellsReviews(t *testing.T) {
	t.Parallel()
	h := protectedHub(t, Protection{Reviews: 1})
	none := `"latestOpinionatedReviews":{"nodes":[],"totalCount":0},"reviewDecision":`
	approved := `"latestOpinionatedReviews":{"nodes":[{"author":{"login":"%s"},"state":"%s"}],"totalCount":1},"reviewDecision":`
	say := func(what func(string, int, string) error, by string) {
		t.Helper()
		if err := what(octoInfra, 1, by); err != nil {
			t.Fatal(err)
		}
	}
	want := func(writers bool, text string) {
		t.Helper()
		if got := h.reviewed(t, writers); got != "{"+text+"}" {
			t.Errorf("reviews = %s, want %s", got, text)
		}
	}
	want(true, none+`"REVIEW_REQUIRED"`)
	say(h.Approve, "mallory") // may not write
	want(true, none+`"REVIEW_REQUIRED"`)
	want(false, fmt.Sprintf(approved, "mallory", "APPROVED")+`"REVIEW_REQUIRED"`)
	h.push(t, "main", "theirs", "1\n")
	h.wantState(t, "BLOCKED")
	say(h.RequestChanges, "monalisa")
	want(true, fmt.Sprintf(approved, "monalisa", "CHANGES_REQUESTED")+`"CHANGES_REQUESTED"`)
	say(h.Approve, "monalisa")
	want(true, fmt.Sprintf(approved, "monalisa", "APPROVED")+`"APPROVED"`)
	if err := h.Protect(octoInfra, "main", nil); err != nil {
		t.Fatal(err)
	}
	want(true, fmt.Sprintf(approved, "monalisa", "APPROVED")+`null`)
}

// GitHub says that it has not computed a state, or gives the former one.
func TestGitHubComputesMergeStatesLate(t *testing.T) {
	t.Parallel()
	h := protectedHub(t, Protection{Strict: true})
	const query = `{ repository(owner: "octo", name: "infra") { pullRequest(number: 1) { mergeStateStatus } } }`
	want := func(late string, states ...string) {
		t.Helper()
		if err := h.Configure(octoInfra, func(s *Settings) { s.MergeStates = late }); err != nil {
			t.Fatal(err)
		}
		for _, state := range states {
			got := h.query(t, query, nil).Data["repository"].(map[string]any)["pullRequest"].(map[string]any)["mergeStateStatus"]
			if got != state {
				t.Errorf("%s: merge state = %v, want %s", late, got, state)
			}
		}
	}
	want("stale", "CLEAN", "CLEAN")
	h.push(t, "main", "theirs", "1\n")
	want("stale", "CLEAN", "BEHIND")
	want("never", "UNKNOWN", "UNKNOWN")
	want("", "BEHIND")
}

func TestGitHubUpdatesBranches(t *testing.T) {
	t.Parallel()
	h, ctx := protectedHub(t, Protection{Strict: true}), context.Background()
	before := h.head(t, "topic")
	update := func(expected string) (*github.PullRequestBranchUpdateResponse, error) {
		answer, _, err := h.PullRequests.UpdateBranch(ctx, "octo", "infra", 1, &github.PullRequestBranchUpdateOptions{ExpectedHeadSHA: &expected})
		return answer, err
	}
	_, err := update(before)
	wantRefusal(t, err, 422, "There are no new commits on the base branch.")
	base := h.push(t, "main", "theirs", "1\n")
	_, err = update(base)
	wantRefusal(t, err, 422, "expected head sha didn’t match current head ref.")

	answer, err := update(before)
	if _, accepted := err.(*github.AcceptedError); !accepted {
		t.Fatalf("update-branch answers %v, %v; want 202", answer, err)
	}
	merge := must[*github.Commit](t)(h.Git.GetCommit(ctx, "octo", "infra", h.head(t, "topic")))
	if len(merge.Parents) != 2 || merge.Parents[0].GetSHA() != before || merge.Parents[1].GetSHA() != base ||
		merge.GetMessage() != "Merge branch 'main' into topic" || merge.Author.GetName() != actionsBot {
		t.Errorf("the head is %v, want a merge of the base", merge)
	}
	h.push(t, "main", "ours", "clash\n")
	_, err = update(merge.GetSHA())
	wantRefusal(t, err, 422, "merge conflict between base and head")
}

func TestGitHubRebasesBranches(t *testing.T) {
	t.Parallel()
	h, ctx := protectedHub(t, Protection{}), context.Background()
	if err := h.RebaseBranch(octoInfra, 1, "monalisa"); err == nil {
		t.Error("a branch that has all of its base was rebased")
	}
	commit := func() *github.Commit {
		return must[*github.Commit](t)(h.Git.GetCommit(ctx, "octo", "infra", h.head(t, "topic")))
	}
	before := commit()
	h.push(t, "main", "theirs", "1\n")
	if err := h.UpdateBranch(octoInfra, 1, "monalisa"); err != nil {
		t.Fatal(err)
	}
	base := h.push(t, "main", "theirs", "2\n")
	if err := h.RebaseBranch(octoInfra, 1, "hubot"); err != nil {
		t.Fatal(err)
	}
	after := commit()
	if len(after.Parents) != 1 || after.Parents[0].GetSHA() != base || after.GetMessage() != before.GetMessage() ||
		after.Author.GetName() != before.Author.GetName() || after.GetTree().GetSHA() == before.GetTree().GetSHA() {
		t.Errorf("the head is %v, want %v on the base, without merges", after, before)
	}
	h.push(t, "main", "ours", "clash\n")
	if err := h.RebaseBranch(octoInfra, 1, "monalisa"); err == nil {
		t.Error("a conflict was rebased")
	}
}

// An accepted update does not happen if somebody else moves the branch first.
func TestGitHubUpdatesLater(t *testing.T) {
	t.Parallel()
	h := protectedHub(t, Protection{Strict: true})
	h.push(t, "main", "theirs", "1\n")
	_, _, err := h.PullRequests.UpdateBranch(context.Background(), "octo", "infra", 1, nil)
	if _, accepted := err.(*github.AcceptedError); !accepted {
		t.Fatal(err)
	}
	theirs := h.push(t, "topic", "more", "1\n")
	if got := h.head(t, "topic"); got != theirs {
		t.Errorf("the branch is at %s, want the commit that came first, %s", got, theirs)
	}
}

func TestGitHubDismissesApprovals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		act   func(h *hub) error
		stays bool
	}{
		{"update_of_the_branch", func(h *hub) error { return h.UpdateBranch(octoInfra, 1, "monalisa") }, true},
		{"another_change", func(h *hub) error {
			_, err := h.Push(octoInfra, Push{Branch: "topic", Files: map[string]File{"ours": {Mode: ModeFile, Content: []byte("2\n")}}})
			return err
		}, false},
		{"the_same_anew", func(h *hub) error {
			_, err := h.Push(octoInfra, Push{Branch: "topic", Amend: true, Message: "The same"})
			return err
		}, false},
		{"another_base", func(h *hub) error {
			if err := h.Protect(octoInfra, "next", &Protection{DismissStale: true}); err != nil {
				return err
			}
			if _, err := h.Push(octoInfra, Push{Branch: "next", Files: map[string]File{"r": {Mode: ModeFile}}}); err != nil {
				return err
			}
			return h.Retarget(octoInfra, 1, "next")
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := protectedHub(t, Protection{Reviews: 1, DismissStale: true})
			if err := h.Approve(octoInfra, 1, "hubot"); err != nil {
				t.Fatal(err)
			}
			h.push(t, "main", "theirs", "1\n")
			if err := tt.act(h); err != nil {
				t.Fatal(err)
			}
			if got := len(h.view(t).ApprovedBy) == 1; got != tt.stays {
				t.Errorf("approved by %v, want that it stays: %v", h.view(t).ApprovedBy, tt.stays)
			}
		})
	}
}

func TestGitHubQueues(t *testing.T) {
	t.Parallel()
	h := protectedHub(t, Protection{Strict: true, Checks: true, Queue: true})
	if err := h.Enqueue(octoInfra, 1, "monalisa"); err == nil {
		t.Error("a pull request was queued whose checks have not passed")
	}
	if err := h.PassChecks(octoInfra, 1); err != nil {
		t.Fatal(err)
	}
	h.push(t, "main", "theirs", "1\n") // with a queue, no branch has to be up to date
	if err := h.Enqueue(octoInfra, 1, "monalisa"); err != nil {
		t.Fatal(err)
	}
	queued := func() (said bool, refs []string) {
		answer := h.query(t, `{ repository(owner: "octo", name: "infra") { pullRequest(number: 1) { isInMergeQueue } } }`, nil)
		said = answer.Data["repository"].(map[string]any)["pullRequest"].(map[string]any)["isInMergeQueue"].(bool)
		found := must[[]*github.Reference](t)(h.Git.ListMatchingRefs(context.Background(), "octo", "infra", &github.ReferenceListOptions{Ref: "heads/gh-readonly-queue/main/pr-1-"}))
		for _, ref := range found {
			refs = append(refs, ref.GetRef())
		}
		return said, refs
	}
	if said, refs := queued(); !said || len(refs) != 1 {
		t.Errorf("queued: %v, %q; want it, with a ref", said, refs)
	}
	if _, err := h.Merge(octoInfra, 1, "monalisa"); err == nil {
		t.Error("a person has merged past the queue")
	}
	h.push(t, "topic", "more", "1\n")
	if said, refs := queued(); said || len(refs) > 0 || h.view(t).Ejections != 1 {
		t.Errorf("after a push: %v, %q, %d; want it out of the queue", said, refs, h.view(t).Ejections)
	}
	for _, err := range []error{h.PassChecks(octoInfra, 1), h.Enqueue(octoInfra, 1, "monalisa"), h.MergeQueued(octoInfra, 1)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, refs := queued(); !h.view(t).Merged || len(refs) > 0 {
		t.Errorf("%+v, %q; want it merged, and no ref", h.view(t), refs)
	}
}

func TestGitHubTellsRules(t *testing.T) {
	t.Parallel()
	for _, ruleset := range []bool{true, false} {
		h := protectedHub(t, Protection{Strict: true, Ruleset: ruleset})
		resp, body := h.send(t, "GET", "/repos/octo/infra/rules/branches/main", "")
		if told := strings.Contains(body, "strict_required_status_checks_policy\":true"); resp.StatusCode != 200 || told != ruleset {
			t.Errorf("rules, in a ruleset: %v: %d %s", ruleset, resp.StatusCode, body)
		}
	}
}

// GitHub keeps its promise to merge as soon as nothing blocks the merge.
func TestGitHubMergesByItself(t *testing.T) {
	t.Parallel()
	h := protectedHub(t, Protection{Strict: true, Reviews: 1})
	if err := h.Configure(octoInfra, func(s *Settings) { s.AutoMerge, s.TooSoon = true, 1 }); err != nil {
		t.Fatal(err)
	}
	enable := func() []string {
		return h.query(t, `mutation($id: ID!) { enablePullRequestAutoMerge(input: {pullRequestId: $id, mergeMethod: SQUASH}) { clientMutationId } }`,
			map[string]any{"id": h.pullRequest(t, 1).GetNodeID()}).messages()
	}
	if got := enable(); !slices.Equal(got, []string{"UNPROCESSABLE Pull request Pull request is in unstable status"}) {
		t.Errorf("just after the opening: %q", got)
	}
	if got := enable(); len(got) > 0 {
		t.Fatalf("later: %q", got)
	}
	if err := h.Approve(octoInfra, 1, "monalisa"); err != nil {
		t.Fatal(err)
	}
	p := h.view(t)
	if !p.Merged || h.head(t, "topic") != p.HeadSHA {
		t.Errorf("pull request = %+v, want it merged", p)
	}
	log, err := h.Commits(octoInfra, "main")
	if err != nil || len(log[0].Parents) != 1 || log[0].Message != "Change topic (#1)" {
		t.Errorf("the base is at %+v, %v; want a commit of its own", log[0], err)
	}
}
