package pr_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/sandbox"
)

func TestProposeOpensOnePullRequest(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	o := s.one(p)
	s.want(o, pr.Created, 1)
	s.wantRequests(12)
	if want := s.head(p.Branch); o.HeadSHA != want || o.Branch != p.Branch || o.Group != "all" {
		t.Errorf("outcome = %+v, want head %s of branch %s", o, want, p.Branch)
	}

	pull := s.pull(1)
	if pull.Title != p.Title || pull.Head != p.Branch || pull.Base != "main" || pull.State != "open" {
		t.Errorf("pull request = %+v, want %q open from %s to main", pull, p.Title, p.Branch)
	}
	if m, ok := pr.ParseMarker(pull.Body); !ok || m.Digest != p.Digest || !strings.HasPrefix(pull.Body, p.Body.String()+"\n\n") {
		t.Errorf("body = %q, want the proposal's and a hidden marker", pull.Body)
	}
	if diff := cmp.Diff(p.Labels, pull.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"prod/.terraform.lock.hcl", "stage/.terraform.lock.hcl"}, pull.ChangedFiles); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}
}

func TestProposeMakesOneSignedCommitOnTheBase(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	base := s.head("main")
	s.one(p)

	c := s.commits(p.Branch)[0]
	if !slices.Equal(c.Parents, []string{base}) || !c.Verified {
		t.Errorf("commit = %+v, want a verified one whose parent is %s", c, base)
	}
	want := p.Subject + "\n\n" + p.Summary + "\n\nRelock-Group: all\nRelock-Base: main\nRelock-Digest: " + p.Digest + "\n"
	if !strings.HasPrefix(c.Message, want) {
		t.Errorf("message = %q, want it to begin with %q", c.Message, want)
	}
	got := s.file(p.Branch, "stage/.terraform.lock.hcl")
	if string(got.Content) != newLock || got.Mode != sandbox.ModeExecutable {
		t.Errorf("lock = %s %q, want %s %q", got.Mode, got.Content, sandbox.ModeExecutable, newLock)
	}
}

// The style is that of the base's commits; what has a subject of its own keeps it.
func TestProposeWritesSubjectsAsTheBaseDoes(t *testing.T) {
	s := newScene(t)
	for _, subject := range []string{"feat: one", "build(deps): two", "fix(vpc)!: three"} {
		s.push(sandbox.Push{Branch: "main", Message: subject, Files: map[string]sandbox.File{
			"README.md": {Mode: sandbox.ModeFile, Content: []byte(subject)},
		}})
	}
	styled, plain := proposalFor("styled", newLock), proposalFor("plain", newLock)
	styled.Styled = func(prefix string) string { return prefix + "bump" }
	s.propose(styled, plain)
	for branch, want := range map[string]string{styled.Branch: "build(deps): bump\n", plain.Branch: plain.Subject + "\n"} {
		if got := s.commits(branch)[0].Message; !strings.HasPrefix(got, want) {
			t.Errorf("the message on %s is %q, want it to begin with %q", branch, got, want)
		}
	}
}

func TestProposeAgainDoesNothing(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	o := s.one(proposal(newLock))
	s.want(o, pr.None, 1)
	s.wantNoWrites()
	s.wantRequests(3)
	if o.HeadSHA != s.head(o.Branch) {
		t.Errorf("head = %s, want %s", o.HeadSHA, s.head(o.Branch))
	}
}

func TestNothingWantedAndNothingThereIsOneRequest(t *testing.T) {
	s := newScene(t)
	if got := s.propose(); len(got) != 0 {
		t.Errorf("Propose() = %+v, want no outcome", got)
	}
	s.wantRequests(1)
}

func TestProposeReplacesItsCommitOnTheNewBase(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	base := s.pushTo("main", "README.md", "New text.\n")
	next := proposal(nextLock)
	next.Labels = []string{"other"}
	o := s.one(next)
	s.want(o, pr.Updated, 1)
	s.wantRequests(12)

	if c := s.commits(next.Branch); !slices.Equal(c[0].Parents, []string{base}) || c[0].SHA != o.HeadSHA {
		t.Errorf("head = %+v, want one commit on %s", c[0], base)
	}
	pull := s.pull(1)
	if pull.Title != next.Title || pull.HeadSHA != o.HeadSHA || len(s.pulls()) != 1 {
		t.Errorf("pull request = %+v, want %q at %s, and only that", pull, next.Title, o.HeadSHA)
	}
	// Whoever took a label off meant it.
	if slices.Contains(pull.Labels, "other") {
		t.Errorf("labels = %q, want those from the beginning", pull.Labels)
	}
	s.want(s.one(next), pr.None, 1)
	s.wantRequests(3)
}

