package pr_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/pr"
)

// stack opens somebody's pull request that has a branch of ours as its base, and
// returns its number.
func (s *scene) stack(branch string) int {
	s.Helper()
	s.pushTo("feature", "feature.tf", "# mine\n")
	return s.opens("feature", branch)
}

// backport opens somebody's pull request that has a branch of ours as its head.
func (s *scene) backport(branch string) int {
	s.Helper()
	return s.opens(branch, "release")
}

func (s *scene) opens(head, base string) int {
	s.Helper()
	number, err := s.hub.Open(repoName, head, base, "Mine", "monalisa")
	s.must(err)
	return number
}

// dependentsOf are the ways in which a pull request needs a branch of ours.
var dependentsOf = map[string]func(*scene, string) int{"stacked": (*scene).stack, "backport": (*scene).backport}

// endingsOf are the ways in which pull request 1, which is ours, ends. Where nothing is
// left to do a run closes it.
var endingsOf = map[string]func(*scene, pr.Proposal){
	"nothing_left": func(*scene, pr.Proposal) {},
	"merged":       func(s *scene, _ pr.Proposal) { s.merge(1) },
	"closed_by_a_person": func(s *scene, _ pr.Proposal) {
		s.must(s.hub.Close(repoName, 1, "monalisa"))
	},
}

// GitHub closes a pull request whose head or base is deleted.
func TestBranchesThatOtherPullRequestsNeedStay(t *testing.T) {
	for ending, end := range endingsOf {
		for kind, depend := range dependentsOf {
			t.Run(ending+"/"+kind, func(t *testing.T) {
				s := newScene(t)
				p := proposal(newLock)
				s.want(s.one(p), pr.Created, 1)
				number := depend(s, p.Branch)
				end(s, p)
				head := s.head(p.Branch)

				first := s.one()
				if !strings.Contains(first.Reason, "#2") {
					t.Errorf("reason = %q, want the pull request that needs the branch", first.Reason)
				}
				comments := len(s.pull(1).Comments)
				if ending == "nothing_left" && (comments != 1 || !strings.Contains(s.pull(1).Comments[0].Body, "#2")) {
					t.Errorf("comments = %+v, want one that says why the branch stays", s.pull(1).Comments)
				}
				s.one()
				s.wantNoWrites()
				if got := s.pull(number); got.State != "open" {
					t.Errorf("somebody's pull request is %s", got.State)
				}
				if s.pull(1).State != "closed" && ending != "merged" {
					t.Errorf("ours is %s, want it closed as decided", s.pull(1).State)
				}
				if s.head(p.Branch) != head || len(s.pull(1).Comments) != comments {
					t.Errorf("branch at %q, %d comments; want it at %q and %d", s.head(p.Branch), len(s.pull(1).Comments), head, comments)
				}

				s.must(s.hub.Close(repoName, number, "monalisa"))
				s.one()
				if s.head(p.Branch) != "" {
					t.Error("the branch is still there, and nobody needs it")
				}
			})
		}
	}
}

// What comes next for the group waits: a push would change somebody's pull request.
func TestNothingIsPushedToABranchThatOthersNeed(t *testing.T) {
	for ending, end := range endingsOf {
		for kind, depend := range dependentsOf {
			t.Run(ending+"/"+kind, func(t *testing.T) {
				s := newScene(t)
				p, next := proposal(newLock), proposal(nextLock)
				s.want(s.one(p), pr.Created, 1)
				number := depend(s, p.Branch)
				if end(s, p); ending == "nothing_left" {
					s.one()
				}
				head := s.head(p.Branch)
				o := s.one(next)
				s.wantNoWrites()
				if o.Operation != pr.None || !strings.Contains(o.Reason, "#2") || s.head(p.Branch) != head {
					t.Errorf("outcome = %+v, want that it waits for #2", o)
				}
				s.must(s.hub.Close(repoName, number, "monalisa"))
				s.want(s.one(next), pr.Created, 3)
			})
		}
	}
}

// An open pull request of ours goes on: its branch is what the others build on.
func TestOpenPullRequestsOfOursAreUpdatedBelowOthers(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	number := s.stack(p.Branch)
	s.want(s.one(proposal(nextLock)), pr.Updated, 1)
	if got := s.pull(number).State; got != "open" {
		t.Errorf("somebody's pull request is %s", got)
	}
}

// A backport is newer than ours, and is not what people ignore something in.
func TestABackportHidesNoIgnores(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	ignore := policy.Ignore{Provider: "hashicorp/aws", By: "monalisa", When: "2026-01-02"}
	s.must(pr.SetIgnores(context.Background(), s.repo, s.owned(1), []policy.Ignore{ignore}))
	s.backport(p.Branch)
	if got := s.look().Ignores["all"]; len(got) != 1 {
		t.Errorf("ignores = %+v, want the one of our pull request", got)
	}
}

// Whether others need the branch must be known.
func TestNoBranchIsDeletedUnasked(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	s.stack(p.Branch)
	s.merge(1)
	s.fault("POST /github/api/graphql 502")
	for _, o := range s.propose() {
		if o.Err == nil {
			t.Errorf("outcome = %+v, want the error", o)
		}
	}
	if s.head(p.Branch) == "" {
		t.Error("the branch is gone")
	}
}

// A forked repository may have a branch of the same name.
func TestForksDoNotKeepABranch(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	s.must(s.hub.Fork(repoName, "stranger"))
	s.opens("stranger:"+p.Branch, "release")
	s.merge(1)
	s.one()
	if s.head(p.Branch) != "" {
		t.Error("the branch is still there")
	}
}

func TestCloseOnCommandKeepsABranchThatOthersNeed(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	number := s.stack(p.Branch)
	kept, err := pr.Close(context.Background(), s.repo, s.owned(1))
	s.must(err)
	if !strings.Contains(kept.Plain(), fmt.Sprintf("open pull request #%d needs the branch", number)) || s.pull(1).State != "closed" || s.pull(number).State != "open" {
		t.Errorf("Close() = %q; ours is %s, theirs %s", kept, s.pull(1).State, s.pull(number).State)
	}
	s.one(p) // turned down
	s.wantNoWrites()
	s.must(s.hub.Close(repoName, number, "monalisa"))
	s.want(s.one(p), pr.None, 0)
	if s.head(p.Branch) != "" {
		t.Error("the branch is still there, and nobody needs it")
	}
}

// Where nothing is deleted nobody is asked.
func TestTheQuestionComesBeforeADeletionAlone(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	s.one(p)
	for _, r := range s.sandbox.Requests() {
		if r.Method == http.MethodPost {
			t.Errorf("asked %s, and there is nothing to do", r)
		}
	}
}
