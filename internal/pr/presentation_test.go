package pr_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/settings"
)

// presented is a proposal with all that is set behind the opening.
func presented(content string) pr.Proposal {
	p := proposal(content)
	p.PullRequest = settings.PullRequest{
		Labels: []string{"dependencies"}, Reviewers: []string{"monalisa"}, TeamReviewers: []string{"platform"},
		Assignees: []string{"monalisa"}, Milestone: "v1", AutoMerge: "squash",
	}
	return p
}

// courteous is a scene whose repository knows all that presented asks for.
func courteous(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	s.must(s.hub.Configure(repoName, func(settings *sandbox.Settings) {
		settings.Teams, settings.Milestones, settings.AutoMerge = []string{"platform"}, []string{"v0", "v1"}, true
	}))
	return s
}

func TestProposeOpensDrafts(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	p.Draft = true
	s.want(s.one(p), pr.Created, 1)
	if !s.pull(1).Draft {
		t.Error("the pull request is no draft")
	}
}

func TestProposePresents(t *testing.T) {
	s := courteous(t)
	s.repo = s.as(sandbox.UserToken, nil)
	p := presented(newLock)
	p.Reviewers = []string{"octo"} // the author cannot review
	o := s.one(p)
	s.want(o, pr.Created, 1)
	if len(o.Warnings) > 0 {
		t.Errorf("warnings = %v, want none", o.Warnings)
	}
	got := s.pull(1)
	want := sandbox.PullRequest{
		Labels: p.Labels, Reviewers: p.Reviewers, Teams: p.TeamReviewers, Assignees: p.Assignees,
		Milestone: "v1", AutoMerge: "squash",
	}
	had := sandbox.PullRequest{
		Labels: got.Labels, Reviewers: got.Reviewers, Teams: got.Teams, Assignees: got.Assignees,
		Milestone: got.Milestone, AutoMerge: got.AutoMerge,
	}
	if diff := cmp.Diff(want, had); diff != "" {
		t.Errorf("presentation (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(got.Body, "What changes.\n\n<!--") {
		t.Errorf("body = %q, want the footer below the text", got.Body)
	}
	s.want(s.one(p), pr.None, 1)
	s.wantNoWrites()
}

func TestProposeWarnsOfWhatIsRefused(t *testing.T) {
	s := newScene(t) // knows no team and no milestone, and forbids auto-merge
	p := presented(newLock)
	p.Assignees = []string{"nobody"}
	o := s.one(p)
	s.want(o, pr.Created, 1)
	if len(o.Warnings) != 4 {
		t.Errorf("warnings = %v, want one each for team, assignee, milestone and auto-merge", o.Warnings)
	}
	if got := s.pull(1); len(got.Labels) != 1 || len(got.Reviewers) != 1 {
		t.Errorf("pull request = %+v, want its label and its reviewer", got)
	}
	// What was refused is not asked for again.
	s.want(s.one(p), pr.None, 1)
	s.wantNoWrites()
}

func TestProposeKeepsFromFightingOverLabels(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	p.Labels = nil
	s.one(p)
	p.Labels = []string{"dependencies"}
	s.want(s.one(p), pr.None, 1)
	next := proposal(nextLock)
	s.want(s.one(next), pr.Updated, 1)
	if labels := s.pull(1).Labels; len(labels) > 0 {
		t.Errorf("labels = %q, want those that people left", labels)
	}
}

// unlabelled is a scene whose repository has one of the two labels, with a token
// that has the permissions beside those for contents and pull requests.
func unlabelled(t *testing.T, permissions map[string]string) *scene {
	t.Helper()
	s := newScene(t)
	s.must(s.hub.Configure(repoName, func(settings *sandbox.Settings) { settings.Labels = []string{"Terraform"} }))
	s.permit(permissions)
	return s
}

// permit narrows the token of the workflow.
func (s *scene) permit(more map[string]string) {
	s.Helper()
	who := sandbox.Identity{Login: "github-actions[bot]", Bot: true, Permissions: map[string]string{"contents": "write", "pull_requests": "write"}}
	maps.Copy(who.Permissions, more)
	s.hub.Admit("ghs_narrow", who)
	s.repo = s.as("ghs_narrow", nil)
}

func TestDefaultLabelsAreSetWhereTheyExist(t *testing.T) {
	for name, permissions := range map[string]map[string]string{"least": nil, "may_create": {"issues": "write"}} {
		t.Run(name, func(t *testing.T) {
			s := unlabelled(t, permissions)
			o := s.one(proposal(newLock))
			s.want(o, pr.Created, 1)
			if got := s.pull(1).Labels; len(o.Warnings) > 0 || !slices.Equal(got, []string{"Terraform"}) {
				t.Errorf("labels = %q with warnings %v, want the one that exists and none", got, o.Warnings)
			}
			s.want(s.one(proposal(newLock)), pr.None, 1)
			s.wantNoWrites()
		})
	}
}

func TestChosenLabelsAreCreated(t *testing.T) {
	s := unlabelled(t, nil)
	p := proposal(newLock)
	p.CreateLabels = true
	o := s.one(p)
	s.want(o, pr.Created, 1)
	if got := s.pull(1).Labels; !slices.Equal(got, []string{"Terraform"}) {
		t.Errorf("labels = %q, want the one that exists", got)
	}
	if len(o.Warnings) != 1 || !strings.Contains(problem.Of(o.Warnings[0]).Hint, `add "issues: write" to its permissions`) {
		t.Errorf("warnings = %v, want one with the permission", o.Warnings)
	}
	// It is said once, and people set the label if they want it.
	s.permit(map[string]string{"issues": "write"})
	if o := s.one(p); o.Operation != pr.None || len(o.Warnings) > 0 {
		t.Errorf("second run = %v with warnings %v, want none", o.Operation, o.Warnings)
	}
	s.wantNoWrites()
}

func TestALabelThatIsRefusedLosesNoOther(t *testing.T) {
	s := unlabelled(t, map[string]string{"issues": "write"})
	s.sandbox.Inject(sandbox.Fault{
		Method: "POST", Path: "/github/api/v3/repos/octo/infra/issues/1/labels", Status: http.StatusUnprocessableEntity, Times: 1,
	})
	p := proposal(newLock)
	p.CreateLabels = true
	s.want(s.one(p), pr.Created, 1)
	if got := s.pull(1).Labels; len(got) != 2 {
		t.Errorf("labels = %q, want both", got)
	}
}

// No run presents what another one has opened, but asks for auto-merge.
func TestAnotherRunAsksForAutoMergeAlone(t *testing.T) {
	for name, next := range map[string]string{"same": newLock, "newer": nextLock} {
		t.Run(name, func(t *testing.T) {
			s := courteous(t)
			s.must(s.hub.Protect(repoName, "main", &sandbox.Protection{Checks: true}))
			ctx, end := context.WithCancel(context.Background())
			s.before("POST", "/issues/1/labels", end)
			pr.Propose(ctx, s.repo, []pr.Proposal{presented(newLock)}, pr.Options{Base: "main", SHA: s.head("main")})
			s.wantAutoMerge("")
			s.want(s.one(presented(next)), pr.Updated, 1)
			if got := s.pull(1); len(got.Reviewers)+len(got.Teams) > 0 || got.AutoMerge != "squash" {
				t.Errorf("pull request = %+v, want auto-merge alone", got)
			}
			s.want(s.one(presented(next)), pr.None, 1)
			s.wantNoWrites()
		})
	}
}

// The run that opens a pull request presents it, also if it hears of the opening late.
func TestAPullRequestWhoseOpeningWasNotAnsweredIsPresented(t *testing.T) {
	s := courteous(t)
	s.repo = s.as(sandbox.UserToken, nil)
	s.fault("POST /github/api/v3/repos/octo/infra/pulls done 502 times=1")
	p := presented(newLock)
	p.Reviewers = nil // the author cannot review
	s.want(s.one(p), pr.Created, 1)
	if got := s.pull(1); len(got.Labels) != 1 || len(got.Teams) != 1 || got.Milestone != "v1" {
		t.Errorf("pull request = %+v, want its presentation", got)
	}
}

func TestWhatAServerErrorHasCostIsSaidOnce(t *testing.T) {
	s := newScene(t)
	s.sandbox.Inject(sandbox.Fault{
		Method: "POST", Path: "/github/api/v3/repos/octo/infra/issues/1/labels", Status: http.StatusBadGateway, Times: 1,
	})
	o := s.one(proposal(newLock))
	s.want(o, pr.Created, 1)
	if len(o.Warnings) != 1 {
		t.Errorf("warnings = %v, want one", o.Warnings)
	}
	o = s.one(proposal(newLock))
	s.want(o, pr.None, 1)
	if len(o.Warnings) > 0 || len(s.pull(1).Labels) > 0 {
		t.Errorf("warnings = %v, labels %q; want neither", o.Warnings, s.pull(1).Labels)
	}
	s.wantNoWrites()
}

func TestProposeEditsTheTextWhenAFactChanges(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	p.Facts = "held back: none"
	s.one(p)
	head := s.head(p.Branch)
	p.Facts, p.Body = "held back: 6.0.0", safe.Const("What changes, and what is held back.")
	s.want(s.one(p), pr.Updated, 1)
	s.wantRequests(6)
	if got := s.pull(1); !strings.HasPrefix(got.Body, p.Body.String()) || s.head(p.Branch) != head {
		t.Errorf("body = %q at %s, want the new one at %s", got.Body, s.head(p.Branch), head)
	}
	s.want(s.one(p), pr.None, 1)
	// Words alone are no reason to write to those who watch.
	p.Body = safe.Const("The same in other words.")
	s.want(s.one(p), pr.None, 1)
	s.wantNoWrites()
}

func TestLimitOfOpenPullRequests(t *testing.T) {
	s := newScene(t)
	limit := pr.Options{Limit: 2}
	groups := []string{"a", "b", "c"}
	all := func(content string) []pr.Proposal {
		var proposals []pr.Proposal
		for _, g := range groups {
			proposals = append(proposals, proposalFor(g, content))
		}
		return proposals
	}
	operations := func(outcomes []pr.Outcome) string {
		var ops []string
		for _, o := range outcomes {
			if o.Err != nil {
				t.Errorf("%s: %v", o.Group, o.Err)
			}
			ops = append(ops, o.Group+" "+string(o.Operation))
		}
		return strings.Join(ops, ", ")
	}
	got := s.proposeWith(limit, all(newLock)...)
	if ops := operations(got); ops != "a created, b created, c none" {
		t.Errorf("first run: %s, want c to wait", ops)
	}
	if reason := got[2].Reason; !strings.Contains(reason, "2 pull requests are open") || s.head(got[2].Branch) != "" {
		t.Errorf("reason = %q, want the limit, and no branch", reason)
	}
	if ops := operations(s.proposeWith(limit, all(nextLock)...)); ops != "a updated, b updated, c none" {
		t.Errorf("second run: %s, want what is open to be updated", ops)
	}
	// What the run closes makes room, whatever stands in front of it.
	got = s.proposeWith(limit, proposalFor("c", nextLock), proposalFor("b", nextLock))
	if ops := operations(got); ops != "c created, b none, a closed" {
		t.Errorf("third run: %s, want c in the place of a", ops)
	}
	// One that a person closed counts no longer, though its branch stays.
	s.must(s.hub.Close(repoName, 2, "monalisa"))
	if ops := operations(s.proposeWith(limit, all(nextLock)...)); ops != "a created, b none, c none" {
		t.Errorf("fourth run: %s, want a in the place of b", ops)
	}
}

func TestProposeForSeveralBases(t *testing.T) {
	s := newScene(t)
	onRelease := pr.New("a group", "release", "", []pr.File{{Path: "x/.terraform.lock.hcl", Content: []byte(newLock)}})
	onRelease.Title, onRelease.Subject, onRelease.Body = "Bump", "Bump", safe.Const("Text.")
	both := []string{"main", "release"}
	s.want(s.only(s.proposeWith(pr.Options{Base: "release", Bases: both}, onRelease)), pr.Created, 1)
	s.one(proposal(newLock))

	// A run over one base leaves the other's alone.
	if got := s.proposeWith(pr.Options{Bases: both}, proposal(newLock)); len(got) != 1 || got[0].Operation != pr.None {
		t.Errorf("run over main = %+v, want nothing to be done", got)
	}
	s.wantNoWrites()
	// A name alone tells of most branches that they are for another base.
	if got := s.proposeWith(pr.Options{Base: "release", Bases: both}, onRelease); len(got) != 1 {
		t.Errorf("run over release = %+v, want the outcome of its proposal", got)
	}
	s.wantRequests(3)

	// release is configured no longer.
	got := s.proposeWith(pr.Options{Bases: []string{"main"}}, proposal(newLock))
	if len(got) != 2 || got[1].Operation != pr.Closed || got[1].Number != 1 || got[1].Err != nil {
		t.Fatalf("run over main = %+v, want #1 closed", got)
	}
	pull := s.pull(1)
	if len(pull.Comments) != 1 || !strings.Contains(pull.Comments[0].Body, "no longer configured to propose to `release`") {
		t.Errorf("comments = %+v, want the reason", pull.Comments)
	}
	if s.head(onRelease.Branch) != "" {
		t.Errorf("branch %s is still there", onRelease.Branch)
	}
}

func TestProposeRemovesTheBranchOfABaseThatIsGone(t *testing.T) {
	for _, touched := range []bool{false, true} {
		s := sceneOf(t, startWorld)
		onRelease := pr.New("all", "release", "", []pr.File{{Path: "x/.terraform.lock.hcl", Content: []byte(newLock)}})
		onRelease.Title, onRelease.Subject, onRelease.Body = "Bump", "Bump", safe.Const("Text.")
		s.only(s.proposeWith(pr.Options{Base: "release"}, onRelease))
		if touched {
			s.pushTo(onRelease.Branch, "main.tf", "# mine\n")
		}
		s.must(s.hub.DeleteBranch(repoName, "release"))
		o := s.only(s.proposeWith(pr.Options{Bases: []string{"main"}}))
		if gone := s.head(onRelease.Branch) == ""; gone == touched {
			t.Errorf("touched %t: outcome = %+v, branch gone: %t", touched, o, gone)
		}
	}
}

func TestProposeAfterSomebodysCommitsWereMerged(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	s.pushTo(p.Branch, "prod/main.tf", "# mine\n")
	s.one(p)
	s.merge(1)
	s.want(s.one(), pr.None, 0)
	if s.head(p.Branch) != "" {
		t.Errorf("branch %s is still there", p.Branch)
	}

	// The same where something is wanted again before a run removes the branch.
	s.one(proposal(nextLock))
	s.pushTo(p.Branch, "stage/main.tf", "# mine\n")
	s.merge(2)
	s.want(s.one(proposal("# version 4\n")), pr.Created, 3)
}

func TestProposeRebasesWhenTheBoxIsChecked(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	s.one(p)
	base := s.pushTo("main", "README.md", "New text.\n")
	s.must(s.hub.Tick(repoName, 1, "rebuild the branch"))
	s.want(s.one(p), pr.Updated, 1)
	s.wantRequests(12)
	if c := s.commits(p.Branch)[0]; c.Parents[0] != base {
		t.Errorf("parents = %q, want the present base %s", c.Parents, base)
	}
	if body := s.pull(1).Body; !strings.Contains(body, "- [ ] <!-- relock-rebase -->") {
		t.Errorf("body = %q, want the box empty", body)
	}
	s.want(s.one(p), pr.None, 1)
	// Where nothing has moved the box is cleared all the same.
	head := s.head(p.Branch)
	s.must(s.hub.Tick(repoName, 1, "rebuild the branch"))
	s.want(s.one(p), pr.Updated, 1)
	if s.head(p.Branch) != head {
		t.Errorf("head = %s, want it where it was, %s", s.head(p.Branch), head)
	}
	s.want(s.one(p), pr.None, 1)
}

// One wrong login refuses the request for all reviewers.
func TestProposeAsksTheReviewersThatThereAre(t *testing.T) {
	s := newScene(t)
	p := proposal(newLock)
	p.Reviewers = []string{"monalisa", "nobody-here", "hubot"}
	s.must(s.hub.SetRole(repoName, "hubot", sandbox.RoleWrite))
	s.must(s.hub.SetRole(repoName, "nobody-here", sandbox.RoleNone))
	o := s.one(p)
	if len(o.Warnings) != 1 {
		t.Errorf("warnings = %v, want one for the login that is wrong", o.Warnings)
	}
	if got := s.pull(1).Reviewers; !slices.Equal(got, []string{"monalisa", "hubot"}) {
		t.Errorf("reviewers = %q, want the others", got)
	}
}