func TestProposeIgnoresABaseThatMovedElsewhere(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	s.pushTo("main", "README.md", "New text.\n")
	s.want(s.one(proposal(newLock)), pr.None, 1)
	s.wantNoWrites()
	s.wantRequests(4)
}

func TestProposeStartsOverWhenTheBaseChangedTheSameFile(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	base := s.pushTo("main", "prod/.terraform.lock.hcl", "# version 1, with a comment\n")
	p := proposal(newLock)
	p.Files[0].Old = []byte("# version 1, with a comment\n")
	s.want(s.one(p), pr.Updated, 1)
	if c := s.commits(p.Branch)[0]; !slices.Equal(c.Parents, []string{base}) {
		t.Errorf("parents = %q, want the new base %s", c.Parents, base)
	}
}

// TestProposeFollowsTheBase moves the base between the plan and the writing.
func TestProposeFollowsTheBase(t *testing.T) {
	holds := func(answer bool, err error) func(context.Context, string) (bool, error) {
		return func(context.Context, string) (bool, error) { return answer, err }
	}
	for name, tt := range map[string]struct {
		holds func(context.Context, string) (bool, error)
		moved bool // the outcome says where the base is
		err   string
	}{
		"nobody_knows":          {nil, true, "branch main has moved"},
		"the_plan_is_another":   {holds(false, nil), true, "branch main has moved"},
		"it_cannot_be_told":     {holds(false, errors.New("no answer")), false, "no answer"},
		"the_plan_is_as_it_was": {holds: holds(true, nil)},
	} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/branch_exists_%t", name, known), func(t *testing.T) {
				s := newScene(t)
				if known {
					s.one(proposal(newLock))
				}
				checkout := s.head("main")
				s.pushTo("main", "README.md", "New text.\n")
				o := s.proposeWith(pr.Options{SHA: checkout, Holds: tt.holds}, proposal(nextLock))[0]
				if tt.err == "" {
					if o.Err != nil || o.Operation == pr.None {
						t.Fatalf("outcome %+v, want a proposal", o)
					}
					commits, err := s.hub.Commits(repoName, o.Branch)
					if err != nil || len(commits) < 2 || commits[1].SHA != checkout {
						t.Errorf("the branch has %d commits (%v), want ours on the commit that was planned", len(commits), err)
					}
					return
				}
				var moved *pr.Moved
				if errors.As(o.Err, &moved) != tt.moved || !strings.Contains(o.Err.Error(), tt.err) || tt.moved && moved.SHA != s.head("main") {
					t.Errorf("error = %v, want %q", o.Err, tt.err)
				}
				s.wantNoWrites()
			})
		}
	}
}

func TestProposeAdoptsABranchWithoutPullRequest(t *testing.T) {
	s := newScene(t)
	s.sandbox.Inject(sandbox.Fault{Method: "POST", Path: "/github/api/v3/repos/octo/infra/pulls", Status: http.StatusForbidden})
	p := proposal(newLock)
	if o := s.propose(p)[0]; o.Err == nil || o.Operation != pr.None || o.HeadSHA != s.head(p.Branch) {
		t.Fatalf("outcome = %+v, want a failure after the push", o)
	}
	left := s.head(p.Branch)

	s.sandbox.Mend()
	o := s.one(p)
	s.want(o, pr.Created, 1)
	if s.head(p.Branch) != left || o.HeadSHA != left {
		t.Errorf("head = %s, want the commit that was there, %s", s.head(p.Branch), left)
	}
}

func TestProposeFinishesAnEditThatARunLeftUndone(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	s.sandbox.Inject(sandbox.Fault{Method: "PATCH", Path: "/github/api/v3/repos/octo/infra/pulls/1", Status: http.StatusForbidden})
	next := proposal(nextLock)
	if o := s.propose(next)[0]; o.Err == nil {
		t.Fatalf("outcome = %+v, want a failure", o)
	}
	s.sandbox.Mend()
	pushed := s.head(next.Branch)
	s.want(s.one(next), pr.Updated, 1)
	if got := s.pull(1).Title; got != next.Title || s.head(next.Branch) != pushed {
		t.Errorf("title = %q at %s, want %q at %s", got, s.head(next.Branch), next.Title, pushed)
	}
}

