//go:build unix

package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/sandbox"
)

// TestOrganisationExampleRuns runs the relock step of organisation.yml twice. The second
// run is in another machine with the cache of the first.
func TestOrganisationExampleRuns(t *testing.T) {
	t.Parallel()
	steps := workflows(t)["organisation.yml"].relockSteps()
	s := startWorld(t, examplesWorld)
	check(t, s.GitHub().Configure("acme/infra", func(s *sandbox.Settings) { s.Topics = []string{"terraform"} }))
	app, err := s.GitHub().Credentials("relock")
	check(t, err)
	temp := t.TempDir()
	values := strings.NewReplacer("${{ runner.temp }}", temp, "${{ vars.RELOCK_APP_ID }}", "12", "${{ secrets.RELOCK_APP_PRIVATE_KEY }}", string(app.Key), "${{ github.repository_owner }}", "acme")
	with := map[string]string{"binary": program(t, "relock"), "token": ""}
	for input, value := range steps[0] {
		if with[input] = values.Replace(value); strings.Contains(with[input], "${{") {
			t.Fatalf("the test does not know what %s is", value)
		}
	}
	for range 2 {
		summary := filepath.Join(t.TempDir(), "summary.md")
		s.ResetRequests()
		got := runner{shell: program(t, "sh"), dir: t.TempDir(), env: append(registriesOf(t, s),
			"GITHUB_ACTIONS=true", "GITHUB_REPOSITORY=acme/platform", "GITHUB_EVENT_NAME=schedule", "GITHUB_OUTPUT="+filepath.Join(t.TempDir(), "outputs"), "RUNNER_TEMP="+temp,
			"GITHUB_STEP_SUMMARY="+summary, "GITHUB_API_URL="+strings.TrimSuffix(s.GitHubAPI(), "/"), "GITHUB_GRAPHQL_URL="+s.GraphQL(),
		)}.step(t, with)
		if got.status != 0 {
			t.Fatalf("relock ends with %d:\n%s", got.status, got.out)
		}
		if got := content(t, summary); !strings.Contains(got, "acme: 1 repository: 1 outdated") {
			t.Errorf("the summary does not tell of the repository:\n%s", got)
		}
	}
	for _, r := range s.Requests() {
		if strings.HasSuffix(r.Path, ".zip") {
			t.Errorf("the second run downloads %s again", r.Path)
		}
	}
	if got := content(t, filepath.Join(temp, "relock", "fleet.json")); !strings.Contains(got, `"repositories"`) {
		t.Errorf("the memory is %s", got)
	}
	if pulls, err := s.GitHub().Pulls("acme/infra"); err != nil || len(pulls) != 1 {
		t.Errorf("%d pull requests, want one", len(pulls))
	}
}

// TestOrganisationExampleInSeveralJobs takes the signs of comments from organisation.yml
// that its own comment is about.
func TestOrganisationExampleInSeveralJobs(t *testing.T) {
	t.Parallel()
	text := content(t, filepath.Join(examplesDir, "organisation.yml"))
	text = regexp.MustCompile(`(?m)^( +)#((?:strategy|shard|  fail-fast|  matrix):)`).ReplaceAllString(text, "$1$2")
	var w workflow
	check(t, yaml.Unmarshal([]byte(text), &w))
	job := w.Jobs["relock"]
	if fast := job.Strategy.FailFast; fast == nil || *fast {
		t.Error("one job that fails stops the others")
	}
	if diff := cmp.Diff([]string{"1/4", "2/4", "3/4", "4/4"}, job.Strategy.Matrix.Shard); diff != "" {
		t.Errorf("shards of the matrix (-want +got):\n%s", diff)
	}
	for _, step := range job.Steps {
		name := step.With["key"] + step.With["name"]
		if step.Uses == "relock-dev/relock@v1" && step.With["shard"] != "${{ matrix.shard }}" || name != "" && !strings.Contains(name, "${{ strategy.job-index }}") {
			t.Errorf("a step of all jobs is the same: %s with %v", step.Uses, step.With)
		}
	}
}
