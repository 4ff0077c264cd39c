package action

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestTemp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct{ set, want string }{
		{"", ""}, {"relative", ""}, {".", ""}, {filepath.Join(dir, "missing"), ""}, {dir, dir},
	} {
		if got := New(env{"RUNNER_TEMP": tt.set}.get, &strings.Builder{}).Temp(); got != tt.want {
			t.Errorf("Temp with RUNNER_TEMP=%q = %q, want %q", tt.set, got, tt.want)
		}
	}
}

func TestOutside(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ workspace, name, want string }{
		{"/home/runner/work/infra", "/github/runner_temp/r.json", "/home/runner/work/_temp/r.json"},
		{"/home/runner/work/infra", "/github/workspace/r.json", "/home/runner/work/infra/infra/r.json"},
		{"/home/runner/work/infra", "/home/runner/work/_temp/r.json", "/home/runner/work/_temp/r.json"},
		{"/home/runner/work/infra", "/github/workspaces/r.json", "/github/workspaces/r.json"},
		{"", "/github/workspace/r.json", "/github/workspace/r.json"},
		{"work", "/github/workspace/r.json", "/github/workspace/r.json"},
	} {
		r := New(env{"RUNNER_WORKSPACE": tt.workspace, "GITHUB_REPOSITORY": "acme/infra"}.get, &strings.Builder{})
		if got := r.Outside(tt.name); got != tt.want {
			t.Errorf("Outside(%q) with RUNNER_WORKSPACE=%q = %q, want %q", tt.name, tt.workspace, got, tt.want)
		}
	}
}
