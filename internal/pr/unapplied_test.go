package pr_test

import (
	"testing"

	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/sandbox"
)

// What the token may not do is said by the run that opens the pull request, and by no other.
func TestWhatTheTokenMightNotDoIsSaidOnce(t *testing.T) {
	for _, status := range []string{"401", "403"} {
		t.Run(status, func(t *testing.T) {
			s := courteous(t)
			s.repo = s.as(sandbox.UserToken, nil)
			p := presented(newLock)
			p.Reviewers = []string{"octo"}
			const below = "/github/api/v3/repos/octo/infra/"
			s.fault("* " + below + "issues/1... " + status)
			s.fault("POST " + below + "pulls/1/requested_reviewers " + status)
			o := s.one(p)
			s.want(o, pr.Created, 1)
			if len(o.Warnings) != 4 {
				t.Errorf("warnings = %v, want one each for labels, reviewers, assignees and milestone", o.Warnings)
			}
			s.sandbox.Mend()
			o = s.one(p)
			s.want(o, pr.None, 1)
			s.wantNoWrites()
			if len(o.Warnings) > 0 {
				t.Errorf("warnings = %v of a second run, want none", o.Warnings)
			}
		})
	}
}

// A run that has lost the answer to the end of auto-merge remembers that it was relock who
// ended it.
func TestAutoMergeWhoseEndWasNotAnsweredComesBack(t *testing.T) {
	s, p := merging(t, 0)
	s.want(s.one(p), pr.Created, 1)
	s.wantAutoMerge("squash")
	next := proposal(nextLock)
	next.AutoMerge, next.NoAutoMerge = "squash", true
	s.fault("POST /github/api/graphql asking=disablePullRequestAutoMerge done 502 times=1")
	s.want(s.one(next), pr.Updated, 1)
	s.wantAutoMerge("")
	next.NoAutoMerge, next.Facts = false, "all is well" // by now
	s.want(s.one(next), pr.Updated, 1)
	s.wantAutoMerge("squash")
}

// A comparison that does not know the newest commit of a branch yet makes nobody's commits of
// ours.
func TestAnOlderComparisonAccusesNobody(t *testing.T) {
	s := behind(t, nil)
	p := proposal(newLock)
	s.must(s.hub.UpdateBranch(repoName, 1, "monalisa"))
	s.fault("GET /github/api/v3/repos/octo/infra/compare/... 404 times=1")
	s.want(s.one(p), pr.None, 1)
	s.wantNoWrites()
	if comments := s.pull(1).Comments; len(comments) > 0 {
		t.Errorf("comments = %+v", comments)
	}
}

// A branch that a command could not delete is deleted by the next run.
func TestABranchThatCouldNotBeDeletedGoesLater(t *testing.T) {
	for name, fault := range map[string]string{"refused": "403", "lost": "drop"} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			p := proposal(newLock)
			s.want(s.one(p), pr.Created, 1)
			found, err := s.repo.PullRequest(t.Context(), 1)
			s.must(err)
			owned, _, err := pr.Find(t.Context(), s.repo, found, "")
			s.must(err)
			s.fault("POST /github/api/graphql asking=updateRefs " + fault)
			if _, err := pr.Close(t.Context(), s.repo, owned); err == nil {
				t.Error("Close says nothing of the branch")
			}
			s.sandbox.Mend()
			if s.head(p.Branch) == "" {
				t.Fatal("the branch is gone")
			}
			s.one(p)
			refs, err := s.hub.Refs(repoName)
			s.must(err)
			if _, there := refs["refs/heads/"+p.Branch]; there || s.pull(1).State != "closed" {
				t.Errorf("the branch is there: %t; the pull request is %s", there, s.pull(1).State)
			}
		})
	}
}
