package pr_test

import (
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/sandbox"
)

// merging is a scene whose repository merges by itself, and refuses to promise it so
// often after the opening of a pull request.
func merging(t *testing.T, tooSoon int) (*scene, pr.Proposal) {
	t.Helper()
	s := newScene(t)
	s.must(s.hub.Configure(repoName, func(settings *sandbox.Settings) { settings.AutoMerge, settings.TooSoon = true, tooSoon }))
	s.must(s.hub.Protect(repoName, "main", &sandbox.Protection{Checks: true}))
	p := proposal(newLock)
	p.AutoMerge = "squash"
	return s, p
}

func (s *scene) wantAutoMerge(want string) {
	s.Helper()
	if got := s.pull(1).AutoMerge; got != want {
		s.Errorf("auto-merge = %q, want %q", got, want)
	}
}

func TestAutoMergeIsTriedUntilItHolds(t *testing.T) {
	t.Run("within_the_run", func(t *testing.T) {
		s, p := merging(t, 2)
		o := s.one(p)
		s.want(o, pr.Created, 1)
		s.wantRequests(12 + 2) // those that were refused
		s.wantAutoMerge("squash")
		if len(o.Warnings) > 0 || s.waited == 0 {
			t.Errorf("warnings %v after %s; want none, after some waiting", o.Warnings, s.waited)
		}
		s.want(s.one(p), pr.None, 1)
		s.wantNoWrites()
	})
	t.Run("by_the_next_run", func(t *testing.T) {
		s, p := merging(t, 3)
		o := s.one(p)
		s.want(o, pr.Created, 1)
		if len(o.Warnings) != 1 {
			t.Errorf("warnings = %v, want one that auto-merge is not enabled", o.Warnings)
		}
		s.wantAutoMerge("")
		s.want(s.one(p), pr.Updated, 1)
		s.wantAutoMerge("squash")
		s.want(s.one(p), pr.None, 1)
		s.wantNoWrites()
	})
	t.Run("after_a_lost_answer", func(t *testing.T) {
		s, p := merging(t, 0)
		s.fault("POST /github/api/graphql 502 times=1 asking=enablePullRequestAutoMerge")
		s.want(s.one(p), pr.Created, 1)
		s.one(p)
		s.one(p)
		s.wantAutoMerge("squash")
	})
	// What relock did not hear of is noted by the next run, so that a person may switch it off.
	t.Run("after_a_lost_answer_to_what_was_done", func(t *testing.T) {
		s, p := merging(t, 0)
		s.fault("POST /github/api/graphql done 502 times=1 asking=enablePullRequestAutoMerge")
		s.want(s.one(p), pr.Created, 1)
		s.wantAutoMerge("squash")
		s.want(s.one(p), pr.None, 1)
		if m, _ := pr.ParseMarker(s.pull(1).Body); m.AutoMerge {
			t.Errorf("marker = %+v, want it to know that auto-merge is on", m)
		}
		s.want(s.one(p), pr.None, 1)
		s.wantNoWrites()
	})
}

// Where nothing is in the way of a merge there is nothing to wait for, and each run
// says no more of it.
func TestAutoMergeWaitsForNothingThatIsReady(t *testing.T) {
	s, p := merging(t, 0)
	s.must(s.hub.Protect(repoName, "main", &sandbox.Protection{}))
	o := s.one(p)
	if len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0].Error(), "clean status") {
		t.Errorf("warnings = %v, want one of the clean status", o.Warnings)
	}
	s.look() // so that GitHub knows the state
	survey := s.look()
	s.want(s.only(s.proposeWith(pr.Options{Survey: survey}, p)), pr.None, 1)
	s.wantNoWrites()
}

// What is refused for good is not tried again.
func TestAutoMergeThatIsForbiddenIsNotTriedAgain(t *testing.T) {
	s, p := merging(t, 0)
	s.must(s.hub.Configure(repoName, func(settings *sandbox.Settings) { settings.AutoMerge = false }))
	if o := s.one(p); len(o.Warnings) != 1 {
		t.Errorf("warnings = %v, want one", o.Warnings)
	}
	s.want(s.one(p), pr.None, 1)
	s.wantNoWrites()
}

// A person who switches it off is not overruled; what a person must look at does not
// merge by itself, and the next proposal does again.
func TestAutoMergeFollowsWhatIsProposed(t *testing.T) {
	s, p := merging(t, 0)
	p.NoAutoMerge = true
	s.want(s.one(p), pr.Created, 1)
	s.wantAutoMerge("")
	s.want(s.one(p), pr.None, 1)
	s.wantNoWrites()

	next := proposal(nextLock)
	next.AutoMerge = "squash"
	s.want(s.one(next), pr.Updated, 1)
	s.wantAutoMerge("squash")

	s.want(s.one(p), pr.Updated, 1)
	s.wantAutoMerge("")
	s.want(s.one(next), pr.Updated, 1)
	s.wantAutoMerge("squash")
}

// A server, or what stands before it, may know REST alone.
func TestWithoutGraphQL(t *testing.T) {
	s := newScene(t)
	s.hub.WithoutGraphQL()
	aws, null := proposalFor("aws", newLock), proposalFor("null", newLock)
	aws.CreateLabels, null.Labels = false, []string{"dependencies", "nobody knows it"}
	for _, o := range s.propose(aws, null) {
		if o.Operation != pr.Created || len(o.Warnings) > 0 {
			t.Errorf("outcome = %+v, want it opened", o)
		}
	}
	if got := s.pull(2).Labels; len(got) != 1 || got[0] != "dependencies" {
		t.Errorf("labels = %q, want the one that exists", got)
	}
	more := proposalFor("more", newLock)
	for _, o := range s.proposeWith(pr.Options{Limit: 2}, aws, null, more) {
		if o.Err != nil || o.Operation != pr.None || o.Branch == more.Branch && !strings.Contains(o.Reason, "(limit 2)") {
			t.Errorf("outcome = %+v, want that the third waits", o)
		}
	}
	more.Limit = 3 // of its group
	for _, o := range s.proposeWith(pr.Options{Limit: 2}, aws, null, more) {
		if (o.Operation == pr.Created) != (o.Branch == more.Branch) || o.Err != nil {
			t.Errorf("outcome = %+v, want that the third is opened", o)
		}
	}
}
