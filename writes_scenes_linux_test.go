package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/bubble"
)

// writeScene is a world in which the next run makes some writes.
type writeScene struct {
	name string
	args []string // of relock; none: it answers a comment
	// prepare brings the world to where the run begins. Runs of it are undisturbed.
	prepare func(*stage)
	status  int // of an undisturbed run
	// later says that the next run begins when all of GitHub has heard of the write: nothing
	// keeps it from having an issue twice, and the run after that closes the younger one.
	later bool
	// swept says that what is left of a branch is for the next scheduled run.
	swept bool
}

// written is a write in a scene: a row of the table.
type written struct {
	write string // the method that makes it
	scene *writeScene
	// named distinguishes the rows of one write.
	named    string
	requests pattern
	// lesser says that no pull request is lost for it: a refusal is said once, and not tried
	// again by each run. once says the same of any failure.
	lesser, once bool
}

func (w written) String() string {
	if w.named == "" {
		return w.write
	}
	return w.write + ", " + w.named
}

// graphql reports whether the write is a mutation.
func (w written) graphql() bool { return w.requests.fault == graphqlWrite }

// The requests of writes, as faults have them.
const (
	writesRepository = "/github/api/v3/repos/acme/infra/"
	graphqlWrite     = "POST /github/api/graphql"
)

func rest(method, below string) pattern {
	return pattern{fault: method + " " + writesRepository + below}
}

func mutation(name string) pattern { return pattern{graphqlWrite, name} }

// with is the pattern for requests whose bodies have a text, too.
func (p pattern) with(text string) pattern { return pattern{p.fault, text} }

var scheduled = []string{"pr", "--repo", matrixRepository, "--jobs", "1"}

// organised is a run over an organisation, as its only shard, so that it writes a comment.
var organised = []string{"pr", "--org", "acme", "--jobs", "1", "--shard", "1/1", "--dashboard-repository", matrixRepository}

