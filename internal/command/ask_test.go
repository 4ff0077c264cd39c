package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
)

// configured is what a configuration file says.
func configured(t *testing.T, text string) settings.Settings {
	t.Helper()
	file, diagnostics := settings.ParseFile([]byte("version: 1\n"+text), "relock.yml")
	cfg, more := settings.Resolve(settings.Merge(file.Values))
	if len(diagnostics)+len(more) > 0 {
		t.Fatal(problem.Several(append(diagnostics, more...)))
	}
	return cfg
}

// inWorkflow is the environment of a step of a workflow in acme/infra.
func inWorkflow(vars ...string) Env {
	set := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/infra"}
	for _, v := range vars {
		name, value, _ := strings.Cut(v, "=")
		set[name] = value
	}
	return Env{WorkDir: "/work", Getenv: func(name string) string { return set[name] }}
}

// What is on disk the runner says: it decides what is proposed to, and whose files they are.
func TestCheckoutOfAStep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		vars []string
		want run.Checkout
	}{
		{[]string{"GITHUB_EVENT_NAME=schedule"}, run.Checkout{Repository: "acme/infra"}},
		{[]string{"GITHUB_EVENT_NAME=schedule", "GITHUB_REF=refs/heads/topic", "GITHUB_REF_TYPE=branch", "GITHUB_REF_NAME=topic", "GITHUB_SHA=abc"}, run.Checkout{Repository: "acme/infra", Branch: "topic", Commit: "abc"}},
		{[]string{"GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/7/merge"}, run.Checkout{Repository: "acme/infra", Head: run.ForkHead}}, // whose it is nobody says
	} {
		if diff := cmp.Diff(tt.want, inWorkflow(tt.vars...).checkout()); diff != "" {
			t.Errorf("checkout with %q (-want +got):\n%s", tt.vars, diff)
		}
	}
}

// Outside of a workflow a directory that is no clone names no repository.
func TestProposingNeedsARepository(t *testing.T) {
	t.Parallel()
	env := Env{WorkDir: t.TempDir(), Getenv: func(string) string { return "" }}
	_, _, err := askToPropose(env, settings.Sources{}, configured(t, ""), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "no clone of a git repository") {
		t.Errorf("askToPropose() = %v, want an error about the clone", err)
	}
}

// Whoever runs in a workflow writes no step summary by that alone: the Action does.
func TestOnlyTheActionWritesAStepSummary(t *testing.T) {
	t.Parallel()
	env := inWorkflow()
	if env.ofRun(settings.Settings{}).Summary {
		t.Error("a verb in a workflow is said to write a step summary")
	}
	if env.summary = true; !env.ofRun(settings.Settings{}).Summary {
		t.Error("the Action is not said to write a step summary")
	}
}
