package pr_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/sandbox"
)

// owned is the pull request of that number as a command finds it.
func (s *scene) owned(number int) pr.Owned {
	s.Helper()
	o, ok := s.find(number)
	if !ok {
		s.Fatalf("#%d is not ours", number)
	}
	return o
}

func (s *scene) find(number int) (pr.Owned, bool) {
	s.Helper()
	pull, err := s.repo.PullRequest(context.Background(), number)
	s.must(err)
	o, ok, err := pr.Find(context.Background(), s.repo, pull, "")
	s.must(err)
	return o, ok
}

// closes fails where a command could not close, or left a branch to others.
func (s *scene) closes(kept safe.Markdown, err error) {
	s.Helper()
	if err != nil || !kept.Empty() {
		s.Fatalf("Close() = %q, %v", kept, err)
	}
}

func TestFindTellsOursFromOthers(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	if o := s.owned(1); o.Group != "all" || o.Base != "main" || o.Touched || o.Marker.Digest != p.Digest {
		t.Errorf("Find = %+v, want the group and base of the proposal", o)
	}
	s.pushTo(p.Branch, "main.tf", "# mine\n")
	if o := s.owned(1); !o.Touched || o.Group != "all" {
		t.Errorf("Find = %+v, want it touched", o)
	}
	s.pushTo("mine", "main.tf", "# mine\n")
	s.pushTo(pr.Branch("other", "main", ""), "main.tf", "# mine\n")
	s.must(s.hub.Fork(repoName, "stranger"))
	_, err := s.hub.Push("stranger/infra", sandbox.Push{Branch: p.Branch, Files: map[string]sandbox.File{"x": {Content: []byte("y")}}})
	s.must(err)
	for _, head := range []string{"mine", pr.Branch("other", "main", ""), "stranger:" + p.Branch} {
		number, err := s.hub.Open(repoName, head, "main", "Mine", "monalisa")
		s.must(err)
		if o, ok := s.find(number); ok {
			t.Errorf("Find(%s) = %+v, want that it is not ours", head, o)
		}
	}
}

func TestRebaseAndRecreateOnCommand(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	other := proposalFor("other", newLock)
	s.propose(p, other)
	base := s.pushTo("main", "README.md", "New text.\n")
	rebase := pr.Options{Only: p.Branch, Rebase: true}
	s.want(s.only(s.proposeWith(rebase, p, other)), pr.Updated, 1)
	if c := s.commits(p.Branch)[0]; c.Parents[0] != base {
		t.Errorf("parents = %q, want the present base %s", c.Parents, base)
	}
	if c := s.commits(other.Branch)[0]; c.Parents[0] == base {
		t.Errorf("the other group was rebuilt too")
	}
	s.want(s.only(s.proposeWith(rebase, p, other)), pr.None, 1)
	s.wantNoWrites()

	theirs := s.pushTo(p.Branch, "main.tf", "# mine\n")
	o := s.only(s.proposeWith(rebase, p))
	s.want(o, pr.None, 1)
	if s.head(p.Branch) != theirs || !strings.Contains(o.Reason, "somebody else pushed") {
		t.Errorf("head = %s, reason = %q, want the commit of somebody kept", s.head(p.Branch), o.Reason)
	}
	if said := s.pull(1).Comments[0].Body; !strings.Contains(said, "`/relock recreate`") {
		t.Errorf("comment = %q, want the way out", said)
	}
	s.want(s.only(s.proposeWith(pr.Options{Only: p.Branch, Recreate: true}, p)), pr.Updated, 1)
	if c := s.commits(p.Branch)[0]; c.SHA == theirs || c.Parents[0] != base {
		t.Errorf("head = %+v, want one commit on %s", c, base)
	}
	if m, _ := pr.ParseMarker(s.pull(1).Body); m.Stopped {
		t.Error("it is remembered that a person pushed")
	}
	// Nothing is wanted of this group any more, and nothing is known of the other.
	s.want(s.only(s.proposeWith(rebase)), pr.Closed, 1)
	if s.pull(2).State != "open" {
		t.Error("the other pull request was closed too")
	}
}

func TestRecreateKeepsFromBranchesOfOthers(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	theirs := s.pushTo(p.Branch, "main.tf", "# mine\n")
	o := s.proposeWith(pr.Options{Only: p.Branch, Recreate: true}, p)[0]
	if o.Err == nil || s.head(p.Branch) != theirs {
		t.Errorf("outcome = %+v, want an error and the branch at %s", o, theirs)
	}
}

