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
