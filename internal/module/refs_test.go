package module

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
)

func TestCommitOfTag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"),
		moduletest.Commit{Tag: "v1.0.0", Files: text("one")},
		moduletest.Commit{Annotated: "v2.0.0", Files: text("two")},
		moduletest.Commit{Branch: "v3.0.0", Files: text("a branch")},
	)
	c := newClient(t, Options{AllowLocal: true})
	for tag, want := range map[string]string{"v1.0.0": ids[0], "v2.0.0": ids[1], "v3.0.0": "", "v1.0": "", "v9.9.9": ""} {
		got, err := c.CommitOfTag(t.Context(), "file://"+dir+"/r.git", tag)
		if err != nil || got != want {
			t.Errorf("CommitOfTag(%s) = %q, %v, want %q", tag, got, err, want)
		}
	}
	// No answer does not mean that the repository lacks the tag.
	got, err := c.CommitOfTag(t.Context(), "file://"+dir+"/none.git", "v1.0.0")
	if !problem.Coded(err, problem.CodeUnreadModule) || got != "" || !strings.Contains(err.Error(), "fetching the tag v1.0.0 of file://"+dir+"/none.git: ") {
		t.Errorf("CommitOfTag(no repository) = %q, %v", got, err)
	}
	refused := newClient(t, Options{Contact: func(string) bool { return false }})
	if _, err := refused.CommitOfTag(t.Context(), "https://git.example/r.git", "v1.0.0"); err == nil {
		t.Error("CommitOfTag asks a host that may not be contacted")
	}
}