// The scenes of the writes.
var (
	firstProposal = &writeScene{name: "a first proposal", args: scheduled, prepare: func(*stage) {}}
	nextVersion   = &writeScene{name: "another version", args: scheduled, prepare: func(s *stage) {
		s.runs(scheduled)
		s.push("main", "live/main.tf", atMost("1.1.0"))
	}}
	oldServer = &writeScene{name: "a server without updateRefs", args: scheduled, prepare: func(s *stage) {
		s.hub().WithoutUpdateRefs()
		s.runs(scheduled)
		s.push("main", "live/main.tf", atMost("1.1.0"))
	}}
	forAPerson = &writeScene{name: "a root module that cannot be read", args: scheduled, status: 1, prepare: func(s *stage) {
		s.runs(scheduled)
		s.push("main", "live/main.tf", atMost("1.1.0"))
		s.push("main", "attended/main.tf", "resource \"null_resource\" {\n")
		s.push("main", "attended/.terraform.lock.hcl", firstLock)
	}}
	behindBase = &writeScene{name: "a base that demands to be merged", args: scheduled, prepare: func(s *stage) {
		s.must(s.hub().Protect(matrixRepository, "main", &sandbox.Protection{Strict: true, Reviews: 1, Ruleset: true}))
		s.runs(scheduled)
		s.push("main", "README.md", "more\n")
		s.must(s.hub().Approve(matrixRepository, 1, "hubot"))
	}}
	pushedTo = &writeScene{name: "a person's push", args: scheduled, prepare: func(s *stage) {
		s.runs(scheduled)
		s.push(s.pull(1).Head, "live/extra.tf", "# a person's\n")
		s.push("main", "live/main.tf", atMost("1.1.0"))
	}}
	nothingLeft = &writeScene{name: "nothing left to do", args: scheduled, prepare: func(s *stage) {
		s.runs(scheduled)
		s.push("main", "live/.terraform.lock.hcl", s.file(s.pull(1).Head, "live/.terraform.lock.hcl"))
	}}
	firstIssue = &writeScene{name: "a first issue", args: scheduled, later: true, prepare: func(s *stage) {
		s.push("main", ".github/relock.yml", writesSettings+"  limit: 1\ngroup-by: directory\ndashboard:\n  issue: true\n")
		s.adds("more")
	}}
	nextIssue = &writeScene{name: "news for the issue", args: scheduled, later: true, prepare: func(s *stage) {
		firstIssue.prepare(s)
		s.runs(scheduled)
		s.adds("third")
	}}
	noIssue = &writeScene{name: "no issue any more", args: scheduled, later: true, prepare: func(s *stage) {
		firstIssue.prepare(s)
		s.runs(scheduled)
		s.push("main", ".github/relock.yml", writesSettings+"  limit: 1\ngroup-by: directory\ndashboard:\n  issue: false\n")
	}}
	firstPage = &writeScene{name: "a first page of an organisation", args: organised, later: true, prepare: func(s *stage) { s.isPerson() }}
	nextPage  = &writeScene{name: "news for the page", args: organised, later: true, prepare: func(s *stage) {
		s.isPerson()
		s.runs(organised)
		s.adds("more")
	}}
	byApp = &writeScene{name: "a GitHub App", args: scheduled, prepare: func(s *stage) {
		app, err := s.hub().Credentials("relock")
		s.must(err)
		s.environ = slices.DeleteFunc(s.environ, func(e string) bool { return strings.HasPrefix(e, "GITHUB_TOKEN=") })
		s.environ = append(s.environ, fmt.Sprintf("RELOCK_APP_ID=%d", app.ID), "RELOCK_APP_PRIVATE_KEY="+string(app.Key))
	}}

	lockAsked = &writeScene{name: "`/relock lock`", prepare: func(s *stage) {
		s.push("topic", "live/extra.tf", "# more\n")
		s.opens("topic")
		s.comments(1, "/relock lock")
	}}
	lockConflict = &writeScene{name: "`/relock lock` in a conflict", prepare: func(s *stage) {
		s.push("topic", "live/.terraform.lock.hcl", strings.Replace(firstLock, "1.0.0", "1.1.0", 1))
		s.push("main", "live/.terraform.lock.hcl", strings.Replace(firstLock, "1.0.0", "1.2.0", 1))
		s.opens("topic")
		s.comments(1, "/relock lock")
	}}
	rebaseAsked = &writeScene{name: "`/relock rebase`", prepare: func(s *stage) {
		s.runs(scheduled)
		s.push("main", "live/main.tf", atMost("1.1.0"))
		s.comments(1, "/relock rebase")
	}}
	closeAsked = &writeScene{name: "`/relock close`", swept: true, prepare: func(s *stage) {
		s.runs(scheduled)
		s.comments(1, "/relock close")
	}}
	reopenAsked = &writeScene{name: "`/relock reopen`", prepare: func(s *stage) {
		s.runs(scheduled)
		s.must(s.hub().Close(matrixRepository, 1, "monalisa"))
		s.must(s.hub().DeleteBranch(matrixRepository, s.pull(1).Head))
		s.comments(1, "/relock reopen")
	}}
	ignoreAsked = &writeScene{name: "`/relock ignore`", prepare: func(s *stage) {
		s.runs(scheduled)
		s.comments(1, "/relock ignore hashicorp/null 1.2.0")
	}}
	refused = &writeScene{name: "a command that is refused", prepare: func(s *stage) {
		s.opens("topic")
		s.comments(1, "/relock rebase")
	}}
)

