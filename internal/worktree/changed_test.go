package worktree

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

// configuration are the files of a configuration.
var configuration = Filter{
	Reads:    isConfiguration,
	Notices:  isConfiguration,
	Unlisted: []string{".git", ".terraform"},
	Kept:     func(name string) bool { return path.Base(name) == ".terraform.lock.hcl" },
}

func isConfiguration(name string) bool { return path.Ext(name) == ".tf" }

// openClone opens the repository at root.
func openClone(t *testing.T, root string) Clone {
	t.Helper()
	c, err := OpenClone(root)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Files count by their contents on disk, committed or not, hidden ones included. Of those
// that the filter does not read only somebody who asks learns that, unless a link leads to
// it.
func TestChanged(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Write(t, root, map[string]string{
		"README.md": "a", "prod/main.tf": "# a\n", "stage/main.tf": "# a\n", "modules/vpc/main.tf": "# a\n", ".ci/main.tf": "# a\n", "notes.txt": "a",
		"target": "a", "linked": "a", "run.tf": "# a\n",
	})
	if err := os.Chmod(filepath.Join(root, "run.tf"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"prod/link.tf": "../target", "prod/was": "a"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	base := worktreetest.Commit(t, root)
	worktreetest.Replace(t, root, map[string]string{"modules/vpc/main.tf": "# b\n", "README.md": "b"})
	worktreetest.Commit(t, root)
	worktreetest.Replace(t, root, map[string]string{"prod/main.tf": "# b\n", "stage/main.tf": "", "dev/main.tf": "# b\n", ".ci/main.tf": "", "notes.txt": "b", "target": "b", "stage/plan": "new", "empty/README.md": "new"})
	for name, target := range map[string]string{"prod/was": "b", "linked": "a"} {
		if err := errors.Join(os.Remove(filepath.Join(root, name)), os.Symlink(target, filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}

	c := openClone(t, root)
	fork, err := c.Fork(base)
	if err != nil {
		t.Fatal(err)
	}
	paths, differs, err := c.Changed(fork, configuration)
	var got []string
	for _, p := range paths {
		kind := ""
		if !p.File {
			kind = " (link)"
		}
		got = append(got, p.Path+kind)
	}
	slices.Sort(got)
	want := []string{
		".ci/main.tf", "README.md", "dev/main.tf", "empty/README.md", "linked (link)", "modules/vpc/main.tf", "prod/main.tf", "prod/was (link)",
		"stage/main.tf", "target",
	}
	got = slices.Compact(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Changed(since the base) = %q, %v, want %q", got, err, want)
	}
	for name, want := range map[string]bool{"notes.txt": true, "run.tf": false, "README.md": false, "none": false} {
		if differs(name) != want {
			t.Errorf("differs(%s) = %t, want %t", name, !want, want)
		}
	}
	if _, err := c.Fork("gone"); problem.Of(err).Code != problem.CodeUnreadable {
		t.Errorf("Fork(no revision) = %v, want an error with the code %s", err, problem.CodeUnreadable)
	}
}

// What the tools keep on disk is nobody's change, and a lock file that is committed there
// is compared all the same.
func TestChangedInUnlistedDirectories(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Write(t, root, map[string]string{".terraform/a/main.tf": "# a\n", ".terraform/a/.terraform.lock.hcl": "# a\n", ".terraform/b/.terraform.lock.hcl": "# b\n"})
	base := worktreetest.Commit(t, root)
	worktreetest.Replace(t, root, map[string]string{
		".terraform/a/main.tf": "# b\n", ".terraform/a/.terraform.lock.hcl": "# c\n", ".terraform/new/.terraform.lock.hcl": "# new\n",
	})
	c := openClone(t, root)
	fork, err := c.Fork(base)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := c.Changed(fork, configuration)
	want := []filetree.ChangedPath{{Path: ".terraform/a/.terraform.lock.hcl", File: true}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Changed() = %v, %v, want %v", got, err, want)
	}
}

// A file that HEAD does not have matters by its path, or since its directory is new. What
// a sparse checkout leaves out is not deleted.
func TestChangedOnDisk(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Write(t, root, map[string]string{"a/main.tf": "# a\n", "b/main.tf": "# b\n"})
	base := worktreetest.Commit(t, root)
	worktreetest.Replace(t, root, map[string]string{"a/new.tf": "# new\n", "a/notes.txt": "new", "b/main.tf": ""})
	for settings, want := range map[string][]filetree.ChangedPath{
		"":                                  {{Path: "a/new.tf", File: true}, {Path: "b/main.tf", File: true}},
		"[core]\n\tsparseCheckout = true\n": {{Path: "a/new.tf", File: true}},
	} {
		worktreetest.Replace(t, root, map[string]string{".git/config": settings})
		c := openClone(t, root)
		fork, err := c.Fork(base)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := c.Changed(fork, configuration)
		slices.SortFunc(got, func(a, b filetree.ChangedPath) int { return strings.Compare(a.Path, b.Path) })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Changed() with the settings %q = %v, %v, want %v", settings, got, err, want)
		}
	}
}

// A clone without the files of the commit at which HEAD left a revision cannot say what
// changed.
func TestForkNeedsItsFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Write(t, root, map[string]string{"main.tf": "# a\n"})
	base := worktreetest.Commit(t, root)
	worktreetest.Write(t, root, map[string]string{"main.tf": "# b\n"})
	worktreetest.Commit(t, root)
	fork, err := openClone(t, root).Fork(base)
	if err != nil || fork.Commit != base {
		t.Fatalf("Fork() = %s, %v, want %s", fork.Commit, err, base)
	}
	id := fork.commit.TreeHash.String()
	if err := os.Remove(filepath.Join(root, ".git", "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	if _, err := openClone(t, root).Fork(base); err == nil {
		t.Error("Fork(of a partial clone) = nil, want an error")
	}
}
