package pr_test

import (
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/sandbox"
)

// behind is a scene with a pull request of ours whose base has moved on, and what
// the base demands.
func behind(t *testing.T, rules *sandbox.Protection) *scene {
	t.Helper()
	s := newScene(t)
	s.when = pr.RebaseBehindBase
	s.want(s.one(proposal(newLock)), pr.Created, 1)
	s.must(s.hub.Protect(repoName, "main", rules))
	s.pushTo("main", "README.md", "More.\n")
	s.look() // as a run does, so that GitHub knows the state of the merge later
	return s
}

// byButton are the two ways in which GitHub updates a branch for a person.
var byButton = map[string]func(*sandbox.GitHub, string, int, string) error{
	"merge": (*sandbox.GitHub).UpdateBranch, "rebase": (*sandbox.GitHub).RebaseBranch,
}

// updated reports whether the head is a merge of the base, and not made anew.
func (s *scene) updated(branch string) bool { return len(s.commits(branch)[0].Parents) == 2 }

func TestBranchesAreUpdatedWhereTheBaseDemandsIt(t *testing.T) {
	p := proposal(newLock)
	tests := []struct {
		name    string
		rules   *sandbox.Protection
		updated bool
	}{
		{"nothing_is_demanded", nil, false},
		{"checks_alone", &sandbox.Protection{Checks: true, Ruleset: true}, false},
		{"by_branch_protection", &sandbox.Protection{Strict: true}, true},
		{"by_a_ruleset", &sandbox.Protection{Strict: true, Ruleset: true}, true},
		{"by_a_ruleset_and_blocked", &sandbox.Protection{Strict: true, Checks: true, Ruleset: true}, true},
		// Only those who administer the repository may know it, as long as more is missing.
		{"by_branch_protection_and_blocked", &sandbox.Protection{Strict: true, Checks: true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := behind(t, tt.rules)
			o := s.one(p)
			if !tt.updated {
				s.want(o, pr.None, 1)
				s.wantNoWrites()
				return
			}
			s.want(o, pr.Updated, 1)
			if got := s.wrote(); len(got) != 1 || !strings.HasSuffix(got[0], "/pulls/1/update-branch") {
				t.Errorf("requests that write: %q, want one for an update", got)
			}
			if !s.updated(p.Branch) {
				t.Errorf("the head is %+v, want a merge of the base", s.commits(p.Branch)[0])
			}
			s.want(s.one(p), pr.None, 1) // it is ours still
			s.wantNoWrites()
		})
	}
}

// Where nothing is to be done, an updated branch costs no more than another.
func TestUpdatedBranchesCostNoMore(t *testing.T) {
	s := behind(t, &sandbox.Protection{Strict: true})
	p := proposal(newLock)
	s.want(s.one(p), pr.Updated, 1)
	s.head(p.Branch)
	survey := s.look()
	s.want(s.only(s.proposeWith(pr.Options{Survey: survey}, p)), pr.None, 1)
	s.wantRequests(2) // and one for the survey
}

// An update by GitHub keeps approvals; what proposes something else does not.
func TestUpdatesKeepApprovals(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.want(s.one(p), pr.Created, 1)
	s.must(s.hub.Protect(repoName, "main", &sandbox.Protection{Strict: true, Reviews: 1, DismissStale: true}))
	s.must(s.hub.Approve(repoName, 1, "monalisa"))
	s.pushTo("main", "README.md", "More.\n")
	s.look()
	s.want(s.one(p), pr.Updated, 1)
	if got := s.pull(1).ApprovedBy; len(got) != 1 {
		t.Errorf("approved by %q after an update, want it kept", got)
	}
	s.want(s.one(proposal(nextLock)), pr.Updated, 1)
	if got := s.pull(1).ApprovedBy; len(got) != 0 {
		t.Errorf("approved by %q, and nobody has seen what is proposed", got)
	}
}

