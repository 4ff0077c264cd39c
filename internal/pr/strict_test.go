package pr_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/sandbox"
)

// A repository that was moved is found by its old name, for questions (301) and for
// what writes (307).
func TestAMovedRepositoryIsFollowed(t *testing.T) {
	s := newScene(t)
	s.want(s.one(proposal(newLock)), pr.Created, 1)
	s.must(s.hub.Move(repoName, "octo/platform"))
	survey, err := pr.Look(context.Background(), s.repo, "main", "", "all")
	s.must(err)
	main, err := s.repo.Head(context.Background(), "main")
	s.must(err)
	p := proposal(nextLock)
	p.Labels = []string{"dependencies"}
	o := s.only(s.proposeWith(pr.Options{SHA: main, Survey: survey}, p))
	s.want(o, pr.Updated, 1)
	pulls, err := s.hub.Pulls("octo/platform")
	s.must(err)
	if len(pulls) != 1 || pulls[0].Title != p.Title || pulls[0].HeadSHA != o.HeadSHA {
		t.Errorf("pull requests = %+v, want the one, updated", pulls)
	}
	s.want(s.only(s.proposeWith(pr.Options{SHA: main}, p, proposalFor("other", newLock))[:1]), pr.None, 1)
}

// Nothing can be written where a repository is archived: said with the way out, and
// only if something was to be written.
func TestAnArchivedRepositoryIsTold(t *testing.T) {
	for name, graphQL := range map[string]bool{"creating": false, "updating": true} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			if graphQL {
				s.want(s.one(proposal(newLock)), pr.Created, 1)
			}
			s.must(s.hub.Configure(repoName, func(settings *sandbox.Settings) { settings.Archived = true }))
			o := s.propose(proposal(nextLock))[0]
			if e := problem.Of(o.Err); o.Operation != pr.None || o.Err == nil || !strings.Contains(e.Hint, "unarchive the repository") {
				t.Errorf("outcome = %+v, hint %q; want that it is archived, and what to do", o, e.Hint)
			}
			if graphQL {
				s.want(s.one(proposal(newLock)), pr.None, 1)
			}
		})
	}
}

// ruled is a scene with a pull request of ours, whose branch is then under a rule.
func ruled(t *testing.T, rule sandbox.BranchRule) *scene {
	t.Helper()
	s := newScene(t)
	s.want(s.one(proposal(newLock)), pr.Created, 1)
	rule.Branches = "relock/**"
	s.must(s.hub.Configure(repoName, func(settings *sandbox.Settings) { settings.Rules = []sandbox.BranchRule{rule} }))
	return s
}

func (s *scene) wantRule(o pr.Outcome, rule, hint string) {
	s.Helper()
	if o.Err == nil || !strings.Contains(o.Err.Error(), rule) || !strings.Contains(problem.Of(o.Err).Hint, hint) {
		s.Errorf("outcome = %+v, hint %q; want the rule %q and what to do", o, problem.Of(o.Err).Hint, rule)
	}
}

func TestARulesetThatForbidsCreationIsTold(t *testing.T) {
	s := ruled(t, sandbox.BranchRule{NoCreation: true})
	outcomes := s.propose(proposal(nextLock), proposalFor("other", newLock))
	s.want(outcomes[0], pr.Updated, 1) // its branch is there
	s.wantRule(outcomes[1], "creations being restricted", "pull-request.branch-prefix")
}

// A branch that may not be forced goes forward.
func TestARulesetThatForbidsForce(t *testing.T) {
	s := ruled(t, sandbox.BranchRule{NoForce: true})
	for _, content := range []string{nextLock, newLock} {
		p := proposal(content)
		before := s.head(p.Branch)
		s.want(s.one(p), pr.Updated, 1)
		if c := s.commits(p.Branch)[0]; !slices.Equal(c.Parents, []string{before, s.head("main")}) {
			t.Errorf("parents = %q, want the old head and the base", c.Parents)
		}
		s.want(s.one(p), pr.None, 1)
		s.wantNoWrites()
	}
}

// A branch that may not be deleted stays, and the next proposal takes it again.
func TestARulesetThatForbidsDeletion(t *testing.T) {
	s := ruled(t, sandbox.BranchRule{NoDeletion: true})
	o := s.one()
	s.want(o, pr.Closed, 1)
	if s.head(o.Branch) == "" || !strings.Contains(o.Reason, "its branch stays") {
		t.Errorf("outcome = %+v, want that the branch stays", o)
	}
	s.want(s.one(), pr.None, 0)
	s.want(s.one(proposal(nextLock)), pr.Created, 2)
}

// GitHub signs our commits, and not those that a personal token makes, nor those that
// the base has unsigned.
func TestARulesetThatDemandsSignatures(t *testing.T) {
	s := ruled(t, sandbox.BranchRule{Signed: true})
	s.want(s.one(proposal(nextLock)), pr.Updated, 1)
	s.pushTo("main", "README.md", "Unsigned.\n")
	s.wantRule(s.propose(proposal(newLock))[0], "verified signatures", "a GitHub App, whose commits GitHub signs")

	s.repo = s.as(sandbox.UserToken, nil)
	s.wantRule(s.propose(proposalFor("other", newLock))[0], "verified signatures", "a GitHub App, whose commits GitHub signs")
}

// GitHub asks for a pause before more content is made; the run takes it.
func TestALimitOfContentIsWaitedFor(t *testing.T) {
	for _, path := range []string{"pulls", "issues/1/labels", "git/refs"} {
		t.Run(strings.ReplaceAll(path, "/", "_"), func(t *testing.T) {
			s := newScene(t)
			s.fault("POST /github/api/v3/repos/octo/infra/" + path + " creation times=1")
			o := s.one(proposal(newLock))
			s.want(o, pr.Created, 1)
			if p := s.pull(1); s.waited == 0 || len(p.Labels) != 2 || len(o.Warnings) > 0 || len(s.pulls()) != 1 {
				t.Errorf("waited %s, warnings %v, %+v; want one pull request with its labels", s.waited, o.Warnings, s.pulls())
			}
		})
	}
}

// What moves between reading and asking for an update is not merged into.
func TestAnUpdateLosesTheRaceAgainstAPush(t *testing.T) {
	s := behind(t, &sandbox.Protection{Strict: true})
	p := proposal(newLock)
	var theirs string
	s.before("PUT", "/update-branch", func() { theirs = s.pushTo(p.Branch, "main.tf", "# mine\n") })
	s.want(s.one(p), pr.None, 1)
	if got := s.head(p.Branch); got != theirs || theirs == "" {
		t.Errorf("the branch is at %s, want the commit that came first, %s", got, theirs)
	}
}