func TestProposeKeepsABodyThatAPersonRewrote(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	s.must(s.hub.Edit(repoName, 1, "My title", "My words."))
	s.want(s.one(proposal(newLock)), pr.None, 1)
	s.wantNoWrites()
}

func TestProposeLeavesSomebodysCommitsAlone(t *testing.T) {
	for name, push := range map[string]func(s *scene, branch string) string{
		"commit_on_top": func(s *scene, branch string) string {
			return s.pushTo(branch, "prod/main.tf", "# fixed\n")
		},
		"amended_under_our_message": (*scene).amend,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			p := proposal(nextLock)
			s.one(proposal(newLock))
			theirs := push(s, p.Branch)

			for range 2 {
				o := s.one(p)
				s.want(o, pr.None, 1)
				if !strings.Contains(o.Reason, "somebody else pushed") {
					t.Errorf("reason = %q, want that somebody pushed", o.Reason)
				}
			}
			s.wantNoWrites()
			s.wantRequests(3)
			// Nothing is wanted any more: still theirs.
			s.want(s.one(), pr.None, 1)
			s.wantNoWrites()

			pull := s.pull(1)
			if len(pull.Comments) != 1 || pull.State != "open" || pull.HeadSHA != theirs {
				t.Errorf("pull request = %+v, want it open at %s with one comment", pull, theirs)
			}
		})
	}
}

func TestProposeNeverTouchesABranchOfSomebodyElse(t *testing.T) {
	for name, make := range map[string]func(s *scene, branch string) string{
		"with_commits": func(s *scene, branch string) string { return s.pushTo(branch, "notes.txt", "mine\n") },
		"without_any": func(s *scene, branch string) string {
			sha := s.pushTo(branch, "notes.txt", "mine\n")
			number, err := s.hub.Open(repoName, branch, "main", "Mine", "monalisa")
			s.must(err)
			_, err = s.hub.Merge(repoName, number, "monalisa")
			s.must(err)
			return sha
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			p := proposal(newLock)
			theirs := make(s, p.Branch)
			other := proposalFor("other", newLock)
			outcomes := s.propose(p, other)
			if o := outcomes[0]; !problem.Coded(o.Err, problem.CodeGitHub) || !strings.Contains(o.Err.Error(), p.Branch) {
				t.Errorf("error = %v, want one that names %s", o.Err, p.Branch)
			}
			if s.head(p.Branch) != theirs {
				t.Errorf("%s moved from %s to %s", p.Branch, theirs, s.head(p.Branch))
			}
			if o := outcomes[1]; o.Operation != pr.Created || o.Err != nil {
				t.Errorf("other group = %+v, want it created", o)
			}
			// Nor when nothing is wanted.
			if got := s.propose(other); len(got) != 1 {
				t.Errorf("outcomes = %+v, want those of the other group", got)
			}
			s.wantNoWrites()
		})
	}
}

// unseen is what a run says of every pull request that it did not look at.
func unseen(string, []pr.File) bool { return true }

func TestProposeClosesWhatHasNothingLeftToDo(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	o := s.only(s.proposeWith(pr.Options{Spare: unseen}))
	if s.want(o, pr.None, 1); o.Reason != "this run did not look at everything that it proposes" {
		t.Errorf("where not all was seen = %+v, want that as the reason", o)
	}
	o = s.one()
	s.want(o, pr.Closed, 1)
	s.wantRequests(12)
	if o.Group != "all" || o.Branch != p.Branch || o.Reason == "" {
		t.Errorf("outcome = %+v, want group, branch and reason", o)
	}
	pull := s.pull(1)
	if pull.State != "closed" || len(pull.Comments) != 1 || !strings.Contains(pull.Comments[0].Body, "Nothing is left to do") {
		t.Errorf("pull request = %+v, want it closed with a sentence", pull)
	}
	if s.head(p.Branch) != "" {
		t.Errorf("branch %s is still there", p.Branch)
	}
	if got := s.propose(); len(got) != 0 {
		t.Errorf("afterwards = %+v, want no outcome", got)
	}
	// We closed it, nobody turned it down.
	s.want(s.one(p), pr.Created, 2)
}