// Where GitHub refuses, the branch is made anew on its base.
func TestBranchesAreMadeAnewWhereTheyCannotBeUpdated(t *testing.T) {
	tests := []struct {
		name, fault string
		workflow    bool
	}{
		{"conflict", "PUT /github/.../update-branch 422", false},
		{"an_old_server", "PUT /github/.../update-branch 404", false},
		{"a_workflow_has_changed", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := behind(t, &sandbox.Protection{Strict: true})
			if tt.workflow {
				s.pushTo("main", ".github/workflows/ci.yml", "on: push\n")
				s.look()
			}
			if tt.fault != "" {
				s.fault(strings.Replace(tt.fault, "/github/...", "/github/api/v3/repos/octo/infra/pulls/1", 1))
			}
			p := proposal(newLock)
			s.want(s.one(p), pr.Updated, 1)
			if commits := s.commits(p.Branch); len(commits[0].Parents) != 1 || commits[0].Parents[0] != s.head("main") {
				t.Errorf("the head is %+v, want it made anew on the base", commits[0])
			}
			s.want(s.one(p), pr.None, 1)
		})
	}
}

// Whether an update happens is not known when its answer is lost: it is asked for
// once a run.
func TestUpdatesAreAskedForOnce(t *testing.T) {
	s := behind(t, &sandbox.Protection{Strict: true})
	s.fault("PUT /github/api/v3/repos/octo/infra/pulls/1/update-branch 502 times=1")
	p := proposal(newLock)
	s.want(s.one(p), pr.Updated, 1)
	asked := 0
	for _, w := range s.wrote() {
		if strings.HasSuffix(w, "/update-branch") {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times for an update, want once", asked)
	}
	s.want(s.one(p), pr.Updated, 1) // it did not happen, so it is asked for again
	s.want(s.one(p), pr.None, 1)
}

// A person may press the button: the branch is ours as before, and follows.
func TestAMergeOfTheBaseByAPersonIsOurs(t *testing.T) {
	s := behind(t, nil)
	p := proposal(newLock)
	s.must(s.hub.UpdateBranch(repoName, 1, "monalisa"))
	s.want(s.one(p), pr.None, 1)
	s.want(s.one(proposal(nextLock)), pr.Updated, 1)
	if commits := s.commits(p.Branch); len(commits[0].Parents) != 1 {
		t.Errorf("the head is %+v, want it made anew", commits[0])
	}
}

// The other button makes our commit anew, with the tree that it has there.
func TestARebaseByAPersonIsOurs(t *testing.T) {
	for name, update := range map[string]bool{"alone": false, "and_a_merge_of_the_base": true} {
		t.Run(name, func(t *testing.T) {
			s := behind(t, nil)
			p := proposal(newLock)
			s.must(s.hub.RebaseBranch(repoName, 1, "monalisa"))
			if update {
				s.pushTo("main", "README.md", "More still.\n")
				s.must(s.hub.UpdateBranch(repoName, 1, "monalisa"))
			}
			s.want(s.one(p), pr.None, 1)
			s.wantNoWrites()
			survey := s.look()
			s.want(s.only(s.proposeWith(pr.Options{Survey: survey}, p)), pr.None, 1)
			s.wantRequests(2)
			s.want(s.one(proposal(nextLock)), pr.Updated, 1)
			if c := s.commits(p.Branch)[0]; len(c.Parents) != 1 || c.Parents[0] != s.head("main") {
				t.Errorf("the head is %+v, want it made anew", c)
			}
		})
	}
}

// The base may have taken one of our files by then.
func TestAMergeOfABaseThatHasSomeOfItIsOurs(t *testing.T) {
	s := behind(t, nil)
	s.push(sandbox.Push{Branch: "main", Files: map[string]sandbox.File{"stage/.terraform.lock.hcl": {Mode: sandbox.ModeExecutable, Content: []byte(newLock)}}})
	s.must(s.hub.UpdateBranch(repoName, 1, "monalisa"))
	less := pr.New("all", "main", "", []pr.File{{Path: "prod/.terraform.lock.hcl", Content: []byte(newLock), Old: []byte(oldLock)}})
	less.Title, less.Subject, less.Body = "Less", "Less", safe.Const("Less.")
	s.want(s.one(less), pr.Updated, 1)
	s.want(s.one(less), pr.None, 1)
}

// A merge may hold anything, and so may a commit that was rebased. One that changes
// more than the base did is somebody's work, which is neither overwritten nor taken
// for ours.
func TestAnEvilUpdateIsNotOurs(t *testing.T) {
	tests := map[string]sandbox.File{
		"main.tf":                    {Mode: sandbox.ModeFile, Content: []byte("# evil\n")},
		"README.md":                  {Mode: sandbox.ModeFile, Content: []byte("Infrastructure.\n")}, // as if the base had not changed it
		"prod/.terraform.lock.hcl":   {Mode: sandbox.ModeFile, Content: []byte("# other\n")},
		"prod/.terraform.lock.hcl+x": {Mode: sandbox.ModeExecutable, Content: []byte(newLock)},
	}
	for how, update := range byButton {
		for name, file := range tests {
			t.Run(how+"_"+strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
				s := behind(t, nil)
				p := proposal(newLock)
				s.must(update(s.hub, repoName, 1, "monalisa"))
				theirs := s.push(sandbox.Push{
					Branch: p.Branch, Amend: true, Message: s.commits(p.Branch)[0].Message,
					Files: map[string]sandbox.File{strings.TrimSuffix(name, "+x"): file},
				})
				for _, o := range []pr.Outcome{s.one(proposal(nextLock)), s.one()} {
					if o.Operation != pr.None || !strings.Contains(o.Reason, "somebody else pushed") {
						t.Errorf("outcome = %s, %q; want that the branch is left alone", o.Operation, o.Reason)
					}
				}
				if got := s.head(p.Branch); got != theirs {
					t.Errorf("the branch is at %s, want %s", got, theirs)
				}
			})
		}
	}
}