func TestCloseAndReopenOnCommand(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	head := s.head(p.Branch)
	s.closes(pr.Close(context.Background(), s.repo, s.owned(1)))
	if s.pull(1).State != "closed" || s.head(p.Branch) != "" {
		t.Errorf("pull request = %+v, want it closed and its branch deleted", s.pull(1))
	}
	s.want(s.one(p), pr.None, 0)
	s.wantNoWrites()

	s.must(pr.Reopen(context.Background(), s.repo, s.owned(1)))
	if s.pull(1).State != "open" || s.head(p.Branch) != head {
		t.Errorf("pull request = %+v, want it open at %s", s.pull(1), head)
	}
	s.want(s.one(p), pr.None, 1)
	s.wantNoWrites()

	// What relock closes, a person reopens and closes: that is their word then.
	s.want(s.one(), pr.Closed, 1)
	s.must(pr.Reopen(context.Background(), s.repo, s.owned(1)))
	s.must(s.hub.Close(repoName, 1, "monalisa"))
	s.want(s.one(p), pr.None, 0)
}

func TestProposeForgetsWhatNoLongerHolds(t *testing.T) {
	t.Run("closed_by_us_and_reopened", func(t *testing.T) {
		s := newScene(t)
		s.hub.WithoutUpdateRefs() // so that the branch stays
		p := proposal(newLock)
		s.one(p)
		s.want(s.one(), pr.Closed, 1)
		s.must(s.hub.Reopen(repoName, 1))
		s.want(s.one(p), pr.Updated, 1)
		s.must(s.hub.Close(repoName, 1, "monalisa"))
		s.want(s.one(p), pr.None, 0)
	})
	t.Run("recreated_and_pushed_again", func(t *testing.T) {
		s := newScene(t)
		p := proposal(newLock)
		s.one(p)
		s.pushTo(p.Branch, "main.tf", "# mine\n")
		s.one(p)
		s.sandbox.Inject(sandbox.Fault{Method: "PATCH", Path: "/github/api/v3/repos/octo/infra/pulls/1", Status: http.StatusForbidden})
		if o := s.proposeWith(pr.Options{Recreate: true}, p)[0]; o.Err == nil {
			t.Fatalf("outcome = %+v, want a failure after the push", o)
		}
		s.sandbox.Mend()
		s.want(s.one(p), pr.Updated, 1)
		if m := s.owned(1).Marker; m.Stopped {
			t.Errorf("marker = %+v, want it to have forgotten the push", m)
		}
	})
}

func TestCloseOnCommandKeepsCommitsOfOthers(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	theirs := s.pushTo(p.Branch, "main.tf", "# mine\n")
	s.closes(pr.Close(context.Background(), s.repo, s.owned(1)))
	if s.pull(1).State != "closed" || s.head(p.Branch) != theirs {
		t.Errorf("head = %q, want %s of the closed pull request kept", s.head(p.Branch), theirs)
	}
}

func TestReopenRefuses(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	s.must(s.hub.Close(repoName, 1, "monalisa"))
	s.want(s.one(proposal(nextLock)), pr.Created, 2)
	if err := pr.Reopen(context.Background(), s.repo, s.owned(1)); err == nil || !strings.Contains(err.Error(), "something else") {
		t.Errorf("Reopen(superseded) = %v, want an error", err)
	}
	s.merge(2)
	if err := pr.Reopen(context.Background(), s.repo, s.owned(2)); err == nil || !strings.Contains(err.Error(), "merged") {
		t.Errorf("Reopen(merged) = %v, want an error", err)
	}
}

