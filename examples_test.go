//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/described"
)

// workflow is a file of examples/workflows.
type workflow struct {
	Name        string
	On          map[string]any
	Permissions map[string]string
	Concurrency any
	Jobs        map[string]struct {
		If       string
		Strategy struct {
			FailFast *bool `yaml:"fail-fast"`
			Matrix   struct{ Shard []string }
		}
		Concurrency any
		Steps       []struct {
			Uses string
			With map[string]string
		}
	}
}

// TestExampleConfigurations has relock read the configuration files among the examples.
func TestExampleConfigurations(t *testing.T) {
	names, err := filepath.Glob("examples/*.yml")
	if err != nil || len(names) == 0 {
		t.Fatalf("there is no example: %v", err)
	}
	for _, name := range names {
		if err := judgeYAML(content(t, name), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// workflows are the examples for GitHub by the names of their files.
func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	names, err := filepath.Glob(examplesDir + "/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]workflow{}
	for _, name := range names {
		if filepath.Base(name) == "gitlab-ci.yml" {
			continue
		}
		var w workflow
		if err := yaml.Unmarshal([]byte(content(t, name)), &w); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[filepath.Base(name)] = w
	}
	return all
}

// relockSteps are the inputs of the steps that run the action.
func (w workflow) relockSteps() []map[string]string {
	var steps []map[string]string
	for _, job := range w.Jobs {
		for _, step := range job.Steps {
			if step.Uses == "relock-dev/relock@v1" {
				steps = append(steps, step.With)
			}
		}
	}
	return steps
}

// TestReadmeWorkflow holds the workflow in the README to the example that is
// tested.
func TestReadmeWorkflow(t *testing.T) {
	t.Parallel()
	yaml := slices.DeleteFunc(read(t, "README.md").fences, func(f fence) bool { return f.language != "yaml" })
	if len(yaml) == 0 {
		t.Fatal("the README has no workflow")
	}
	if diff := cmp.Diff(content(t, examplesDir+"/relock.yml"), yaml[0].code); diff != "" {
		t.Errorf("the README's first workflow (-example +README):\n%s", diff)
	}
	for name := range workflows(t) {
		leads := func(d document) bool { return strings.Contains(d.text, examplesDir+"/"+name) }
		if !slices.ContainsFunc(people(documents(t, os.DirFS("."))), leads) {
			t.Errorf("no document leads to %s/%s", examplesDir, name)
		}
	}
}

// TestExamplesAreSound holds what people copy to rules that no linter knows.
func TestExamplesAreSound(t *testing.T) {
	t.Parallel()
	inputs := actionFile(t).Inputs
	for name, w := range workflows(t) {
		steps := w.relockSteps()
		want := 1
		if name == "get.yml" {
			want = 2 // before and after init
		}
		if len(steps) != want || len(w.Permissions) == 0 {
			t.Errorf("%s has %d steps of relock and the permissions %v", name, len(steps), w.Permissions)
		}
		for _, with := range steps {
			for input := range with {
				if _, ok := inputs[input]; !ok {
					t.Errorf("%s sets the input %s, which action.yml lacks", name, input)
				}
			}
		}
		text := content(t, filepath.Join(examplesDir, name))
		for event := range w.On {
			// A run that saves the cache decides what lock files say.
			if event != "schedule" && event != "workflow_dispatch" && regexp.MustCompile(`actions/cache(/save)?@`).MatchString(text) {
				t.Errorf("%s saves the cache in runs for %s", name, event)
			}
		}
		if strings.Contains(text, "persist-credentials: true") || strings.Count(text, "actions/checkout@") != strings.Count(text, "persist-credentials: false") {
			t.Errorf("%s leaves a token in the checkout", name)
		}
	}
	comments := workflows(t)["comments.yml"]
	// A group cancels the waiting command when the next one comes.
	if comments.Concurrency != nil || comments.Jobs["answer"].Concurrency != nil || len(comments.On) != 1 {
		t.Errorf("comments.yml has a concurrency group, or other events: %v", comments.On)
	}
	if diff := cmp.Diff(any(map[string]any{"types": []any{"created"}}), comments.On["issue_comment"]); diff != "" {
		t.Errorf("on: issue_comment (-want +got):\n%s", diff)
	}
	const condition = `(startsWith(github.event.comment.body, '/relock') || contains(github.event.comment.body, fromJSON('"\n/relock"'))) && (github.event.issue.pull_request || contains(github.event.issue.body, '<!-- relock-dashboard:'))`
	if got := comments.Jobs["answer"].If; got != condition {
		t.Errorf("if: %s, want %s: every comment on every issue starts a runner", got, condition)
	}
	// relock's own edits must start no runner.
	page := workflows(t)["dashboard.yml"]
	if diff := cmp.Diff(map[string]any{"issues": map[string]any{"types": []any{"edited"}}}, page.On); diff != "" {
		t.Errorf("on: in dashboard.yml (-want +got):\n%s", diff)
	}
	const ofPeople = "github.event.sender.type == 'User' && contains(github.event.issue.body, '<!-- relock-dashboard:')"
	if got := page.Jobs["relock"].If; got != ofPeople {
		t.Errorf("if: %s, want %s", got, ofPeople)
	}
	// A required workflow that is skipped stays pending for ever. A pull request is edited when
	// it gets another base.
	pulls := map[string]any{"types": []any{"opened", "synchronize", "reopened", "edited"}}
	if diff := cmp.Diff(map[string]any{"pull_request": pulls, "merge_group": nil}, workflows(t)["check.yml"].On); diff != "" {
		t.Errorf("on: in check.yml (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(any(pulls), workflows(t)["verify.yml"].On["pull_request"]); diff != "" {
		t.Errorf("on: pull_request in verify.yml (-want +got):\n%s", diff)
	}
}

const examplesWorld = `
-- apps --
relock: {id: 12, permissions: {metadata: read, contents: write, pull_requests: write, issues: write}, repositories: [acme/infra]}
-- registry/registry.terraform.io/hashicorp/null --
versions: [3.2.2, 3.2.4]
-- github/acme/infra/main/live/main.tf --
resource "null_resource" "x" {}
-- github/acme/infra/main/live/.terraform.lock.hcl --
provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.2"
}
-- github/acme/infra/topic/live/main.tf --
resource "null_resource" "x" {}
resource "null_resource" "y" {}
-- github/acme/infra/topic/live/.terraform.lock.hcl --
provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.2"
}
`

// example is a run of a workflow in the sandbox.
type example struct {
	event  string
	branch string // what is checked out
	// payload is what the runner has of the event.
	payload func(t *testing.T, hub *sandbox.GitHub) string
	status  int
	outputs []string // lines of the step's outputs
	pulls   int      // pull requests by relock afterwards
	changes bool     // whether the lock file in the checkout changes
	// apart says that it also runs without an App, by the workflow's own token.
	apart bool
}

// forbidden is GitHub's status for a token without the permission: but not in a port.
var forbidden = regexp.MustCompile(`\b403\b`)

// TestExamplesRun runs the relock step of each example as its job would, with a
// token that has the permissions of that workflow and no others.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	none := func(*testing.T, *sandbox.GitHub) string { return `{"repository": {"default_branch": "main"}}` }
	pull := func(t *testing.T, hub *sandbox.GitHub) string {
		_, err := hub.Open("acme/infra", "topic", "main", "More", "monalisa")
		check(t, err)
		sha := func(branch string) string {
			commits, err := hub.Commits("acme/infra", branch)
			check(t, err)
			return commits[0].SHA
		}
		return fmt.Sprintf(`{"pull_request": {"head": {"sha": %q, "repo": {"full_name": "acme/infra"}}, "base": {"sha": %q, "repo": {"full_name": "acme/infra"}}}}`,
			sha("topic"), sha("main"))
	}
	runs := map[string]example{
		"relock.yml": {event: "schedule", branch: "main", payload: none, outputs: []string{"created", "true"}, pulls: 1},
		"app.yml":    {event: "schedule", branch: "main", payload: none, outputs: []string{"created", "true"}, pulls: 1},
		"comments.yml": {event: "issue_comment", branch: "main", payload: func(t *testing.T, hub *sandbox.GitHub) string {
			number, err := hub.Open("acme/infra", "topic", "main", "More", "monalisa")
			check(t, err)
			id, err := hub.Comment("acme/infra", number, "monalisa", "/relock lock")
			check(t, err)
			event, err := hub.CommentEvent("acme/infra", id, "created", "monalisa")
			check(t, err)
			return string(event)
		}, apart: true},
		"dashboard.yml": {event: "issues", branch: "main", payload: func(t *testing.T, hub *sandbox.GitHub) string {
			_, err := hub.Push("acme/infra", sandbox.Push{Branch: "main", Files: map[string]sandbox.File{
				".github/relock.yml": {Content: []byte("version: 1\ndashboard: {issue: true}\n")},
			}})
			check(t, err)
			number, err := hub.OpenIssue("acme/infra", "Lock files at a glance", "github-actions[bot]")
			check(t, err)
			check(t, hub.EditAs("acme/infra", number, "github-actions[bot]", "", "- [ ] <!-- relock-box:past all-01234567 0123456789abcdef -->Old\n\n<!-- relock-dashboard:{\"digest\":\"0\"} -->\n"))
			check(t, hub.Tick("acme/infra", number, "Old"))
			event, err := hub.IssueEvent("acme/infra", number, "edited", "monalisa")
			check(t, err)
			return string(event)
		}, outputs: []string{"created", "true"}, pulls: 1, apart: true},
		// The lock file has no hash yet, so nothing is proven.
		"verify.yml":          {event: "schedule", branch: "main", payload: none, status: 4},
		"check.yml":           {event: "pull_request", branch: "topic", payload: pull, outputs: []string{"true"}},
		"get.yml":             {event: "pull_request", branch: "topic", payload: pull},
		"beside-renovate.yml": {event: "push", branch: "topic", payload: none, outputs: []string{"true"}, changes: true},
	}
	for name, w := range workflows(t) {
		if name == "organisation.yml" {
			continue // TestOrganisationExampleRuns has it
		}
		r, ok := runs[name]
		if !ok {
			t.Errorf("no run of %s is described here", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runExample(t, w, r, "12")
		})
		if r.apart {
			t.Run(name+"/without an App", func(t *testing.T) {
				t.Parallel()
				runExample(t, w, r, "")
			})
		}
	}
}

// runExample runs an example with the App of an ID; empty: by the workflow's own token.
func runExample(t *testing.T, w workflow, r example, app string) {
	t.Helper()
	s := startWorld(t, examplesWorld)
	token, temp := "ghs_example", t.TempDir()
	who := sandbox.Identity{Login: "github-actions[bot]", Bot: true, Permissions: map[string]string{"metadata": "read"}}
	for permission, level := range w.Permissions {
		who.Permissions[strings.ReplaceAll(permission, "-", "_")] = level
	}
	s.GitHub().Admit(token, who)
	author, key := "github-actions[bot]", ""
	if app != "" {
		credentials, err := s.GitHub().Credentials("relock")
		check(t, err)
		author, key = "relock[bot]", string(credentials.Key)
	}
	payload := r.payload(t, s.GitHub())
	checkout := filepath.Join(temp, "checkout")
	_, err := s.GitHub().Clone("acme/infra", r.branch, checkout)
	check(t, err)
	before := content(t, filepath.Join(checkout, "live", ".terraform.lock.hcl"))
	event, outputs := filepath.Join(temp, "event.json"), filepath.Join(temp, "outputs")
	write(t, event, payload, 0o600)
	values := strings.NewReplacer("${{ runner.temp }}", temp, "${{ vars.RELOCK_APP_ID }}", app, "${{ secrets.RELOCK_APP_PRIVATE_KEY }}", key)
	var got outcome
	for _, given := range w.relockSteps() {
		with := map[string]string{"token": token, "binary": program(t, "relock"), "platforms": "linux_amd64"}
		for input, value := range given {
			if with[input] = values.Replace(value); strings.Contains(with[input], "${{") {
				t.Fatalf("the test does not know what %s is", value)
			}
		}
		got = runner{shell: program(t, "sh"), dir: checkout, env: append(registriesOf(t, s),
			"GITHUB_ACTIONS=true", "GITHUB_REPOSITORY=acme/infra", "GITHUB_WORKSPACE="+checkout,
			"GITHUB_EVENT_NAME="+r.event, "GITHUB_EVENT_PATH="+event, "GITHUB_OUTPUT="+outputs,
			"GITHUB_STEP_SUMMARY="+filepath.Join(temp, "summary.md"),
			"GITHUB_API_URL="+strings.TrimSuffix(s.GitHubAPI(), "/"), "GITHUB_GRAPHQL_URL="+s.GraphQL(),
		)}.step(t, with)
		if got.status != r.status {
			t.Fatalf("the step ends with %d, want %d:\n%s", got.status, r.status, got.out)
		}
	}
	for _, line := range r.outputs {
		if !strings.Contains(content(t, outputs), "\n"+line+"\n") {
			t.Errorf("the outputs lack %s:\n%s", line, content(t, outputs))
		}
	}
	pulls, err := s.GitHub().Pulls("acme/infra")
	check(t, err)
	pulls = slices.DeleteFunc(pulls, func(p sandbox.PullRequest) bool { return p.Author == "monalisa" })
	if len(pulls) != r.pulls {
		t.Errorf("%d pull requests, want %d:\n%s", len(pulls), r.pulls, got.out)
	}
	if after := content(t, filepath.Join(checkout, "live", ".terraform.lock.hcl")); (after != before) != r.changes {
		t.Errorf("the lock file in the checkout changes: %t, want %t:\n%s", after != before, r.changes, after)
	}
	if r.event == "issue_comment" {
		commits, err := s.GitHub().Commits("acme/infra", "topic")
		check(t, err)
		if len(commits) < 2 || commits[0].Author != author {
			t.Errorf("the answer pushed nothing to the branch:\n%s", got.out)
		}
	}
	if strings.Contains(got.out, "permission") || forbidden.MatchString(got.out) {
		t.Errorf("the workflow lacks a permission:\n%s", got.out)
	}
}

// TestGitLabExampleRuns runs the job's first line, in which relock is; the others
// are git's.
func TestGitLabExampleRuns(t *testing.T) {
	t.Parallel()
	var pipeline struct {
		Relock struct {
			Image  struct{ Entrypoint []string }
			Script []string
		}
	}
	check(t, yaml.Unmarshal([]byte(content(t, examplesDir+"/gitlab-ci.yml")), &pipeline))
	job := pipeline.Relock
	if !slices.Equal(job.Image.Entrypoint, []string{""}) {
		t.Errorf("the entrypoint is %q; GitLab runs a shell in the image", job.Image.Entrypoint)
	}
	s := startWorld(t, examplesWorld)
	checkout := filepath.Join(t.TempDir(), "checkout")
	_, err := s.GitHub().Clone("acme/infra", "main", checkout)
	check(t, err)
	cmd := exec.Command(program(t, "sh"), "-c", job.Script[0])
	cmd.Dir, cmd.Env = checkout, append(registriesOf(t, s), "PATH="+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if lock := content(t, filepath.Join(checkout, "live", ".terraform.lock.hcl")); err != nil || !strings.Contains(lock, "3.2.4") {
		t.Errorf("%s ends with %v:\n%s\n%s", job.Script[0], err, out, lock)
	}
	if _, err := os.Stat(filepath.Join(checkout, ".relock-cache", "hashes")); err != nil {
		t.Errorf("the cache that the job keeps is not there: %v", err)
	}
}

// TestExamplesCommitLockFilesOfBothKinds runs the git add of the examples that commit
// themselves. It must add each kind of lock file, and not fail where only one is there.
func TestExamplesCommitLockFilesOfBothKinds(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on PATH: this test runs the git commands of an example")
	}
	for _, example := range []string{"beside-renovate.yml", "gitlab-ci.yml"} {
		line := regexp.MustCompile(`git add -- .*`).FindString(content(t, examplesDir+"/"+example))
		for _, names := range [][]string{{".terraform.lock.hcl"}, {"a/.modules.lock.hcl"}, {".modules.lock.hcl", "a/b/.terraform.lock.hcl"}} {
			dir := t.TempDir()
			for _, name := range append(slices.Clone(names), "other.txt") {
				check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
				write(t, filepath.Join(dir, name), "text", 0o600)
			}
			cmd := exec.Command("sh", "-c", "git init -q && "+line+" && git ls-files")
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if got := strings.Fields(string(out)); err != nil || !slices.Equal(got, names) {
				t.Errorf("%s: %s adds %q of %q: %v", example, line, got, names, err)
			}
		}
	}
}

func startWorld(t *testing.T, text string) *sandbox.Sandbox {
	t.Helper()
	w, err := sandbox.ParseWorld(txtar.Parse([]byte(text)))
	check(t, err)
	s, err := sandbox.Start(w)
	check(t, err)
	t.Cleanup(s.Close)
	described.Check(t, s.GitHub())
	return s
}

// registriesOf points relock at the sandbox's registries, and keeps it from the
// user's files.
func registriesOf(t *testing.T, s *sandbox.Sandbox) []string {
	t.Helper()
	home := t.TempDir()
	rc := filepath.Join(home, "terraformrc")
	write(t, rc, s.CLIConfig(), 0o600)
	return []string{"TF_CLI_CONFIG_FILE=" + rc, "HOME=" + home}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
