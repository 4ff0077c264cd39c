package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

// revisionIn commits a configuration with links, and changes it in a later commit.
func revisionIn(t *testing.T, root string) Revision {
	t.Helper()
	worktreetest.Write(t, root, map[string]string{"prod/main.tf": "# a\n", "prod/empty.tf": "", "notes.txt": "a", "target": "a", ".github/relock.yml": "version: 1\n"})
	for name, target := range map[string]string{"link.tf": "main.tf", "far.tf": "../target"} {
		if err := os.Symlink(target, filepath.Join(root, "prod", name)); err != nil {
			t.Fatal(err)
		}
	}
	base := worktreetest.Commit(t, root)
	worktreetest.Replace(t, root, map[string]string{"prod/main.tf": "# b\n", ".github/relock.yml": ""})
	worktreetest.Commit(t, root)
	r, err := openClone(t, root).At(base)
	if err != nil || r.Commit != base {
		t.Fatalf("At(%s) = %s, %v", base, r.Commit, err)
	}
	return r
}

// The file tree of a revision has the contents of its commit, through links too.
func TestTreeOfARevision(t *testing.T) {
	t.Parallel()
	files, err := revisionIn(t, t.TempDir()).Tree(isConfiguration)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"prod/main.tf": "# a\n", "prod/link.tf": "# a\n", "prod/far.tf": "a", "notes.txt": "a"} {
		if got, err := fs.ReadFile(files, name); string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestParents(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	first := revisionIn(t, root)
	if got := first.Parents(); len(got) != 0 {
		t.Errorf("Parents() of the first commit = %q, want none", got)
	}
	head, err := openClone(t, root).At("HEAD")
	if got := head.Parents(); err != nil || !slices.Equal(got, []string{first.Commit}) {
		t.Errorf("Parents() of HEAD = %q, %v, want %s", got, err, first.Commit)
	}
}

func TestFilesOfARevision(t *testing.T) {
	t.Parallel()
	r := revisionIn(t, t.TempDir())
	files, ok := r.Files([]string{".github/relock.yml", "missing.yml"})
	if !ok {
		t.Fatal("Files() is not ok")
	}
	if got, err := fs.ReadFile(files, ".github/relock.yml"); string(got) != "version: 1\n" {
		t.Errorf("Files() has %q, %v, want the file of the base", got, err)
	}
	if _, err := fs.Stat(files, "missing.yml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Files() of a missing file: %v, want none", err)
	}
	if _, ok := r.Files([]string{"prod/link.tf"}); ok {
		t.Error("Files(a link) is ok, and what it leads to need not be of the commit")
	}
	contents, err := r.Contents(isConfiguration)
	if err != nil || len(contents) != 2 || string(contents["prod/main.tf"]) != "# a\n" {
		t.Errorf("Contents() = %q, %v, want those of the files without the links", contents, err)
	}
	target, err := r.Link("prod/far.tf")
	if err != nil || target != "../target" {
		t.Errorf("Link() = %q, %v, want ../target", target, err)
	}
	for name, has := range map[string]bool{"prod/main.tf": true, "prod/empty.tf": false, "prod/gone.tf": false, "gone/main.tf": false} {
		if id, err := r.Blob(name); err != nil || id != "" != has {
			t.Errorf("Blob(%s) = %q, %v, want an id: %t", name, id, err, has)
		}
	}
}

// What is in a directory is listed, and what is not there differs from what the clone
// lacks.
func TestWalk(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Write(t, root, map[string]string{"a/b/main.tf": "# a\n", "a/main.tf": "# a\n", "main.tf": "# a\n"})
	if err := os.Symlink("main.tf", filepath.Join(root, "a", "z.tf")); err != nil {
		t.Fatal(err)
	}
	worktreetest.Commit(t, root)
	walk := func(dir string) (got []string, err error) {
		head, err := openClone(t, root).At("HEAD")
		if err != nil {
			t.Fatal(err)
		}
		err = head.Walk(dir, func(name string, typ fs.FileMode) error {
			got = append(got, fmt.Sprint(name, " ", typ.String()[:1]))
			return nil
		})
		return got, err
	}
	for dir, want := range map[string][]string{
		".": {"a d", "a/b d", "a/b/main.tf -", "a/main.tf -", "a/z.tf L", "main.tf -"},
		"a": {"a/b d", "a/b/main.tf -", "a/main.tf -", "a/z.tf L"},
	} {
		if got, err := walk(dir); err != nil || !slices.Equal(got, want) {
			t.Errorf("Walk(%s) = %q, %v, want %q", dir, got, err, want)
		}
	}
	for _, dir := range []string{"c", "main.tf"} {
		if _, err := walk(dir); err != ErrNoDirectory {
			t.Errorf("Walk(%s) = %v, want %v", dir, err, ErrNoDirectory)
		}
	}
	head, err := openClone(t, root).At("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	top, err := head.commit.Tree()
	if err != nil {
		t.Fatal(err)
	}
	entry, err := top.FindEntry("a/b")
	if err != nil {
		t.Fatal(err)
	}
	lose := func(id string) {
		if err := os.Remove(filepath.Join(root, ".git", "objects", id[:2], id[2:])); err != nil {
			t.Fatal(err)
		}
	}
	lose(entry.Hash.String())
	for _, dir := range []string{".", "a"} {
		_, err := walk(dir)
		if !errors.Is(err, object.ErrDirectoryNotFound) || errors.Is(err, ErrNoDirectory) || !strings.Contains(err.Error(), "b: ") {
			t.Errorf("Walk(%s) of a partial clone = %v, want an error about b", dir, err)
		}
	}
	lose(top.Hash.String())
	for _, dir := range []string{".", "a", "a/b"} {
		if _, err := walk(dir); err != ErrNoDirectory {
			t.Errorf("Walk(%s) of a clone without a list of files = %v, want %v", dir, err, ErrNoDirectory)
		}
	}
}