// Nobody knows what our commit was rebased onto, if not onto the base.
func TestARebaseOntoSomebodysCommitIsNotOurs(t *testing.T) {
	s := behind(t, nil)
	p := proposal(newLock)
	ours := s.commits(p.Branch)[0].Message
	s.must(s.hub.RebaseBranch(repoName, 1, "monalisa"))
	s.push(sandbox.Push{Branch: p.Branch, Amend: true, Files: map[string]sandbox.File{
		"main.tf": {Mode: sandbox.ModeFile, Content: []byte("# mine\n")}, "prod/.terraform.lock.hcl": {Mode: sandbox.ModeFile, Content: []byte(oldLock)},
		"stage/.terraform.lock.hcl": {Mode: sandbox.ModeExecutable, Content: []byte(oldLock)},
	}})
	theirs := s.push(sandbox.Push{Branch: p.Branch, Message: ours, Files: map[string]sandbox.File{
		"prod/.terraform.lock.hcl": {Mode: sandbox.ModeFile, Content: []byte(newLock)}, "stage/.terraform.lock.hcl": {Mode: sandbox.ModeExecutable, Content: []byte(newLock)},
	}})
	s.want(s.one(proposal(nextLock)), pr.None, 1)
	if got := s.head(p.Branch); got != theirs {
		t.Errorf("the branch is at %s, want %s", got, theirs)
	}
}

// Where the base is rewritten, our branch has what the base has lost. It is made anew,
// so that a merge does not bring that back.
func TestARewrittenBaseMakesItsBranchesAnew(t *testing.T) {
	for name, first := range map[string]string{"with_a_common_commit": "More.\n", "with_none": ""} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			if first != "" {
				s.pushTo("main", "README.md", first)
			}
			p := proposal(newLock)
			s.want(s.one(p), pr.Created, 1)
			rewrite := func(text string) {
				s.push(sandbox.Push{Branch: "main", Amend: true, Files: map[string]sandbox.File{"README.md": {Mode: sandbox.ModeFile, Content: []byte(text)}}})
			}
			rewrite("Other.\n")
			s.want(s.one(p), pr.Updated, 1)
			if c := s.commits(p.Branch)[0]; len(c.Parents) != 1 || c.Parents[0] != s.head("main") || len(s.pull(1).Comments) > 0 {
				t.Errorf("the head is %+v, want it made anew on the base", c)
			}
			s.want(s.one(p), pr.None, 1)
			s.wantNoWrites()

			// Somebody's commit on it is kept, and so is what somebody rebased.
			rewrite("Others.\n")
			theirs := s.pushTo(p.Branch, "main.tf", "# mine\n")
			s.want(s.one(p), pr.None, 1)
			if got := s.head(p.Branch); got != theirs {
				t.Errorf("the branch is at %s, want %s", got, theirs)
			}
		})
	}
}

