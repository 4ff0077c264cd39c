package pr_test

import (
	"context"
	"testing"

	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/sandbox"
)

// look is what a run finds out before it plans.
func (s *scene) look() pr.Survey {
	s.Helper()
	found, err := pr.Look(context.Background(), s.repo, "main", "", "all")
	s.must(err)
	return found
}

func TestLookingFirstCostsNothingWhereNothingIsToBeDone(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	s.sandbox.ResetRequests()
	survey := s.look()
	s.wantRequests(1)
	o := s.only(s.proposeWith(pr.Options{Survey: survey}, proposal(newLock)))
	s.want(o, pr.None, 1)
	s.wantNoWrites()
	s.wantRequests(2)
}

// What has changed since somebody looked counts as soon as anything is done.
func TestWhatWasSeenIsReadAgainBeforeItIsActedOn(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	survey := s.look()
	s.must(s.hub.Retarget(repoName, 1, "release"))
	o := s.only(s.proposeWith(pr.Options{Survey: survey}, proposal(nextLock)))
	s.want(o, pr.None, 1)
	s.wantNoWrites()
}

func TestLookAsksOneByOneWhereGraphQLFails(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	ignored := pr.Ignore{Provider: "hashicorp/aws", By: "monalisa", When: "2026-01-05"}
	s.must(pr.SetIgnores(context.Background(), s.repo, s.owned(1), []pr.Ignore{ignored}))
	fault, err := sandbox.ParseFault("POST /github/api/graphql 502")
	s.must(err)
	s.sandbox.Inject(fault)
	if got := s.look().Ignores["all"]; len(got) != 1 || got[0] != ignored {
		t.Errorf("Look finds %v, want %v", got, ignored)
	}
}