func TestProposeKeepsOneGroupAndClosesTheOther(t *testing.T) {
	s := newScene(t)
	s.propose(proposalFor("aws", newLock), proposalFor("rest", newLock))
	got := s.propose(proposalFor("rest", newLock))
	if len(got) != 2 || got[0].Operation != pr.None || got[1].Operation != pr.Closed || got[1].Group != "aws" {
		t.Errorf("outcomes = %+v, want rest kept and aws closed", got)
	}
}

func TestProposeLeavesBranchesOfAnotherBaseAlone(t *testing.T) {
	s := newScene(t)
	p := pr.New("all", "release", "", []pr.File{{Path: "x/.terraform.lock.hcl", Content: []byte(newLock)}})
	p.Title, p.Subject, p.Body = "Bump", "Bump", safe.Const("Text.")
	s.want(s.only(s.proposeWith(pr.Options{Base: "release"}, p)), pr.Created, 1)
	if got := s.propose(); len(got) != 0 {
		t.Errorf("run over main = %+v, want no outcome", got)
	}
	s.wantNoWrites()
}

func TestProposeRespectsThatAPersonClosedIt(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		t.Run(fmt.Sprintf("branch_deleted_%t", deleted), func(t *testing.T) {
			s := newScene(t)
			p := proposal(newLock)
			s.one(p)
			s.must(s.hub.Close(repoName, 1, "monalisa"))
			if deleted {
				s.must(s.hub.DeleteBranch(repoName, p.Branch))
			}
			o := s.one(p)
			s.want(o, pr.None, 0)
			s.wantNoWrites()
			s.wantRequests(3)
			if !strings.Contains(o.Reason, "#1") {
				t.Errorf("reason = %q, want the closed pull request", o.Reason)
			}
			s.want(s.one(proposal(nextLock)), pr.Created, 2)
			s.want(s.one(proposal(nextLock)), pr.None, 2)
		})
	}
}

func TestProposeDoesNotTakeSomebodysCommitForARefusedProposal(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	s.amend(p.Branch)
	s.must(s.hub.Close(repoName, 1, "monalisa"))
	s.must(s.hub.DeleteBranch(repoName, p.Branch))
	s.want(s.one(p), pr.Created, 2)
}

func TestProposeAfterAMerge(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	_, err := s.hub.Merge(repoName, 1, "monalisa")
	s.must(err)

	// Somebody reverts it: it is wanted again, on top of the revert.
	base := s.push(sandbox.Push{Branch: "main", Files: map[string]sandbox.File{
		"prod/.terraform.lock.hcl":  {Mode: sandbox.ModeFile, Content: []byte(oldLock)},
		"stage/.terraform.lock.hcl": {Mode: sandbox.ModeExecutable, Content: []byte(oldLock)},
	}})
	s.want(s.one(p), pr.Created, 2)
	if c := s.commits(p.Branch)[0]; !slices.Equal(c.Parents, []string{base}) {
		t.Errorf("parents = %q, want the present base %s", c.Parents, base)
	}

	_, err = s.hub.Merge(repoName, 2, "monalisa")
	s.must(err)
	o := s.one()
	s.want(o, pr.None, 0)
	if s.head(p.Branch) != "" {
		t.Errorf("branch %s is still there: %+v", p.Branch, o)
	}
}

func TestProposeLeavesAPullRequestWithAnotherBaseAlone(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	s.must(s.hub.Retarget(repoName, 1, "release"))
	for _, proposals := range [][]pr.Proposal{{proposal(nextLock)}, nil} {
		o := s.one(proposals...)
		s.want(o, pr.None, 1)
		if !strings.Contains(o.Reason, "release") {
			t.Errorf("reason = %q, want the other base", o.Reason)
		}
		s.wantNoWrites()
	}
}

func TestProposeLosesTheRaceAgainstAPush(t *testing.T) {
	s := newScene(t)
	p := proposal(nextLock)
	s.one(proposal(newLock))
	var theirs string
	s.before("POST", "/graphql", func() { theirs = s.pushTo(p.Branch, "prod/main.tf", "# fixed\n") })
	o := s.one(p)
	s.want(o, pr.None, 1)
	if s.head(p.Branch) != theirs || theirs == "" {
		t.Errorf("head = %s, want the commit that was pushed meanwhile, %s", s.head(p.Branch), theirs)
	}
	if len(s.pull(1).Comments) != 1 {
		t.Errorf("comments = %+v, want one", s.pull(1).Comments)
	}
}

