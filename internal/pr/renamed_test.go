package pr_test

import (
	"context"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/sandbox"
)

// proposeTo is a run over a base: it looks, and proposes the content for it.
func (s *scene) proposeTo(base, content string, bases ...string) pr.Outcome {
	s.Helper()
	survey, err := pr.Look(context.Background(), s.repo, base, bases, "", "all")
	s.must(err)
	opts := pr.Options{Base: base, Bases: bases, Survey: survey}
	if content == "" {
		return s.only(s.proposeWith(opts))
	}
	p := pr.New("all", base, "", proposal(content).Files)
	p.Title, p.Subject, p.Body = "Bump", "Bump", safe.Const("What changes.")
	return s.only(s.proposeWith(opts, survey.Proposal(p)))
}

func TestARenamedBaseKeepsItsPullRequests(t *testing.T) {
	s := newScene(t)
	branch := pr.Branch("all", "main", "")
	s.want(s.proposeTo("main", newLock, "main"), pr.Created, 1)
	s.must(pr.SetIgnores(context.Background(), s.repo, s.owned(1), []policy.Ignore{{Provider: "hashicorp/aws", What: "major", By: "monalisa", When: "2026-01-05"}}))
	head := s.head(branch)
	s.must(s.hub.RenameBranch(repoName, "main", "trunk"))

	// It stays as it is, and is not doubled. It remembers what the base was called, so
	// that later runs need not find that out.
	s.want(s.proposeTo("trunk", newLock, "trunk"), pr.None, 1)
	if w := s.wrote(); len(w) != 1 || !strings.HasPrefix(w[0], "PATCH") {
		t.Errorf("requests that write: %q, want one that remembers", w)
	}
	s.want(s.proposeTo("trunk", newLock, "trunk"), pr.None, 1)
	s.wantNoWrites()
	s.wantRequests(1)
	s.sandbox.ResetRequests()
	_, err := pr.Look(context.Background(), s.repo, "trunk", []string{"trunk"}, "", "all")
	s.must(err)
	s.wantRequests(3) // the third one is for what it ignores
	if s.head(branch) != head || len(s.pulls()) != 1 {
		t.Fatalf("the branch is at %s of %d pull requests, want it as it was", s.head(branch), len(s.pulls()))
	}
	survey, err := pr.Look(context.Background(), s.repo, "trunk", []string{"trunk"}, "", "all")
	if err != nil || len(survey.Ignores["all"]) != 1 {
		t.Errorf("ignores = %+v, %v; want what people said before", survey.Ignores, err)
	}
	// A command in its comments is about the base as it is called now.
	if o := s.owned(1); o.Base != "trunk" || o.Touched {
		t.Errorf("owned = %+v, want it for trunk", o)
	}
	// What is new comes to the same branch, and what is done closes it.
	s.want(s.proposeTo("trunk", nextLock, "trunk"), pr.Updated, 1)
	s.want(s.proposeTo("trunk", nextLock, "trunk"), pr.None, 1)
	s.want(s.proposeTo("trunk", "", "trunk"), pr.Closed, 1)
	if s.head(branch) != "" {
		t.Error("its branch is left over")
	}
	s.want(s.proposeTo("trunk", newLock, "trunk"), pr.Created, 2)
}

// What a person turned down before is not proposed again under another name.
func TestARenamedBaseKeepsWhatWasTurnedDown(t *testing.T) {
	s := newScene(t)
	s.want(s.proposeTo("main", newLock, "main"), pr.Created, 1)
	s.must(s.hub.Close(repoName, 1, "monalisa"))
	s.must(s.hub.RenameBranch(repoName, "main", "trunk"))
	o := s.proposeTo("trunk", newLock, "trunk")
	if o.Operation != pr.None || len(s.pulls()) != 1 || !strings.Contains(o.Reason, "somebody closed") {
		t.Errorf("outcome = %s, %q, %d pull requests; want nothing", o.Operation, o.Reason, len(s.pulls()))
	}
	s.want(s.proposeTo("trunk", nextLock, "trunk"), pr.Created, 2)
}

// What a closed pull request remembers is about the base that it had.
func TestTwoRenamedBasesAreToldApart(t *testing.T) {
	s := newScene(t)
	s.want(s.proposeTo("release", newLock, "main", "release"), pr.Created, 1)
	for old, now := range map[string]string{"main": "trunk", "release": "stable"} {
		s.must(s.hub.RenameBranch(repoName, old, now))
	}
	s.want(s.proposeTo("stable", newLock, "trunk", "stable"), pr.None, 1) // and remembers
	s.must(s.hub.Close(repoName, 1, "monalisa"))
	s.want(s.proposeTo("trunk", newLock, "trunk", "stable"), pr.Created, 2)
	if p := s.pull(2); p.Base != "trunk" || p.Head != pr.Branch("all", "trunk", "") {
		t.Errorf("pull request = %+v, want one of its own for trunk", p)
	}
}

// Where the old base is there, a person has changed the base of the pull request.
func TestARetargetedPullRequestIsAPersons(t *testing.T) {
	s := newScene(t)
	s.want(s.proposeTo("main", newLock, "main"), pr.Created, 1)
	s.push(sandbox.Push{Branch: "trunk", Files: map[string]sandbox.File{"x": {Mode: sandbox.ModeFile}}})
	s.must(s.hub.Retarget(repoName, 1, "trunk"))
	s.want(s.proposeTo("trunk", newLock, "main", "trunk"), pr.Created, 2)
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
		if o.Err != nil || o.Reason != "its base is gone" {
			t.Errorf("outcome = %+v, want that its base is gone", o)
		}
	}
	got := s.pull(1)
	m, _ := pr.ParseMarker(got.Body)
	if len(got.Comments) != 1 || !strings.Contains(got.Comments[0].Body, "The branch `release` is gone") || m.Closed == "" || s.head(p.Branch) != "" {
		t.Errorf("pull request = %+v, marker %+v; want a sentence, a reason and no branch", got, m)
	}
}

// The groups may have changed as well: what nothing stands for is closed.
func TestARenamedBaseKeepsNothingThatIsNotWanted(t *testing.T) {
	s := newScene(t)
	s.want(s.proposeTo("main", newLock, "main"), pr.Created, 1)
	s.must(s.hub.RenameBranch(repoName, "main", "trunk"))
	s.want(s.only(s.proposeWith(pr.Options{Base: "trunk", Bases: []string{"trunk"}})), pr.Closed, 1)
	if s.head(pr.Branch("all", "main", "")) != "" {
		t.Error("its branch is left over")
	}
}

// A base may be renamed and then left out of the configuration. Its pull request
// is judged by the base as it is called now, which GitHub has merged into it.
func TestARenamedBaseMayBeLeftOut(t *testing.T) {
	s := newScene(t)
	s.want(s.proposeTo("release", newLock, "main", "release"), pr.Created, 1)
	s.must(s.hub.RenameBranch(repoName, "release", "stable"))
	s.pushTo("stable", "NOTES", "more")
	s.must(s.hub.UpdateBranch(repoName, 1, "monalisa"))
	s.want(s.only(s.proposeWith(pr.Options{Base: "main", Bases: []string{"main"}})), pr.Closed, 1)
	if got := s.pull(1); s.head(got.Head) != "" || !strings.Contains(got.Comments[0].Body, "no longer configured to propose to `stable`") {
		t.Errorf("pull request = %+v, want it closed with a sentence and without a branch", got)
	}
}