func TestIgnoresLast(t *testing.T) {
	ignores := []policy.Ignore{{Provider: "hashicorp/aws", What: ">= 6.0.0", By: "monalisa", When: "2026-01-05"}}
	asked := func(s *scene) map[string][]policy.Ignore {
		s.Helper()
		s.sandbox.ResetRequests()
		found, err := pr.Look(context.Background(), s.repo, "main", "", "all", "other")
		s.must(err)
		return found.Ignores
	}
	want := map[string][]policy.Ignore{"all": ignores}
	// ends are ways in which the pull request that holds them goes.
	ends := map[string]func(s *scene){
		"updated":      func(*scene) {},
		"closed":       func(s *scene) { s.must(s.hub.Close(repoName, 1, "monalisa")) },
		"closed_by_us": func(s *scene) { s.one() },
		"branch_deleted": func(s *scene) {
			s.must(s.hub.DeleteBranch(repoName, proposal(newLock).Branch))
		},
		"merged": func(s *scene) { s.merge(1) },
		"merged_with_commits_of_others": func(s *scene) {
			s.pushTo(proposal(newLock).Branch, "main.tf", "# mine\n")
			s.merge(1)
			s.one()
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.one(proposal(newLock))
			if got := asked(s); len(got) != 0 {
				t.Errorf("Ignores = %v, want none", got)
			}
			s.wantRequests(2)
			s.must(pr.SetIgnores(context.Background(), s.repo, s.owned(1), ignores))
			if body := s.pull(1).Body; !strings.Contains(body, "hashicorp/aws") || !strings.HasPrefix(body, "What changes.") {
				t.Errorf("body = %q, want the ignores shown below the text", body)
			}
			end(s)
			if diff := cmp.Diff(want, asked(s)); diff != "" {
				t.Errorf("Ignores after the end (-want +got):\n%s", diff)
			}
			s.one(proposal(nextLock))
			if diff := cmp.Diff(want, asked(s)); diff != "" {
				t.Errorf("Ignores in the next (-want +got):\n%s", diff)
			}
			s.wantRequests(3)
		})
	}
}

func TestTwoCommentsAtOnceAreBothKept(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	ignore := func(name string) policy.Ignore {
		return policy.Ignore{Provider: name, By: "monalisa", When: "2026-01-05"}
	}
	aws, null, dns := ignore("hashicorp/aws"), ignore("hashicorp/null"), ignore("hashicorp/dns")
	s.must(pr.SetIgnores(context.Background(), s.repo, s.owned(1), []policy.Ignore{aws, null}))
	first, second := s.owned(1), s.owned(1)
	s.must(pr.SetIgnores(context.Background(), s.repo, first, []policy.Ignore{null}))
	s.must(pr.SetIgnores(context.Background(), s.repo, second, []policy.Ignore{aws, null, dns}))
	if diff := cmp.Diff([]policy.Ignore{null, dns}, s.owned(1).Marker.Ignores); diff != "" {
		t.Errorf("ignores (-want +got):\n%s", diff)
	}
}

func TestAnUpdateKeepsWhatACommentIgnoresMeanwhile(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	ignores := []policy.Ignore{{Provider: "hashicorp/aws", By: "monalisa", When: "2026-01-05"}}
	p := proposal(nextLock)
	p.Write = func() safe.Markdown {
		s.must(pr.SetIgnores(context.Background(), s.repo, s.owned(1), ignores))
		return safe.Const("What changes now.")
	}
	s.want(s.one(p), pr.Updated, 1)
	if diff := cmp.Diff(ignores, s.owned(1).Marker.Ignores); diff != "" {
		t.Errorf("ignores (-want +got):\n%s", diff)
	}
}

func TestIgnoresOfAPullRequestThatIsNotOurs(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.pushTo(p.Branch, "main.tf", "# mine\n")
	number, err := s.hub.Open(repoName, p.Branch, "main", "Mine", "monalisa")
	s.must(err)
	m := pr.Marker{Ignores: []policy.Ignore{{Provider: "*/*", By: "monalisa", When: "2026-01-05"}}}
	s.must(s.hub.Edit(repoName, number, "", m.String()))
	found, err := pr.Look(context.Background(), s.repo, "main", "", "all")
	if err != nil || len(found.Ignores) > 0 {
		t.Errorf("Look finds %v, %v, want none", found.Ignores, err)
	}
}

func TestSetIgnoresRefuses(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	var many []policy.Ignore
	for i := range 100 {
		many = append(many, policy.Ignore{Provider: fmt.Sprint("hashicorp/p", i), By: "monalisa", When: "2026-01-05"})
	}
	for name, ignores := range map[string][]policy.Ignore{
		"too_many": many,
		"invalid":  {{Provider: "hashicorp/aws", What: "huge", By: "monalisa", When: "2026-01-05"}},
	} {
		if err := pr.SetIgnores(context.Background(), s.repo, s.owned(1), ignores); err == nil {
			t.Errorf("%s: SetIgnores() = nil, want an error", name)
		}
	}
	s.must(pr.SetIgnores(context.Background(), s.repo, s.owned(1), many[:5]))
}
