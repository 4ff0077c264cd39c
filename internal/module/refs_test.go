package module

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
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

func TestWhatRefsName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ids := moduletest.Repository(t, filepath.Join(dir, "r.git"),
		moduletest.Commit{Tag: "v1.0.0", Files: text("one")},
		moduletest.Commit{Tag: "both", Files: text("tag")},
		moduletest.Commit{Files: text("head")},
		moduletest.Commit{Branch: "both", Files: text("branch")},
	)
	s, asked := questions(t, dir)
	source := "git::" + s.URL + "/r.git"
	c := newClient(t, Options{}, s)
	names := map[string]scan.Reference{
		"":                    {Kind: scan.RefDefault, Commit: ids[2]},
		"?ref=main":           {Kind: scan.RefBranch, Commit: ids[2]},
		"?ref=v1.0.0":         {Kind: scan.RefTag, Commit: ids[0]},
		"?ref=both":           {Kind: scan.RefTag, Commit: ids[1], Ambiguous: true},
		"?ref=both&depth=1":   {Kind: scan.RefBranch, Commit: ids[3], Ambiguous: true},
		"?ref=" + ids[0]:      {Kind: scan.RefCommit, Commit: ids[0]},
		"?ref=" + ids[0][:10]: {Kind: scan.RefOther, Commit: ids[0]},
		"?ref=main~1":         {Kind: scan.RefOther, Commit: ids[1]},
	}
	if _, err := c.Names(t.Context(), terraform, call(source+"?ref="+ids[0])); err != nil || asked.Load() != 0 {
		t.Errorf("Names of a whole commit asks %d times: %v", asked.Load(), err)
	}
	for query, want := range names {
		for range 2 {
			if got, err := c.Names(t.Context(), terraform, call(source+query)); err != nil || got != want {
				t.Errorf("Names(%s) = %+v, %v, want %+v", query, got, err, want)
			}
			asked.Store(0)
		}
		if asked.Load() != 0 {
			t.Errorf("Names(%s) asks again", query)
		}
	}
	if c.Packages() != 0 {
		t.Errorf("%d packages were fetched", c.Packages())
	}
	cache := t.TempDir()
	for range 2 { // the second time from the cache
		for query, want := range names {
			if got := fetch(t, newClient(t, Options{Cache: cache}, s), source+query).Reference; got != want {
				t.Errorf("the reference of %s is %+v, want %+v", query, got, want)
			}
		}
	}
	for _, other := range []string{"acme/net/aws", s.URL + "/a.zip", "./x"} {
		if got, err := c.Names(t.Context(), terraform, call(other)); err != nil || got != (scan.Reference{}) {
			t.Errorf("Names(%s) = %+v, %v, want nothing", other, got, err)
		}
	}
	if _, err := c.Names(t.Context(), terraform, call(source+"?ref=none")); !problem.Coded(err, problem.CodeUnreadModule) {
		t.Errorf("Names(a ref that does not exist) = %v", err)
	}
	refused := newClient(t, Options{Contact: func(string) bool { return false }}, s)
	if _, err := refused.Names(t.Context(), terraform, call(source)); !problem.Coded(err, problem.CodeUnreadModule) {
		t.Errorf("Names(a refused host) = %v", err)
	}
}
