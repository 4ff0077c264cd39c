//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/sandbox"
)

// TestOrganisationExampleRuns runs the relock steps of the jobs of organisation.yml one
// after the other, handing on what artifacts and outputs hand on there.
func TestOrganisationExampleRuns(t *testing.T) {
	t.Parallel()
	w := workflows(t)["organisation.yml"]
	if fast := w.Jobs["propose"].Strategy.FailFast; fast == nil || *fast {
		t.Error("one job that fails stops the others")
	}
	if got := w.Jobs["report"].If; !strings.HasPrefix(got, "always()") {
		t.Errorf("the report is made if %s, want always", got)
	}
	s := startWorld(t, examplesWorld)
	check(t, s.GitHub().Configure("acme/infra", func(s *sandbox.Settings) { s.Topics = []string{"terraform"} }))
	app, err := s.GitHub().Credentials("relock")
	check(t, err)
	temp := t.TempDir()
	run := func(job string, values ...string) map[string]string {
		t.Helper()
		values = append(values, "${{ runner.temp }}", temp, "${{ vars.RELOCK_APP_ID }}", "12", "${{ secrets.RELOCK_APP_PRIVATE_KEY }}", string(app.Key), "${{ github.repository_owner }}", "acme")
		with := map[string]string{"binary": program(t, "relock"), "token": ""}
		for _, step := range w.Jobs[job].Steps {
			if step.Uses != "relock-dev/relock@v1" {
				continue
			}
			for input, value := range step.With {
				if with[input] = strings.NewReplacer(values...).Replace(value); strings.Contains(with[input], "${{") {
					t.Fatalf("the test does not know what %s is", value)
				}
			}
		}
		outputs := filepath.Join(t.TempDir(), "outputs")
		got := runner{shell: program(t, "sh"), dir: t.TempDir(), env: append(registriesOf(t, s),
			"GITHUB_ACTIONS=true", "GITHUB_REPOSITORY=acme/platform", "GITHUB_EVENT_NAME=schedule", "GITHUB_OUTPUT="+outputs, "RUNNER_TEMP="+temp,
			"GITHUB_STEP_SUMMARY="+filepath.Join(temp, "summary.md"), "GITHUB_API_URL="+strings.TrimSuffix(s.GitHubAPI(), "/"), "GITHUB_GRAPHQL_URL="+s.GraphQL(),
		)}.step(t, with)
		if got.status != 0 {
			t.Fatalf("%s ends with %d:\n%s", job, got.status, got.out)
		}
		found := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^([a-z-]+)<<(\S+)\n(.*)\n\S+$`).FindAllStringSubmatch(content(t, outputs), -1) {
			found[m[1]] = m[3]
		}
		return found
	}
	var matrix struct{ Include []struct{ Shard string } }
	if err := json.Unmarshal([]byte(run("plan")["matrix"]), &matrix); err != nil || len(matrix.Include) != 1 {
		t.Fatalf("the matrix has %d jobs, want one: %v", len(matrix.Include), err)
	}
	out := run("propose", "${{ matrix.shard }}", matrix.Include[0].Shard)
	mkdir(t, filepath.Join(temp, "shards", "plan"))
	mkdir(t, filepath.Join(temp, "shards", "report-0"))
	write(t, filepath.Join(temp, "shards", "plan", "plan.json"), content(t, filepath.Join(temp, "plan.json")), 0o600)
	write(t, filepath.Join(temp, "shards", "report-0", "relock-report.json"), content(t, out["report"]), 0o600)
	hashes, known := filepath.Join(temp, "relock", "hashes"), filepath.Join(temp, "shards", "hashes-0", "hashes")
	mkdir(t, filepath.Dir(known))
	check(t, os.Rename(hashes, known)) // to another machine
	run("report")
	if got := content(t, hashes); got != content(t, known) || strings.Count(got, "\npackage ") == 0 {
		t.Errorf("the joined hash cache is not that of the shard:\n%s", got)
	}
	if pulls, err := s.GitHub().Pulls("acme/infra"); err != nil || len(pulls) != 1 {
		t.Errorf("%d pull requests, want one", len(pulls))
	}
	if got := content(t, filepath.Join(temp, "summary.md")); !strings.Contains(got, "acme: 1 repository: 1 outdated") {
		t.Errorf("the summary does not tell of the repository:\n%s", got)
	}
}
