package command

import (
	"os"
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

// The runner says what is on disk: that decides what is proposed to.
func TestCheckoutOfAStep(t *testing.T) {
	t.Parallel()
	env := inWorkflow("GITHUB_EVENT_NAME=schedule", "GITHUB_REF=refs/heads/topic", "GITHUB_REF_TYPE=branch", "GITHUB_REF_NAME=topic", "GITHUB_SHA=abc")
	want := run.Checkout{Repository: "acme/infra", Branch: "topic", Commit: "abc"}
	if diff := cmp.Diff(want, env.checkout()); diff != "" {
		t.Errorf("checkout (-want +got):\n%s", diff)
	}
}

// The event decides whose files they are, for whatever is asked: an event that does not say
// may bring a fork's.
func TestHeadOfAStep(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]run.Head{"schedule": run.NoHead, "merge_group": run.OwnHead, "pull_request": run.ForkHead, "fork": run.ForkHead} {
		env := inWorkflow("GITHUB_EVENT_NAME=" + event)
		if got := env.meansOf(settings.Sources{}, settings.Settings{}, footer).Head; got != want {
			t.Errorf("on %s the head is %d, want %d", event, got, want)
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

// A verb in a workflow writes no step summary: the Action does.
func TestOnlyTheActionWritesAStepSummary(t *testing.T) {
	t.Parallel()
	env := inWorkflow()
	if env.ofRun(settings.Settings{}).Summary {
		t.Error("a verb in a workflow is said to write a step summary")
	}
	env.summary = true
	if !env.ofRun(settings.Settings{}).Summary {
		t.Error("the Action is not said to write a step summary")
	}
}

// A pull request's text ends with one line about commands: the table of them would be
// longer than what the pull request proposes.
func TestTheCommandsOfAPullAreOneLine(t *testing.T) {
	t.Parallel()
	const page = "docs/comments.md"
	if text := footer.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "|") || !strings.Contains(text, "(https://github.com/relock-dev/relock/blob/main/"+page+")") {
		t.Errorf("the footer is\n%s\nwant one line with a link to %s", text, page)
	}
	if _, err := os.Stat("../../" + page); err != nil {
		t.Error(err)
	}
}
