package module

import (
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
)

// gitmodules is a .gitmodules file with pairs of paths and URLs.
func gitmodules(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "[submodule \"the.%[1]s\"]\n\tpath = %[1]s\n\turl = %[2]s\n", pairs[i], pairs[i+1])
	}
	return b.String()
}

func TestSubmodules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inner := moduletest.Repository(t, filepath.Join(dir, "inner.git"), moduletest.Commit{Files: text("inner")})
	child := moduletest.Repository(t, filepath.Join(dir, "child.git"),
		moduletest.Commit{
			Files:   map[string]string{"main.tf": "# child", ".gitmodules": gitmodules("deep/inner", "../inner.git")},
			Modules: map[string]string{"deep/inner": inner[0]},
		},
		moduletest.Commit{Files: text("not this one")},
	)
	moduletest.Repository(t, filepath.Join(dir, "top.git"), moduletest.Commit{
		Files: map[string]string{
			"main.tf": "# top",
			".gitmodules": gitmodules("lib/child", "../child.git", "gone", "../gone.git", "evil", "ext::sh -c x", "dash", "--upload-pack=x") +
				gitmodules("none", "../child.git") + "\tupdate = none\n",
		},
		Modules: map[string]string{
			"lib/child": child[0], "gone": child[0], "evil": child[0], "dash": child[0], "none": child[0], "unlisted": child[0],
		},
	})
	s := moduletest.Serve(t, dir)
	c := newClient(t, Options{}, s)
	source := "git::" + s.URL + "/top.git"

	p := fetch(t, c, source+"//lib/child/deep/inner")
	if got := mainOf(t, p); got != "# inner" {
		t.Errorf("main.tf of the submodule's submodule = %q", got)
	}
	if got := mainOf(t, fetch(t, c, source+"//lib/child")); got != "# child" {
		t.Errorf("main.tf of the submodule = %q", got)
	}
	if got := mainOf(t, fetch(t, c, source)); got != "# top" {
		t.Errorf("main.tf = %q", got)
	}
	entries, err := fs.ReadDir(fetch(t, c, source+"//none").FS, "none")
	if err != nil || len(entries) != 0 {
		t.Errorf("submodule without update = %v, %v; want an empty directory", entries, err)
	}
	for dir, code := range map[string]problem.Code{
		"gone": problem.CodeUnauthorized, "evil": problem.CodeUnreadModule, "dash": problem.CodeUnreadModule,
		"unlisted": problem.CodeUnreadModule, "gone/below": problem.CodeUnreadModule,
	} {
		e := failing(t, c, source+"//"+dir, code)
		if !strings.Contains(e.Error(), "submodule") {
			t.Errorf("error of %s = %v, want one about a submodule", dir, e)
		}
	}
	if _, err := fs.ReadFile(p.FS, "gone/main.tf"); err == nil || strings.Contains(err.Error(), "not exist") {
		t.Errorf("reading from a missing submodule = %v, want the reason", err)
	}
}

func TestSubmoduleURL(t *testing.T) {
	t.Parallel()
	tests := []struct{ parent, text, want string }{
		{"https://example.com/o/r.git", "../x.git", "https://example.com/o/x.git"},
		{"https://example.com/o/r.git/", "../x.git", "https://example.com/o/x.git"},
		{"https://example.com/o/r.git", "../../../../x.git", "https://example.com/x.git"},
		{"https://me@example.com/o/r", "./x", "https://me@example.com/o/r/x"},
		{"ssh://git@example.com:22/o/r.git", "../x.git", "ssh://git@example.com:22/o/x.git"},
		{"https://example.com/o/r.git", "git@example.org:a/b.git", "ssh://git@example.org/a/b.git"},
		{"https://example.com/o/r.git", "example.org:a/b.git", "ssh://example.org/a/b.git"},
		{"https://example.com/o/r.git", "/srv/x.git", "file:///srv/x.git"},
		{"https://example.com/o/r.git", "https://example.org/x.git?ref=1", "https://example.org/x.git?ref=1"},
	}
	for _, tt := range tests {
		parent, err := url.Parse(tt.parent)
		if err != nil {
			t.Fatal(err)
		}
		got, err := submoduleURL(parent, tt.text)
		if err != nil {
			t.Errorf("submoduleURL(%q, %q) = %v", tt.parent, tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got.String()); diff != "" {
			t.Errorf("submoduleURL(%q, %q) (-want +got):\n%s", tt.parent, tt.text, diff)
		}
	}
}

func TestSubmodulesThatNest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	commit := moduletest.Repository(t, filepath.Join(dir, "r0.git"), moduletest.Commit{Files: text("0")})[0]
	for i := 1; i <= maxSubmoduleDepth+1; i++ {
		commit = moduletest.Repository(t, filepath.Join(dir, fmt.Sprintf("r%d.git", i)), moduletest.Commit{
			Files:   map[string]string{"main.tf": fmt.Sprintf("# %d", i), ".gitmodules": gitmodules("m", fmt.Sprintf("../r%d.git", i-1))},
			Modules: map[string]string{"m": commit},
		})[0]
	}
	c := newClient(t, Options{AllowLocal: true})
	source := fmt.Sprintf("git::file://%s/r%d.git", dir, maxSubmoduleDepth+1)
	deepest := strings.TrimSuffix(strings.Repeat("m/", maxSubmoduleDepth), "/")
	if got := mainOf(t, fetch(t, c, source+"//"+deepest)); got != "# 1" {
		t.Errorf("main.tf = %q, want that of the deepest submodule that is read", got)
	}
	failing(t, c, source+"//"+deepest+"/m", problem.CodeUnreadModule)
}