// Without updateRefs what the base has lost stays below ours, and out of its tree.
func TestARewrittenBaseWhereAServerCannotSwap(t *testing.T) {
	s := newScene(t)
	s.hub.WithoutUpdateRefs()
	p := proposal(newLock)
	s.pushTo("main", "README.md", "More.\n")
	s.want(s.one(p), pr.Created, 1)
	for _, text := range []string{"Other.\n", "Another.\n"} {
		s.push(sandbox.Push{Branch: "main", Amend: true, Files: map[string]sandbox.File{"README.md": {Mode: sandbox.ModeFile, Content: []byte(text)}}})
		s.want(s.one(p), pr.Updated, 1)
		if f := s.file(p.Branch, "README.md"); string(f.Content) != text {
			t.Errorf("README.md = %q, want what the base has", f.Content)
		}
		s.want(s.one(p), pr.None, 1)
		s.wantNoWrites()
	}
	s.want(s.one(), pr.Closed, 1)
}

// What a person turned down after an update is not proposed again.
func TestWhatWasTurnedDownAfterAnUpdateStaysSo(t *testing.T) {
	for name, update := range byButton {
		t.Run(name, func(t *testing.T) {
			s := behind(t, nil)
			p := proposal(newLock)
			s.must(update(s.hub, repoName, 1, "monalisa"))
			s.must(s.hub.Close(repoName, 1, "monalisa"))
			s.must(s.hub.DeleteBranch(repoName, p.Branch))
			o := s.one(p)
			if o.Operation != pr.None || len(s.pulls()) != 1 {
				t.Errorf("outcome = %s, %q, %d pull requests; want nothing", o.Operation, o.Reason, len(s.pulls()))
			}
		})
	}
}

func TestNothingIsDoneAboutAQueuedPullRequest(t *testing.T) {
	tests := map[string]func(*sandbox.GitHub){"with_GraphQL": nil, "without_GraphQL": (*sandbox.GitHub).WithoutGraphQL}
	for name, take := range tests {
		t.Run(name, func(t *testing.T) {
			s := behind(t, &sandbox.Protection{Queue: true})
			s.must(s.hub.Enqueue(repoName, 1, "monalisa"))
			if take != nil {
				take(s.hub)
			}
			body := s.pull(1).Body
			other := proposal(newLock)
			other.Facts = "others"
			for _, proposals := range [][]pr.Proposal{{proposal(newLock)}, {proposal(nextLock)}, {other}, nil} {
				o := s.one(proposals...)
				s.wantNoWrites()
				if o.Operation != pr.None || len(proposals) == 0 && o.Reason != "pull request #1 is in the merge queue" {
					t.Errorf("outcome = %s, %q; want that it waits for the queue", o.Operation, o.Reason)
				}
			}
			if p := s.pull(1); p.Ejections != 0 || !p.Queued || p.Body != body {
				t.Errorf("pull request = %+v, want it as it was", p)
			}
			s.must(s.hub.MergeQueued(repoName, 1))
			s.want(s.only(s.proposeWith(pr.Options{}, proposal(nextLock))), pr.Created, 2)
		})
	}
}

// It may come into the queue while a run is on its way.
func TestTheQueueIsLookedAtLast(t *testing.T) {
	s := behind(t, &sandbox.Protection{Queue: true})
	s.before("GET", "/pulls", func() { s.must(s.hub.Enqueue(repoName, 1, "monalisa")) })
	s.want(s.one(proposal(nextLock)), pr.None, 1)
	if p := s.pull(1); !p.Queued || p.Ejections != 0 {
		t.Errorf("pull request = %+v, want it in the queue", p)
	}
}

// fault spoils answers as a world's text says.
func (s *scene) fault(line string) {
	s.Helper()
	f, err := sandbox.ParseFault(line)
	s.must(err)
	s.sandbox.Inject(f)
}
