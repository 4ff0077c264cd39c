//go:build unix

package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/command"
)

// TestSetupWritesTheExamples compares what relock setup writes with the examples, which
// other tests run: all bytes but the minute, and what GitHub makes of them.
func TestSetupWritesTheExamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inGit(t, dir, "init", "--quiet", "--initial-branch=main")
	inGit(t, dir, "remote", "add", "origin", "git@github.com:acme/infra.git")
	var out, problems bytes.Buffer
	status := command.Main(t.Context(), command.Env{
		Args: []string{"setup", "--check", "--comments"}, Stdout: &out, Stderr: &problems, WorkDir: dir,
		Getenv: func(string) string { return "" }, Build: command.Build{Version: "dev"},
	})
	if status != command.ExitOK {
		t.Fatalf("setup ends with %d:\n%s%s", status, &out, &problems)
	}
	minute := regexp.MustCompile(`cron: "\d+ `)
	written, err := filepath.Glob(filepath.Join(dir, ".github", "workflows", "*"))
	check(t, err)
	if len(written) != 3 {
		t.Fatalf("setup writes %v, want three workflows", written)
	}
	for _, name := range written {
		example := strings.TrimPrefix(filepath.Base(name), "relock-")
		was, is := content(t, filepath.Join(examplesDir, example)), content(t, name)
		if diff := cmp.Diff(minute.ReplaceAllString(was, "M"), minute.ReplaceAllString(is, "M")); diff != "" {
			t.Errorf("%s (-example +written):\n%s", name, diff)
		}
		var want, got workflow
		check(t, yaml.Unmarshal([]byte(was), &want))
		check(t, yaml.Unmarshal([]byte(is), &got))
		if diff := cmp.Diff(want.Permissions, got.Permissions); diff != "" || len(got.Permissions) == 0 {
			t.Errorf("permissions of %s (-example +written):\n%s", name, diff)
		}
		if diff := cmp.Diff(want.Jobs, got.Jobs); diff != "" || len(got.relockSteps()) != 1 {
			t.Errorf("jobs of %s (-example +written):\n%s", name, diff)
		}
		if len(got.On) == 0 || got.Name == "" {
			t.Errorf("%s has the name %q and runs on %v", name, got.Name, got.On)
		}
	}
}
