package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
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

// Where a verb writes follows from the verb, and what is proposed to from the
// settings and the runner.
func TestTargetOfAVerb(t *testing.T) {
	t.Parallel()
	here := run.Checkout{Branch: "topic", Commit: "abc"}
	for _, tt := range []struct {
		verb verbs.Verb
		file string
		want run.Target
	}{
		{verbs.Scan, "", run.Target{Repository: "acme/infra", Files: here, Dirs: []string{"live"}}},
		{verbs.Check, "", run.Target{Repository: "acme/infra", Files: here, Dirs: []string{"live"}}},
		{verbs.Upgrade, "", run.Target{Repository: "acme/infra", Files: here, Dirs: []string{"live"}, Destination: run.Disk{}}},
		{verbs.Lock, "", run.Target{Repository: "acme/infra", Files: here, Dirs: []string{"live"}, Destination: run.Disk{}}},
		{verbs.PR, "", run.Target{Repository: "acme/infra", Files: here, Dirs: []string{"live"}, Destination: run.Pulls{}}},
		{verbs.PR, "pull-request: {base: [release, main]}\n", run.Target{Repository: "acme/infra", Base: "release", Files: here, Dirs: []string{"live"}, Destination: run.Pulls{}}},
	} {
		env := inWorkflow("GITHUB_REF=refs/heads/topic", "GITHUB_REF_TYPE=branch", "GITHUB_REF_NAME=topic", "GITHUB_SHA=abc")
		req := withRepository(env, request(env, tt.verb, []string{"live"}, configured(t, tt.file)))
		if diff := cmp.Diff([]run.Target{tt.want}, req.Targets, cmpopts.IgnoreUnexported(run.Target{})); diff != "" {
			t.Errorf("%s with %q (-want +got):\n%s", tt.verb, tt.file, diff)
		}
	}
}

// Repositories that are named take the place of the one that is checked out, and
// nothing of them is on disk.
func TestProposingToNamedRepositories(t *testing.T) {
	t.Parallel()
	env := inWorkflow()
	cfg := configured(t, "")
	cfg.Repositories = []string{"acme/one", "acme/two"}
	req, _, err := targeted(env, settings.Sources{}, cfg, withRepository(env, request(env, verbs.PR, []string{"live"}, cfg)))
	if err != nil {
		t.Fatal(err)
	}
	want := []run.Target{
		{Repository: "acme/one", Dirs: []string{"live"}, Destination: run.Pulls{}},
		{Repository: "acme/two", Dirs: []string{"live"}, Destination: run.Pulls{}},
	}
	if diff := cmp.Diff(want, req.Targets, cmpopts.IgnoreUnexported(run.Target{})); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if req.Configure == nil {
		t.Error("their own configuration files would not be read")
	}
}

// Outside of a workflow a directory that is no clone names no repository.
func TestProposingNeedsARepository(t *testing.T) {
	t.Parallel()
	env := Env{WorkDir: t.TempDir(), Getenv: func(string) string { return "" }}
	cfg := configured(t, "")
	_, _, err := targeted(env, settings.Sources{}, cfg, withRepository(env, request(env, verbs.PR, nil, cfg)))
	if err == nil || !strings.Contains(err.Error(), "no clone of a git repository") {
		t.Errorf("targeted() = %v, want an error about the clone", err)
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