// writes are the rows of the table.
var writes = []written{
	{"CreateTree", firstProposal, "of a proposal", rest("POST", "git/trees"), false, false},
	{"CreateTree", lockAsked, "for a person's branch", rest("POST", "git/trees"), false, false},
	{"CreateTree", lockConflict, "for a merge", rest("POST", "git/trees"), false, false},
	{"CreateCommit", firstProposal, "of a proposal", rest("POST", "git/commits"), false, false},
	{"CreateCommit", lockAsked, "for a person's branch", rest("POST", "git/commits"), false, false},
	{"CreateCommit", lockConflict, "for a merge", rest("POST", "git/commits"), false, false},
	{"CreateBranch", firstProposal, "of a proposal", rest("POST", "git/refs"), false, false},
	{"CreateBranch", lockConflict, "for a merge", rest("POST", "git/refs"), false, false},
	{"CreateBranch", reopenAsked, "to reopen", rest("POST", "git/refs"), false, false},
	{"ReplaceBranch", nextVersion, "", mutation("updateRefs"), false, false},
	{"ReplaceBranch", rebaseAsked, "by a comment", mutation("updateRefs"), false, false},
	{"FastForward", oldServer, "of a proposal", rest("PATCH", "git/refs/..."), false, false},
	{"FastForward", lockAsked, "of a person's branch", rest("PATCH", "git/refs/..."), false, false},
	{"DeleteBranch", nothingLeft, "of a proposal", mutation("updateRefs"), false, false},
	{"DeleteBranch", closeAsked, "by a comment", mutation("updateRefs"), false, false},
	{"DeleteBranch", lockConflict, "of a merge", mutation("updateRefs"), false, false},
	{"Merge", lockConflict, "", rest("POST", "merges"), false, false},
	{"UpdateBranch", behindBase, "", rest("PUT", "pulls/1/update-branch"), false, false},
	{"OpenPullRequest", firstProposal, "", rest("POST", "pulls"), false, false},
	{"EditPullRequest", firstProposal, "after auto-merge is on", rest("PATCH", "pulls/1"), false, false},
	{"EditPullRequest", nextVersion, "of a newer text", rest("PATCH", "pulls/1"), false, false},
	{"EditPullRequest", pushedTo, "after a person's push", rest("PATCH", "pulls/1"), false, false},
	{"EditPullRequest", nothingLeft, "to close", rest("PATCH", "pulls/1"), false, false},
	{"EditPullRequest", closeAsked, "to close by a comment", rest("PATCH", "pulls/1"), false, false},
	{"EditPullRequest", reopenAsked, "to reopen", rest("PATCH", "pulls/1"), false, false},
	{"EditPullRequest", ignoreAsked, "to note what is ignored", rest("PATCH", "pulls/1"), false, false},
	{"Label", firstProposal, "", rest("POST", "issues/1/labels"), true, true},
	{"RequestReviewers", firstProposal, "", rest("POST", "pulls/1/requested_reviewers"), true, true},
	{"Assign", firstProposal, "", rest("POST", "issues/1/assignees"), true, true},
	{"SetMilestone", firstProposal, "", rest("PATCH", "issues/1"), true, true},
	{"EnableAutoMerge", firstProposal, "", mutation("enablePullRequestAutoMerge"), true, false},
	{"DisableAutoMerge", forAPerson, "", mutation("disablePullRequestAutoMerge"), false, false},
	{"PostComment", pushedTo, "after a person's push", rest("POST", "issues/1/comments"), false, false},
	{"PostComment", nothingLeft, "with a closing", rest("POST", "issues/1/comments"), false, false},
	{"PostComment", lockAsked, "before a push", rest("POST", "issues/1/comments"), false, false},
	{"PostComment", refused, "with a refusal", rest("POST", "issues/1/comments"), false, false},
	{"EditComment", lockAsked, "after a push", rest("PATCH", "issues/comments/*"), false, false},
	{"EditComment", closeAsked, "after a closing", rest("PATCH", "issues/comments/*"), false, false},
	{"React", lockAsked, "with eyes", rest("POST", "issues/comments/*/reactions").with("eyes"), false, false},
	{"React", lockAsked, "with a rocket", rest("POST", "issues/comments/*/reactions").with("rocket"), false, false},
	{"CreateIssue", firstIssue, "", rest("POST", "issues"), false, false},
	{"EditIssue", nextIssue, "", rest("PATCH", "issues/2"), false, false},
	{"EditIssue", noIssue, "to close", rest("PATCH", "issues/2"), false, false},
	{"CreateIssue", firstPage, "of an organisation", rest("POST", "issues"), false, false},
	{"EditIssue", nextPage, "of an organisation", rest("PATCH", "issues/*"), false, false},
	{"PostComment", firstPage, "of a shard", rest("POST", "issues/*/comments"), false, false},
	{"EditComment", nextPage, "of a shard", rest("PATCH", "issues/comments/*"), false, false},
	{"mint", byApp, "", pattern{fault: "POST /github/api/v3/app/installations/*/access_tokens"}, false, false},
}

// atMost is a root module that admits no newer version.
func atMost(version string) string {
	return strings.NewReplacer("SOURCE", plainProvider, "VERSION", "<= "+version).Replace(requiresNull)
}

const firstLock = "provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"1.0.0\"\n}\n"

// writesSettings are those of the repository.
const writesSettings = `version: 1
platforms: [linux_amd64]
pull-request:
  labels: [dependencies, terraform]
  reviewers: [hubot]
  assignees: [hubot]
  milestone: next
  auto-merge: squash
`

