package sandbox

import (
	"context"
	"testing"

	"github.com/google/go-github/v60/github"
)

func TestGitHubMergesBranches(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	theirs := h.push(t, "topic", "one", "1\n")
	ours := h.push(t, "other", "two", "2\n")
	h.push(t, "clashing", "one", "another\n")
	merge := func(base, head string) (*github.RepositoryCommit, *github.Response, error) {
		return h.Repositories.Merge(ctx, "octo", "infra", &github.RepositoryMergeRequest{Base: &base, Head: &head, CommitMessage: github.String("why")})
	}
	c, resp, err := merge("other", theirs) // by its id, as well as by its branch
	if err != nil || resp.StatusCode != 201 || c.GetCommit().GetMessage() != "why" || len(c.Parents) != 2 || c.Parents[0].GetSHA() != ours || c.Parents[1].GetSHA() != theirs {
		t.Fatalf("merging answers %v, %v", c, err)
	}
	if h.head(t, "other") != c.GetSHA() {
		t.Error("the branch is not at the merge")
	}
	if c, resp, err := merge("other", "topic"); err != nil || resp.StatusCode != 204 || c.GetSHA() != "" {
		t.Errorf("merging again answers %v, %v; want 204 and nothing", c, err)
	}
	_, _, err = merge("clashing", "topic")
	wantRefusal(t, err, 409, "Merge conflict")
	_, _, err = merge("nothing", "topic")
	wantRefusal(t, err, 404, "Base does not exist")
	_, _, err = merge("topic", "nothing")
	wantRefusal(t, err, 404, "Head does not exist")
}

// The test merge of a pull request lags behind a base that moves, stays where both sides
// conflict, and is not there if GitHub has not made one.
func TestGitHubTestsMerges(t *testing.T) {
	t.Parallel()
	h, ctx := startHub(t), context.Background()
	head := h.push(t, "topic", "one", "1\n")
	base := h.head(t, "main")
	h.open(t, "topic", "main")
	tested := func() string {
		t.Helper()
		return h.pullRequest(t, 1).GetMergeCommitSHA()
	}
	want := func(when, sha, base, head string) {
		t.Helper()
		merge := must[*github.Commit](t)(h.Git.GetCommit(ctx, "octo", "infra", sha))
		if len(merge.Parents) != 2 || merge.Parents[0].GetSHA() != base || merge.Parents[1].GetSHA() != head {
			t.Errorf("%s the test merge has the parents %v, want %s and %s", when, merge.Parents, base, head)
		}
	}
	want("at first", tested(), base, head)
	moved := h.push(t, "main", "two", "2\n")
	want("while the base moves", tested(), base, head)
	want("after that", tested(), moved, head)
	h.push(t, "main", "one", "another\n")
	tested()
	want("in a conflict", tested(), moved, head)

	if err := h.Configure(octoInfra, func(s *Settings) { s.MergeStates = neverComputed }); err != nil {
		t.Fatal(err)
	}
	h.push(t, "late", "three", "3\n")
	h.open(t, "late", "main")
	if sha := h.pullRequest(t, 2).GetMergeCommitSHA(); sha != "" {
		t.Errorf("the test merge that GitHub has not made is %s", sha)
	}
}
