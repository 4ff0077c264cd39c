package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/sandbox"
)

// playedActions are the actions of others, with the least that relock's step needs of
// them. Each one writes to a record what the workflow gives it.
var playedActions = map[string]string{
	"actions/checkout": `
inputs: {persist-credentials: {}}
runs:
  using: composite
  steps:
    - shell: sh
      run: |
        git clone --quiet "$PLAYED_REPOSITORY" .
        git remote set-url origin "https://github.com/$GITHUB_REPOSITORY"
        echo "checkout: persist-credentials ${{ inputs.persist-credentials }}" >>"$PLAYED_RECORD"
`,
	// The folder outlives the job, as what the real action saves.
	"actions/cache": `
inputs: {path: {}, key: {}, restore-keys: {}}
runs:
  using: composite
  steps:
    - shell: sh
      run: |
        ln -s "$PLAYED_CACHE" "${{ inputs.path }}"
        test "${{ inputs.path }}" = "$RUNNER_TEMP/relock"
        echo "cache: key ${{ inputs.key }}, else ${{ inputs.restore-keys }}" >>"$PLAYED_RECORD"
`,
}

// playedGo is go on the runner: relock's action builds the program where a commit has no
// release. What it builds is the program of this test. act gives the program each input by
// itself, too: TestActionHandsEveryInputOn holds that action.yml does.
const playedGo = `#!/bin/sh
while [ "$1" != -o ]; do shift; done
cp "$PLAYED_PROGRAM" "$2"
`

var usedAction = regexp.MustCompile(`uses: (\S+)@(\S+)`)

// TestReadmeWorkflowIsPlayedByARunner has act play the workflow of the README, byte by
// byte, up to the pull request, and once more. act is a program that runs workflows;
// CONTRIBUTING.md says how to get it.
func TestReadmeWorkflowIsPlayedByARunner(t *testing.T) {
	t.Parallel()
	act, git, name := program(t, "act"), program(t, "git"), "relock.yml"
	text := content(t, filepath.Join(examplesDir, name)) // TestReadmeWorkflow: the README has the same
	s := startWorld(t, examplesWorld+"-- github/acme/infra/main/.github/workflows/relock.yml --\n"+text)
	const token = "ghs_played"
	who := sandbox.Identity{Login: "github-actions[bot]", Bot: true, Permissions: map[string]string{"metadata": "read"}}
	for permission, level := range workflows(t)[name].Permissions {
		who.Permissions[strings.ReplaceAll(permission, "-", "_")] = level
	}
	s.GitHub().Admit(token, who)

	top := t.TempDir()
	in := func(name string) string { return filepath.Join(top, name) }
	_, err := s.GitHub().Clone("acme/infra", "main", in("clone"))
	check(t, err)
	inGit(t, in("clone"), "remote", "set-url", "origin", "https://github.com/acme/infra")
	mkdir(t, in("bin"))
	mkdir(t, in("saved"))
	mkdir(t, in("home"))
	write(t, in("bin/go"), playedGo, 0o755)
	write(t, in("home/.actrc"), "", 0o600) // without it, act asks which images to use
	write(t, in("terraformrc"), s.CLIConfig(), 0o600)
	write(t, in("event.json"), `{"repository": {"default_branch": "main"}}`, 0o600)
	args := []string{
		"schedule", "--directory", in("clone"), "--eventpath", in("event.json"), "--action-cache-path", in("act"),
		"--platform", "ubuntu-latest=-self-hosted", "--no-skip-checkout", "--no-cache-server", "--secret", "GITHUB_TOKEN=" + token,
		"--env", "GITHUB_API_URL=" + strings.TrimSuffix(s.GitHubAPI(), "/"), "--env", "GITHUB_GRAPHQL_URL=" + s.GraphQL(),
	}
	for _, m := range usedAction.FindAllStringSubmatch(text, -1) {
		args = append(args, "--local-repository", m[1]+"@"+m[2]+"="+playedAction(t, m[1]))
	}
	play := func() string {
		t.Helper()
		cmd := exec.Command(act, args...)
		cmd.Dir = top
		cmd.Env = []string{
			"HOME=" + in("home"), "PATH=" + in("bin") + ":" + filepath.Dir(git) + ":/usr/bin:/bin", "TF_CLI_CONFIG_FILE=" + in("terraformrc"),
			"PLAYED_REPOSITORY=" + in("clone"), "PLAYED_CACHE=" + in("saved"), "PLAYED_RECORD=" + in("record"), "PLAYED_PROGRAM=" + program(t, "relock"),
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("act ends with %v:\n%s", err, out)
		}
		return string(out)
	}

	first := play()
	const recorded = "checkout: persist-credentials false\ncache: key relock-1, else relock-\n"
	if diff := cmp.Diff(recorded, content(t, in("record"))); diff != "" {
		t.Errorf("what the steps of others were given (-want +got):\n%s", diff)
	}
	pulls, err := s.GitHub().Pulls("acme/infra")
	check(t, err)
	if len(pulls) != 1 {
		t.Fatalf("%d pull requests, want 1:\n%s", len(pulls), first)
	}
	pull := pulls[0]
	if pull.State != "open" || pull.Base != "main" || pull.Author != who.Login || !strings.HasPrefix(pull.Head, "relock/") {
		t.Errorf("the pull request is %s, by %s, from %s to %s", pull.State, pull.Author, pull.Head, pull.Base)
	}
	if pull.Title != "Bump hashicorp/null from 3.2.2 to 3.2.4 in live" || !strings.Contains(pull.Body, "| `hashicorp/null` | 3.2.2 → 3.2.4 | patch | `live` |") {
		t.Errorf("the pull request says %s\n%s", pull.Title, pull.Body)
	}
	if diff := cmp.Diff([]string{"live/.terraform.lock.hcl"}, pull.ChangedFiles); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}
	files, err := s.GitHub().Files("acme/infra", pull.Head)
	check(t, err)
	if lock := string(files["live/.terraform.lock.hcl"].Content); !strings.Contains(lock, `"3.2.4"`) || strings.Count(lock, `"h1:`) != 5 {
		t.Errorf("the branch's lock file lacks the release or hashes for five platforms:\n%s", lock)
	}
	if !strings.Contains(first, "::set-output:: pull-request-operation=created\n") {
		t.Errorf("the runner has no output that says created:\n%s", first)
	}
	if content(t, in("saved/hashes")) == "" {
		t.Error("the job leaves no hash to save")
	}

	second := play()
	again, err := s.GitHub().Pulls("acme/infra")
	check(t, err)
	if diff := cmp.Diff(pulls, again); diff != "" || !strings.Contains(second, "::set-output:: pull-request-operation=none\n") {
		t.Errorf("the second run changes the pull request (-first +second):\n%s\n%s", diff, second)
	}
}

// playedAction is the folder of an action: relock's own files, or what playedActions has.
func playedAction(t *testing.T, name string) string {
	t.Helper()
	if name == "relock-dev/relock" {
		dir := copyOfAction(t, "\n") // no release, as on main
		write(t, filepath.Join(dir, "action.yml"), content(t, "action.yml"), 0o644)
		return dir
	}
	text, ok := playedActions[name]
	if !ok {
		t.Fatalf("the test has no folder for %s", name)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "action.yml"), "name: played\ndescription: The least of "+name+"."+text, 0o644)
	return dir
}
