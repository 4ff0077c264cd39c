package pr_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/sandbox"
)

// dryRun looks and then decides, with a token or without. It counts the requests of
// both.
func (s *scene) dryRun(token string, opts pr.Options, proposals ...pr.Proposal) []pr.Outcome {
	s.Helper()
	repo := s.as(token, nil)
	s.sandbox.ResetRequests()
	survey, err := pr.Look(context.Background(), repo, "main", "", "all", "other")
	s.must(err)
	opts.Base, opts.Survey, opts.DryRun = "main", survey, true
	if opts.SHA == "" {
		opts.SHA = s.head("main")
	}
	return pr.Propose(context.Background(), repo, proposals, opts)
}

// Whoever has no token sees what whoever has one would see.
func TestPreviewsWithoutAToken(t *testing.T) {
	t.Parallel()
	proposed := func(s *scene) { s.one(proposal(newLock)) }
	tests := map[string]struct {
		before    func(s *scene)
		opts      pr.Options
		proposals []pr.Proposal
		want      pr.Operation
	}{
		"nothing_there":    {func(*scene) {}, pr.Options{}, []pr.Proposal{proposal(newLock)}, pr.Created},
		"two_groups":       {func(*scene) {}, pr.Options{}, []pr.Proposal{proposal(newLock), proposalFor("other", newLock)}, pr.Created},
		"proposed_already": {proposed, pr.Options{}, []pr.Proposal{proposal(newLock)}, pr.None},
		"something_newer":  {proposed, pr.Options{}, []pr.Proposal{proposal(nextLock)}, pr.Updated},
		"nothing_left":     {proposed, pr.Options{}, nil, pr.Closed},
		"a_part_of_it":     {proposed, pr.Options{Spare: unseen}, nil, ""},
		"turned_down": {func(s *scene) {
			proposed(s)
			s.must(s.hub.Close(repoName, 1, "monalisa"))
		}, pr.Options{}, []pr.Proposal{proposal(newLock)}, pr.None},
		"turned_down_and_newer": {func(s *scene) {
			proposed(s)
			s.must(s.hub.Close(repoName, 1, "monalisa"))
		}, pr.Options{}, []pr.Proposal{proposal(nextLock)}, pr.Created},
		"merged": {func(s *scene) { proposed(s); s.merge(1) }, pr.Options{}, []pr.Proposal{proposal(nextLock)}, pr.Created},
		"pushed_to_and_told": {func(s *scene) {
			proposed(s)
			s.pushTo(s.pull(1).Head, "note.txt", "mine\n")
			s.one(proposal(nextLock))
		}, pr.Options{}, []pr.Proposal{proposal(nextLock)}, pr.None},
		"retargeted": {func(s *scene) {
			proposed(s)
			s.must(s.hub.Retarget(repoName, 1, "release"))
		}, pr.Options{}, []pr.Proposal{proposal(nextLock)}, pr.None},
		"as_many_open_as_may_be": {proposed, pr.Options{Limit: 1}, []pr.Proposal{proposal(newLock), proposalFor("other", newLock)}, pr.None},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			tt.before(s)
			want := s.dryRun(sandbox.ActionsToken, tt.opts, tt.proposals...)
			got := s.dryRun("", tt.opts, tt.proposals...)
			for i := range want {
				if want[i].Operation == pr.Closed || want[i].Reason == "this run did not look at everything that it proposes" {
					want[i].Group = "" // it stands in the commit
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outcomes without a token (-with one +without):\n%s", diff)
			}
			if tt.want != "" && (len(got) == 0 || got[0].Operation != tt.want) {
				t.Errorf("outcomes = %+v, want %s first", got, tt.want)
			}
			s.wantRequests(2)
			for _, r := range s.sandbox.Requests() {
				if r.Method != http.MethodGet {
					t.Errorf("without a token it asks %s, want REST's GET alone", r)
				}
			}
		})
	}
}

func TestPreviewsKnowWhatIsIgnored(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	ignored := policy.Ignore{Provider: "hashicorp/aws", By: "monalisa", When: "2026-01-05"}
	s.must(pr.SetIgnores(context.Background(), s.repo, s.owned(1), []policy.Ignore{ignored}))
	s.sandbox.ResetRequests()
	found, err := pr.Look(context.Background(), s.as("", nil), "main", "", "all")
	if got := found.Ignores["all"]; err != nil || len(got) != 1 || got[0] != ignored {
		t.Errorf("Look() = %v, %v, want %v", got, err, ignored)
	}
	s.wantRequests(1)
}

// A pull request that a hundred newer ones hide is asked for.
func TestPreviewsFindAnOldPullRequest(t *testing.T) {
	s := newScene(t)
	s.one(proposal(newLock))
	for i := range 100 {
		branch := fmt.Sprintf("topic-%d", i)
		s.push(sandbox.Push{Branch: branch, Files: map[string]sandbox.File{"a": {Mode: sandbox.ModeFile, Content: []byte(branch)}}})
		_, err := s.hub.Open(repoName, branch, "main", branch, "monalisa")
		s.must(err)
	}
	got := s.only(s.dryRun("", pr.Options{}, proposal(nextLock)))
	s.want(got, pr.Updated, 1)
	s.wantRequests(3)
}
