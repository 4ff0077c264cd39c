package pr_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/sandbox"
)

// proposeTo is a run over a base: it looks, and proposes the content for it.
func (s *scene) proposeTo(base, content string, bases ...string) []pr.Outcome {
	s.Helper()
	opts := pr.Options{Base: base, Bases: bases, Survey: s.lookAt(base)}
	if content == "" {
		return s.proposeWith(opts)
	}
	p := pr.New("all", base, "", proposal(content).Files)
	p.Title, p.Subject, p.Body = "Bump", "Bump", safe.Const("What changes.")
	return s.proposeWith(opts, p)
}

// wantReplaced makes sure that #1 has made room for #2, and says so.
func (s *scene) wantReplaced(got []pr.Outcome) {
	s.Helper()
	if len(got) != 2 {
		s.Fatalf("outcomes = %+v, want one pull request opened and one closed", got)
	}
	s.want(got[0], pr.Created, 2)
	s.want(got[1], pr.Closed, 1)
	old := s.pull(1)
	if len(old.Comments) != 1 || !strings.Contains(old.Comments[0].Body, "gone or has another name now") || !strings.Contains(old.Comments[0].Body, "#2 ") || s.head(old.Head) != "" {
		s.Errorf("pull request = %+v, want it closed with a link and without a branch", old)
	}
}

func TestARenamedBaseGetsPullRequestsAnew(t *testing.T) {
	s := newScene(t)
	s.want(s.only(s.proposeTo("main", newLock, "main")), pr.Created, 1)
	s.must(pr.SetIgnores(context.Background(), s.repo, s.owned(1), []policy.Ignore{{Provider: "hashicorp/aws", What: "major", By: "monalisa", When: "2026-01-05"}}))
	s.must(s.hub.RenameBranch(repoName, "main", "trunk"))
	// A command in its comments is about the base that it was opened for.
	if o := s.owned(1); o.Base != "main" || o.Touched {
		t.Errorf("owned = %+v, want it for main", o)
	}
	s.wantReplaced(s.proposeTo("trunk", newLock)) // where no base is configured
	wrote := s.wrote()
	opened, closed := slices.Index(wrote, "POST /github/api/v3/repos/octo/infra/pulls"), slices.Index(wrote, "PATCH /github/api/v3/repos/octo/infra/pulls/1")
	if opened < 0 || closed < opened {
		t.Errorf("requests that write: %q, want the new pull request first", wrote)
	}
	if ignores := s.lookAt("trunk").Ignores["all"]; len(ignores) > 0 {
		t.Errorf("ignores = %+v, want those of the old pull request left there", ignores)
	}
	s.want(s.only(s.proposeTo("trunk", newLock, "trunk")), pr.None, 2)
	s.wantNoWrites()
	s.want(s.only(s.proposeTo("trunk", nextLock, "trunk")), pr.Updated, 2)
}

// The one that is closed makes room for the one in its place.
func TestARenamedBaseAtTheLimit(t *testing.T) {
	s := newScene(t)
	s.want(s.only(s.proposeTo("main", newLock, "main")), pr.Created, 1)
	s.must(s.hub.RenameBranch(repoName, "main", "trunk"))
	p := pr.New("all", "trunk", "", proposal(newLock).Files)
	p.Title, p.Subject, p.Body = "Bump", "Bump", safe.Const("What changes.")
	s.wantReplaced(s.proposeWith(pr.Options{Base: "trunk", Bases: []string{"trunk"}, Limit: 1}, p))
}

// A run that did not see everything leaves it, and a run that did closes it.
func TestARenamedBaseInARunThatDidNotSeeEverything(t *testing.T) {
	s := newScene(t)
	s.want(s.only(s.proposeTo("main", newLock, "main")), pr.Created, 1)
	s.must(s.hub.RenameBranch(repoName, "main", "trunk"))
	opts := pr.Options{Base: "trunk", Bases: []string{"trunk"}, Spare: func(string, []pr.File) bool { return true }}
	s.want(s.only(s.proposeWith(opts)), pr.None, 1)
	s.wantNoWrites()
	s.wantReplaced(s.proposeTo("trunk", newLock, "trunk"))
}

// Each of two renamed bases has a pull request of its own, which its own run replaces.
func TestTwoRenamedBasesAreToldApart(t *testing.T) {
	s := newScene(t)
	s.want(s.only(s.proposeTo("release", newLock, "main", "release")), pr.Created, 1)
	for old, now := range map[string]string{"main": "trunk", "release": "stable"} {
		s.must(s.hub.RenameBranch(repoName, old, now))
	}
	if got := s.proposeTo("trunk", "", "trunk", "stable"); len(got) > 0 || s.pull(1).State != "open" {
		t.Errorf("outcomes = %+v, want #1 left to the run over stable", got)
	}
	s.wantReplaced(s.proposeTo("stable", newLock, "trunk", "stable"))
}

