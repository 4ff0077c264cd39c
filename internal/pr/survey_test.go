package pr_test

import (
	"context"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/sandbox"
)

// look is what a run finds out before it plans.
func (s *scene) look() pr.Survey {
	s.Helper()
	return s.lookAt("main")
}

func (s *scene) lookAt(base string) pr.Survey {
	s.Helper()
	found, err := pr.Look(context.Background(), s.repo, base, "", "all")
	s.must(err)
	return found
}

func TestLookingFirstCostsNothingWhereNothingIsToBeDone(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	s.sandbox.ResetRequests()
	survey := s.look()
	s.wantRequests(2)
	o := s.only(s.proposeWith(pr.Options{Survey: survey}, proposal(newLock)))
	s.want(o, pr.None, 1)
	s.wantNoWrites()
	s.wantRequests(1)
}

// Where nothing is there and nothing wanted, the two questions are all.
func TestNothingWantedAfterLookingIsNoRequest(t *testing.T) {
	s := newScene(t)
	survey := s.look()
	if got := s.proposeWith(pr.Options{Survey: survey}); len(got) > 0 {
		t.Errorf("Propose() = %+v, want nothing", got)
	}
	s.wantRequests(0)
}

// Between looking and acting a run plans, and people push: what they pushed to is
// neither edited nor closed for what it was.
func TestWhatWasPushedSinceSomebodyLookedIsSeen(t *testing.T) {
	other := proposal(newLock)
	other.Facts = "others"
	for name, wanted := range map[string][]pr.Proposal{"other_facts": {other}, "something_else": {proposal(nextLock)}, "nothing": nil} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			branch := s.one(proposal(newLock)).Branch
			survey, body := s.look(), s.pull(1).Title
			theirs := s.pushTo(branch, "note.txt", "mine\n")
			o := s.only(s.proposeWith(pr.Options{Survey: survey}, wanted...))
			s.want(o, pr.None, 1)
			if p := s.pull(1); p.State != "open" || p.Title != body || s.head(branch) != theirs || !strings.Contains(o.Reason, "somebody else pushed") {
				t.Errorf("outcome = %+v, pull request = %+v; want the branch left alone", o, p)
			}
		})
	}
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
	ignored := policy.Ignore{Provider: "hashicorp/aws", By: "monalisa", When: "2026-01-05"}
	s.must(pr.SetIgnores(context.Background(), s.repo, s.owned(1), []policy.Ignore{ignored}))
	fault, err := sandbox.ParseFault("POST /github/api/graphql 502")
	s.must(err)
	s.sandbox.Inject(fault)
	if got := s.look().Ignores["all"]; len(got) != 1 || got[0] != ignored {
		t.Errorf("Look finds %v, want %v", got, ignored)
	}
}

// A person who asks for a branch to be rebuilt has looked at one commit of it:
// what was pushed since must not be discarded unseen.
func TestProposeLeavesABranchThatMovedSinceItWasLookedAt(t *testing.T) {
	s := newScene(t)
	seen := s.one(proposal(newLock))
	s.pushTo(seen.Branch, "note.txt", "mine\n")
	before := s.head(seen.Branch)
	s.sandbox.ResetRequests()
	got := s.only(s.proposeWith(pr.Options{Only: seen.Branch, Head: seen.HeadSHA, Recreate: true}, proposal(nextLock)))
	if got.Operation != pr.None || got.Reason == "" {
		t.Errorf("Propose() = %+v, want nothing done, and a reason", got)
	}
	s.wantNoWrites()
	if after := s.head(seen.Branch); after != before {
		t.Errorf("the branch is at %s, want %s", after, before)
	}
	o := s.only(s.proposeWith(pr.Options{Only: seen.Branch, Head: before, Recreate: true}, proposal(nextLock)))
	s.want(o, pr.Updated, 1)
}