func TestCloseLosesTheRaceAgainstAPush(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	var theirs string
	s.before("POST", "/graphql", func() { theirs = s.pushTo(p.Branch, "prod/main.tf", "# fixed\n") })
	s.want(s.one(), pr.Closed, 1)
	if s.head(p.Branch) != theirs || theirs == "" {
		t.Errorf("head = %s, want the commit that was pushed meanwhile, %s", s.head(p.Branch), theirs)
	}
}

func TestProposeAgainWhenSomebodyClosesItMeanwhile(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	s.before("PATCH", "/pulls/1", func() { s.must(s.hub.Close(repoName, 1, "monalisa")) })
	o := s.one(proposal(nextLock))
	if s.pull(1).State != "closed" || o.Operation == pr.Updated {
		t.Errorf("outcome = %+v, want no update of the closed pull request", o)
	}
}

func TestCloseCommentsOnce(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	s.sandbox.Inject(sandbox.Fault{
		Method: "PATCH", Path: "/github/api/v3/repos/octo/infra/pulls/1", Status: http.StatusBadGateway, Times: 1,
	})
	s.want(s.one(), pr.Closed, 1)
	if n := len(s.pull(1).Comments); n != 1 {
		t.Errorf("%d comments, want 1", n)
	}
}

func TestTwoRunsAtOnceMakeOnePullRequest(t *testing.T) {
	for _, path := range []string{"/git/refs", "/pulls"} {
		t.Run("before"+strings.ReplaceAll(path, "/", "_"), func(t *testing.T) {
			s := newScene(t)
			p := proposal(newLock)
			other := s.as(sandbox.ActionsToken, nil)
			s.before("POST", path, func() {
				outcome := pr.Propose(context.Background(), other, []pr.Proposal{p}, pr.Options{Base: "main", SHA: s.head("main")})[0]
				if outcome.Operation != pr.Created || outcome.Err != nil {
					t.Errorf("the faster run = %+v, want it to create", outcome)
				}
			})
			if o := s.one(p); o.Number != 1 {
				t.Errorf("the slower run = %+v, want pull request 1", o)
			}
			if n := len(s.pulls()); n != 1 {
				t.Errorf("%d pull requests, want 1", n)
			}
		})
	}
}

func TestProposeFindsOutWhatALostAnswerMeant(t *testing.T) {
	tests := map[string]struct {
		method, path string
		prepare      []pr.Proposal
		want         pr.Operation
	}{
		"branch_created":       {"POST", "/github/api/v3/repos/octo/infra/git/refs", nil, pr.Created},
		"pull_request_created": {"POST", "/github/api/v3/repos/octo/infra/pulls", nil, pr.Created},
		"branch_replaced":      {"POST", "/github/api/graphql", []pr.Proposal{proposal(newLock)}, pr.Updated},
		"pull_request_edited":  {"PATCH", "/github/api/v3/repos/octo/infra/pulls/1", []pr.Proposal{proposal(newLock)}, pr.Updated},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			for _, p := range test.prepare {
				s.one(p)
			}
			// The server does it, and the connection ends before the answer has.
			s.sandbox.Inject(sandbox.Fault{Method: test.method, Path: test.path, Truncate: 1, Times: 1})
			p := proposal(nextLock)
			s.want(s.one(p), test.want, 1)
			if pull := s.pull(1); pull.Title != p.Title || pull.HeadSHA != s.head(p.Branch) || len(s.pulls()) != 1 {
				t.Errorf("pull request = %+v, want %q, and only that", pull, p.Title)
			}
			s.want(s.one(p), pr.None, 1)
			s.wantNoWrites()
		})
	}
}

func TestProposeGivesUp(t *testing.T) {
	s := newScene(t)
	s.sandbox.Inject(sandbox.Fault{Method: "POST", Path: "/github/api/v3/repos/octo/infra/git/refs", Status: http.StatusConflict})
	o := s.propose(proposal(newLock))[0]
	if !problem.Coded(o.Err, problem.CodeGitHub) || !errors.Is(o.Err, github.ErrConflict) {
		t.Errorf("error = %v, want the conflict", o.Err)
	}
	s.wantRequests(40)
	if s.waited == 0 {
		t.Error("the attempts follow each other without a pause")
	}
}