// Somebody's commits stay where they are.
func TestARenamedBaseLosesNobodysCommits(t *testing.T) {
	s := newScene(t)
	s.want(s.only(s.proposeTo("main", newLock, "main")), pr.Created, 1)
	theirs := s.pushTo(s.pull(1).Head, "main.tf", "# mine\n")
	s.must(s.hub.RenameBranch(repoName, "main", "trunk"))
	got := s.proposeTo("trunk", newLock, "trunk")
	if len(got) != 2 || got[1].Reason != "somebody else pushed to the branch" || s.pull(1).State != "open" || s.head(s.pull(1).Head) != theirs {
		t.Errorf("outcomes = %+v, want #1 left alone", got)
	}
}

// Where the old base is there, a person has changed the base of the pull request.
func TestARetargetedPullRequestIsAPersons(t *testing.T) {
	s := newScene(t)
	s.want(s.only(s.proposeTo("main", newLock, "main")), pr.Created, 1)
	s.push(sandbox.Push{Branch: "trunk", Files: map[string]sandbox.File{"x": {Mode: sandbox.ModeFile}}})
	s.must(s.hub.Retarget(repoName, 1, "trunk"))
	s.want(s.only(s.proposeTo("trunk", newLock, "main", "trunk")), pr.Created, 2)
	s.want(s.only(s.proposeTo("trunk", newLock)), pr.None, 2) // nor where no base is configured
	if p := s.pull(1); p.State != "open" || len(p.Comments) > 0 {
		t.Errorf("pull request = %+v, want it left alone", p)
	}
}

func TestADeletedBaseIsTold(t *testing.T) {
	s := newScene(t)
	p := pr.New("all", "release", "", []pr.File{{Path: "prod/.terraform.lock.hcl", Content: []byte(newLock)}})
	p.Title, p.Subject, p.Body = "Bump", "Bump", safe.Const("What changes.")
	s.want(s.only(s.proposeWith(pr.Options{Base: "release", Bases: []string{"main", "release"}}, p)), pr.Created, 1)
	s.must(s.hub.DeleteBranch(repoName, "release"))
	for _, o := range s.proposeWith(pr.Options{Base: "main", Bases: []string{"main"}}) {
		if o.Err != nil || o.Reason != "its base is gone, or has another name now" {
			t.Errorf("outcome = %+v, want that its base is gone", o)
		}
	}
	got := s.pull(1)
	m, _ := pr.ParseMarker(got.Body)
	if len(got.Comments) != 1 || !strings.Contains(got.Comments[0].Body, "The branch `release` is gone") || m.Closed == "" || s.head(p.Branch) != "" {
		t.Errorf("pull request = %+v, marker %+v; want a sentence, a reason and no branch", got, m)
	}
}

// Where the branch cannot be deleted, an older pull request of it stays as a person left it.
func TestARenamedBaseLeavesOlderPullRequests(t *testing.T) {
	s := newScene(t)
	s.hub.WithoutUpdateRefs()
	s.want(s.only(s.proposeTo("main", newLock, "main")), pr.Created, 1)
	s.must(s.hub.Close(repoName, 1, "monalisa"))
	s.want(s.only(s.proposeTo("main", nextLock, "main")), pr.Created, 2)
	s.must(s.hub.RenameBranch(repoName, "main", "trunk"))
	for range 2 {
		s.proposeTo("trunk", nextLock, "trunk")
	}
	if old, last := s.pull(1), s.pull(2); len(old.Comments) > 0 || last.State != "closed" || len(last.Comments) != 1 {
		t.Errorf("pull requests = %+v and %+v, want only the last one closed with a sentence", old, last)
	}
}

// The groups may have changed as well: what nothing stands for is closed.
func TestARenamedBaseKeepsNothingThatIsNotWanted(t *testing.T) {
	s := newScene(t)
	s.want(s.only(s.proposeTo("main", newLock, "main")), pr.Created, 1)
	s.must(s.hub.RenameBranch(repoName, "main", "trunk"))
	s.want(s.only(s.proposeWith(pr.Options{Base: "trunk", Bases: []string{"trunk"}})), pr.Closed, 1)
	if s.head(pr.Branch("all", "main", "")) != "" {
		t.Error("its branch is left over")
	}
}

// A base may be renamed and then left out of the configuration. The branch of its pull
// request is compared with the base as it is called now, which GitHub has merged into it.
func TestARenamedBaseMayBeLeftOut(t *testing.T) {
	s := newScene(t)
	s.want(s.only(s.proposeTo("release", newLock, "main", "release")), pr.Created, 1)
	s.must(s.hub.RenameBranch(repoName, "release", "stable"))
	s.pushTo("stable", "NOTES", "more")
	s.must(s.hub.UpdateBranch(repoName, 1, "monalisa"))
	s.want(s.only(s.proposeWith(pr.Options{Base: "main", Bases: []string{"main"}})), pr.Closed, 1)
	if got := s.pull(1); s.head(got.Head) != "" || !strings.Contains(got.Comments[0].Body, "`release` is gone or has another name now") {
		t.Errorf("pull request = %+v, want it closed with a sentence and without a branch", got)
	}
}
