package github_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/sandbox"
)

func TestChangesAreWhatDiffers(t *testing.T) {
	h := newHub(t, snapshotWorld)
	from := h.head(t, "main")
	push := sandbox.Push{Branch: "main", Remove: []string{"README.md"}, Files: map[string]sandbox.File{
		"prod/main.tf":  {Mode: sandbox.ModeFile, Content: []byte("# more\n")},
		"prod/run.sh":   {Mode: sandbox.ModeFile, Content: []byte("#!/bin/sh\n")}, // no longer executable
		"new/a.tf":      {Mode: sandbox.ModeExecutable, Content: []byte("a")},
		"new/link":      {Mode: sandbox.ModeLink, Content: []byte("a.tf")},
		"new/empty.txt": {Mode: sandbox.ModeFile},
	}}
	to, err := h.Push("octo/infra", push)
	if err != nil {
		t.Fatal(err)
	}
	h.asked = nil
	got, err := h.repository(t).Changes(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	want := []github.Change{
		{Path: "README.md", Old: []byte("Words.\n")},
		{Path: "new/a.tf", Mode: "100755", New: []byte("a")},
		{Path: "new/empty.txt", Mode: "100644", New: []byte{}},
		{Path: "new/link"},
		{Path: "prod/main.tf", Mode: "100644", Old: []byte("# prod\n"), New: []byte("# more\n")},
		{Path: "prod/run.sh", Mode: "100644", Old: []byte("#!/bin/sh\n"), New: []byte("#!/bin/sh\n")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Changes() (-want +got):\n%s", diff)
	}
	trees := 0
	asked := h.asked
	paths, err := h.repository(t).ChangedPaths(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, p := range paths {
		if p.File {
			files = append(files, p.Path)
		}
	}
	if diff := cmp.Diff([]string{"README.md", "new/a.tf", "new/empty.txt", "prod/main.tf", "prod/run.sh"}, files); diff != "" || len(paths) != len(want)+1 {
		t.Errorf("ChangedPaths() has %d paths, and of files (-want +got):\n%s", len(paths), diff)
	}
	if _, err := h.repository(t).ChangedPaths(t.Context(), strings.Repeat("1", 40), to); !errors.Is(err, github.ErrNotFound) {
		t.Errorf("ChangedPaths() of an unknown commit: %v, want an ErrNotFound", err)
	}
	for _, a := range asked {
		if strings.Contains(a, "/git/trees/") {
			trees++
		}
	}
	if trees != 2 || len(asked) > 8 {
		t.Errorf("it asked %q", asked)
	}
}

func TestChangesWithinALargeTreeReadFewFiles(t *testing.T) {
	var world strings.Builder
	for i := range 50 {
		fmt.Fprintf(&world, "-- github/octo/infra/main/d%d/.terraform.lock.hcl --\n# %d\n", i, i)
	}
	h := newHub(t, world.String())
	from := h.head(t, "main")
	to, err := h.Push("octo/infra", sandbox.Push{Branch: "main", Files: map[string]sandbox.File{
		"d7/.terraform.lock.hcl": {Mode: sandbox.ModeFile, Content: []byte("# new\n")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.asked = nil
	got, err := h.repository(t).Changes(t.Context(), from, to)
	if err != nil || len(got) != 1 || string(got[0].Old) != "# 7\n" || string(got[0].New) != "# new\n" {
		t.Errorf("Changes() = %+v, %v", got, err)
	}
	if len(h.asked) != 4 {
		t.Errorf("it asked %q, want two trees and two blobs", h.asked)
	}
}

func TestDifferenceSaysWhetherItIsAll(t *testing.T) {
	h := newHub(t, snapshotWorld)
	from := h.head(t, "main")
	many := func(n int) map[string]sandbox.File {
		files := map[string]sandbox.File{}
		for i := range n {
			files[fmt.Sprintf("many/%03d", i)] = sandbox.File{Content: fmt.Append(nil, i)}
		}
		return files
	}
	push := func(p sandbox.Push) string {
		sha, err := h.Push("octo/infra", p)
		if err != nil {
			t.Fatal(err)
		}
		return sha
	}
	h.asked = nil
	some := push(sandbox.Push{Branch: "main", Files: many(299)})
	all := push(sandbox.Push{Branch: "main", Files: map[string]sandbox.File{"more": {}}})
	for _, tt := range []struct {
		base, head         string
		files              int
		complete, straight bool
	}{
		{from, from, 0, true, true},
		{from, some, 299, true, true},
		{from, all, 300, false, true},
		{all, some, 0, true, false}, // behind
	} {
		got, err := h.repository(t).Difference(t.Context(), tt.base, tt.head)
		if err != nil || len(got.Files) != tt.files || got.Complete != tt.complete || got.Straight != tt.straight {
			t.Errorf("Difference() = %d files, complete %t, straight %t, %v; want %+v", len(got.Files), got.Complete, got.Straight, err, tt)
		}
	}
	if _, err := h.repository(t).Difference(t.Context(), strings.Repeat("1", 40), all); !errors.Is(err, github.ErrNotFound) {
		t.Errorf("Difference() from an unknown commit: %v, want an ErrNotFound", err)
	}
	// An answer without the files does not say that nothing differs.
	h.box.Inject(sandbox.Fault{Method: "GET", Path: "/github/api/v3/repos/octo/infra/compare/...", Status: http.StatusOK, Body: `{"status": "ahead", "base_commit": {"sha": "a"}, "merge_base_commit": {"sha": "b"}}`})
	if got, err := h.repository(t).Difference(t.Context(), from, some); err != nil || got.Complete {
		t.Errorf("Difference() by half an answer = %+v, %v; want one that is not complete", got, err)
	}
	h.box.Mend()
	h.box.Inject(sandbox.Fault{Method: "GET", Path: "/github/api/v3/repos/octo/infra/compare/...", Status: http.StatusOK, Body: `{"status": "ahead", "files": []}`})
	if got, err := h.repository(t).Difference(t.Context(), from, some); err == nil {
		t.Errorf("Difference() by an answer without commits = %+v, want an error", got)
	}
}

// A file keeps git's mode, and a new one is an ordinary file.
func TestModeOf(t *testing.T) {
	t.Parallel()
	const name = "live/.terraform.lock.hcl"
	for mode, want := range map[fs.FileMode]string{0o644: "100644", 0o755: "100755", 0o744: "100755", fs.ModeSymlink | 0o777: "100644"} {
		if got := github.ModeOf(fstest.MapFS{name: {Mode: mode}}, name); got != want {
			t.Errorf("ModeOf(%v) = %s, want %s", mode, got, want)
		}
	}
	if got := github.ModeOf(fstest.MapFS{}, name); got != "100644" {
		t.Errorf("ModeOf(no file) = %s", got)
	}
}