func TestProposeGoesForwardWhereAServerCannotSwap(t *testing.T) {
	refuse := func(answer string) func(http.RoundTripper) http.RoundTripper {
		return func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path != "/github/api/graphql" {
					return next.RoundTrip(r)
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				if bytes.Contains(body, []byte("updateRefs")) {
					return answerOf(r, answer), nil
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				return next.RoundTrip(r)
			})
		}
	}
	for name, answer := range map[string]string{
		"lacks_updateRefs": `{"errors": [{"message": "Field 'updateRefs' doesn't exist on type 'Mutation'",
			"extensions": {"code": "undefinedField"}}]}`,
		"forbids_it_by_rule": `{"data": {"updateRefs": null}, "errors": [{"type": "UNPROCESSABLE",
			"message": "Repository rule violations found: Cannot force-push to this branch"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.repo = s.as(sandbox.ActionsToken, refuse(answer))
			s.one(proposal(newLock))
			for _, content := range []string{nextLock, newLock} {
				p := proposal(content)
				before := s.head(p.Branch)
				base := s.pushTo("main", "README.md", content)
				s.want(s.one(p), pr.Updated, 1)
				if c := s.commits(p.Branch)[0]; !slices.Equal(c.Parents, []string{before, base}) {
					t.Errorf("parents = %q, want the old head %s and the base %s", c.Parents, before, base)
				}
				if f := s.file(p.Branch, "README.md"); string(f.Content) != content {
					t.Errorf("README.md = %q, want the base's %q", f.Content, content)
				}
				s.want(s.one(p), pr.None, 1)
				s.wantRequests(3)
			}
			// A branch that cannot be deleted safely stays.
			o := s.one()
			s.want(o, pr.Closed, 1)
			if s.head(o.Branch) == "" || !strings.Contains(o.Reason, "stays") {
				t.Errorf("outcome = %+v, want that the branch stays", o)
			}
			s.want(s.one(proposal(nextLock)), pr.Created, 2)
		})
	}
}

// Where a server cannot replace a branch, its next commit stands on somebody's commits:
// on those of a pull request that was squashed, and on those that a person discards.
func TestWhatIsBelowACommitOfOursIsSettled(t *testing.T) {
	s := newScene(t)
	s.hub.WithoutUpdateRefs()
	p := proposal(newLock)
	s.want(s.one(p), pr.Created, 1)
	s.pushTo(p.Branch, "prod/main.tf", "# mine\n")
	s.want(s.one(proposal(nextLock)), pr.None, 1)
	_, err := s.hub.Squash(repoName, 1, "monalisa")
	s.must(err)
	s.want(s.one(proposal(nextLock)), pr.Created, 2)
	s.want(s.one(proposal(nextLock)), pr.None, 2)
	s.wantNoWrites()

	theirs := s.pushTo(p.Branch, "prod/main.tf", "# other\n")
	s.want(s.one(proposal(nextLock)), pr.None, 2)
	recreate := pr.Options{Only: p.Branch, Recreate: true}
	s.want(s.only(s.proposeWith(recreate, proposal(nextLock))), pr.Updated, 2)
	s.want(s.one(proposal("# version 4\n")), pr.Updated, 2)
	if c := s.commits(p.Branch); c[0].Parents[0] != c[1].SHA || c[1].Parents[0] != theirs || len(s.pull(2).Comments) != 1 {
		t.Errorf("the branch is %+v, want two commits of ours on %s, and one comment", c[:2], theirs)
	}
	if f := s.file(p.Branch, "prod/main.tf"); string(f.Content) != "# mine\n" {
		t.Errorf("prod/main.tf = %q, want what the base has", f.Content)
	}
}

func TestDryRunDecidesAndWritesNothing(t *testing.T) {
	s := newScene(t)
	dry := pr.Options{DryRun: true}
	s.want(s.only(s.proposeWith(dry, proposal(newLock))), pr.Created, 0)
	s.wantNoWrites()
	s.one(proposal(newLock))
	s.want(s.only(s.proposeWith(dry, proposal(newLock))), pr.None, 1)
	s.want(s.only(s.proposeWith(dry, proposal(nextLock))), pr.Updated, 1)
	s.wantNoWrites()
	s.want(s.only(s.proposeWith(dry)), pr.Closed, 1)
	s.wantNoWrites()
}

func TestProposeSaysWhichPermissionIsMissing(t *testing.T) {
	s := newScene(t)
	s.repo = s.as(sandbox.ReadOnlyToken, nil)
	o := s.propose(proposal(newLock))[0]
	var e *problem.Error
	if !errors.As(o.Err, &e) || !strings.Contains(e.Problem.Hint, "contents: write") {
		t.Errorf("error = %#v, want a hint that names contents: write", o.Err)
	}
	if strings.Contains(fmt.Sprintf("%+v %v", e, e), sandbox.ReadOnlyToken) {
		t.Errorf("error %+v holds the token", e)
	}
}

func TestProposeUsesAnotherPrefix(t *testing.T) {
	s := newScene(t)
	opts := pr.Options{Prefix: "bot/locks/"}
	p := pr.New("all", "main", opts.Prefix, proposal(newLock).Files)
	p.Title, p.Subject, p.Body = "Bump", "Bump", safe.Const("Text.")
	s.want(s.only(s.proposeWith(opts, p)), pr.Created, 1)
	s.want(s.only(s.proposeWith(opts, p)), pr.None, 1)
	if got := s.propose(); len(got) != 0 {
		t.Errorf("run with the default prefix = %+v, want no outcome", got)
	}
	s.want(s.only(s.proposeWith(opts)), pr.Closed, 1)
}

// A run that is to end finishes what it has begun, and begins nothing else: it opens no
// further pull request, and closes none.
func TestProposeBeginsNothingInARunThatEnds(t *testing.T) {
	s := newScene(t)
	s.one(proposalFor("old", newLock))
	var done []pr.Operation
	opts := pr.Options{Begins: func() bool { return len(done) == 0 }, Done: func(o pr.Outcome) { done = append(done, o.Operation) }}
	outcomes := s.proposeWith(opts, proposalFor("old", nextLock), proposalFor("new", nextLock))
	if len(outcomes) != 2 || outcomes[0].Operation != pr.Updated || outcomes[0].Unbegun || !outcomes[1].Unbegun || outcomes[1].Operation != pr.None {
		t.Errorf("the outcomes are %+v, want one that is done and one that was not begun", outcomes)
	}
	if len(done) != 1 || done[0] != pr.Updated || len(s.pulls()) != 1 {
		t.Errorf("heard of %v, and there are %d pull requests; want one that was updated", done, len(s.pulls()))
	}
	if ended := s.proposeWith(pr.Options{Begins: func() bool { return false }}); len(ended) != 0 || s.pulls()[0].State != "open" {
		t.Errorf("a run that ends before it looks has %+v, and the pull request is %s", ended, s.pulls()[0].State)
	}
}

// TestTextsAreMadeBeforeTheFirstWrite has two groups. The second waits for room at first.
func TestTextsAreMadeBeforeTheFirstWrite(t *testing.T) {
	s := newScene(t)
	var made []string
	writes := func() bool {
		return slices.ContainsFunc(s.sandbox.Requests(), func(r sandbox.Request) bool { return r.Method != http.MethodGet && !r.Query })
	}
	proposed := func(content string, limit int) []string {
		t.Helper()
		made = nil
		var all []pr.Proposal
		for _, group := range []string{"all", "cloud"} {
			p := proposalFor(group, content)
			p.Write = func() safe.Markdown {
				if writes() {
					t.Errorf("the text of %s is made after a write", group)
				}
				made = append(made, group)
				return safe.Const("Much to read.")
			}
			all = append(all, p)
		}
		survey, err := pr.Look(t.Context(), s.repo, "main", "", "all", "cloud")
		if err != nil {
			t.Fatal(err)
		}
		done := func() {
			if writes() {
				t.Error("Written is called after a write")
			}
			made = append(made, "written")
		}
		for _, o := range s.proposeWith(pr.Options{Survey: survey, Limit: limit, Written: done}, all...) {
			if o.Err != nil {
				t.Errorf("Propose() failed for %s: %v", o.Group, o.Err)
			}
		}
		return made
	}
	for _, tt := range []struct {
		content string
		limit   int
		want    []string
	}{
		{newLock, 1, []string{"all", "written"}},
		{newLock, 1, []string{"written"}}, // one is open, and the other waits
		{newLock, 0, []string{"cloud", "written"}},
		{newLock, 0, []string{"written"}},
		{nextLock, 1, []string{"all", "cloud", "written"}},
	} {
		if got := proposed(tt.content, tt.limit); !slices.Equal(got, tt.want) {
			t.Errorf("texts for %q with the limit %d: %v, want %v", tt.content, tt.limit, got, tt.want)
		}
	}
	if body := s.pull(2).Body; !strings.HasPrefix(body, "Much to read.") {
		t.Errorf("the text is %q", body)
	}
}