// writesWorld is the world of all scenes.
const writesWorld = `
-- registry/registry.terraform.io/hashicorp/null --
versions: [1.0.0, 1.1.0, 1.2.0]
platforms: [linux_amd64, darwin_arm64]
-- apps --
relock: {id: 12, permissions: {metadata: read, contents: write, pull_requests: write, issues: write}, repositories: [acme/infra]}
-- settings/acme/infra --
auto_merge: true
labels: [dependencies, terraform]
milestones: [next]
people: {hubot: write}
protect: {main: {reviews: 1, ruleset: true}}
-- github/acme/infra/main/.github/relock.yml --
` + writesSettings + `-- github/acme/infra/main/live/main.tf --
resource "null_resource" "x" {}
-- github/acme/infra/main/live/.terraform.lock.hcl --
` + firstLock

// stage is a world of a scene.
type stage struct {
	*running
	t       *testing.T
	attempt int // of the job
}

func (scene *writeScene) begin(t *testing.T) *stage {
	t.Helper()
	k := &kind{staged: staged{hosts: true}}
	s := &stage{k.startIn(t, writesWorld, new(bubble.Net)), t, 1}
	scene.prepare(s)
	s.args = scene.words()
	return s
}

// words are those of the command line.
func (scene *writeScene) words() []string {
	if scene.args == nil {
		return []string{"comment"}
	}
	return scene.args
}

// isPerson has relock use a person's token: that of a workflow reaches one repository.
func (s *stage) isPerson() {
	s.environ = slices.DeleteFunc(s.environ, func(e string) bool { return strings.HasPrefix(e, "GITHUB_TOKEN=") })
	s.environ = append(s.environ, "GITHUB_TOKEN="+sandbox.UserToken)
}

func (s *stage) hub() *sandbox.GitHub { return s.sandbox.GitHub() }

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// runs runs relock where nothing goes wrong.
func (s *stage) runs(args []string) {
	s.t.Helper()
	s.args = args
	if c := s.here(s.t); c.Status != 0 {
		s.t.Fatalf("an undisturbed run ends with status %d:\n%s", c.Status, c.Output)
	}
}

func (s *stage) push(branch, name, content string) {
	s.t.Helper()
	_, err := s.hub().Push(matrixRepository, sandbox.Push{Branch: branch, Files: map[string]sandbox.File{
		name: {Mode: sandbox.ModeFile, Content: []byte(content)},
	}})
	s.must(err)
}

// adds adds a root module that waits for a newer version.
func (s *stage) adds(dir string) {
	s.t.Helper()
	s.push("main", dir+"/main.tf", atMost("1.1.0"))
	s.push("main", dir+"/.terraform.lock.hcl", firstLock)
}

func (s *stage) opens(branch string) {
	s.t.Helper()
	if _, known := s.refs()["refs/heads/"+branch]; !known {
		s.push(branch, "live/extra.tf", "# more\n")
	}
	_, err := s.hub().Open(matrixRepository, branch, "main", "Mine", "monalisa")
	s.must(err)
}

func (s *stage) pull(number int) sandbox.PullRequest {
	s.t.Helper()
	pulls, err := s.hub().Pulls(matrixRepository)
	s.must(err)
	return pulls[number-1]
}

func (s *stage) refs() map[string]string {
	s.t.Helper()
	refs, err := s.hub().Refs(matrixRepository)
	s.must(err)
	return refs
}

func (s *stage) file(ref, name string) string {
	s.t.Helper()
	files, err := s.hub().Files(matrixRepository, ref)
	s.must(err)
	return string(files[name].Content)
}

// comments lets a person give a command, and the next runs answer it.
func (s *stage) comments(number int, text string) {
	s.t.Helper()
	id, err := s.hub().Comment(matrixRepository, number, "monalisa", text)
	s.must(err)
	payload, err := s.hub().CommentEvent(matrixRepository, id, "created", "monalisa")
	s.must(err)
	file := filepath.Join(s.home, "event.json")
	mustWrite(s.t, file, payload)
	s.environ = append(s.environ, "GITHUB_EVENT_NAME=issue_comment", "GITHUB_EVENT_PATH="+file, "GITHUB_REPOSITORY="+matrixRepository)
}

// again runs the job once more, as "Re-run jobs" does.
func (s *stage) again() cost {
	s.t.Helper()
	s.attempt++
	s.environ = append(s.environ, fmt.Sprintf("GITHUB_RUN_ATTEMPT=%d", s.attempt))
	s.sandbox.ResetRequests()
	return s.here(s.t)
}
