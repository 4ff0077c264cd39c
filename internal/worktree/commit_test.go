package worktree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

// committedIn is the tree of HEAD in a clone.
func committedIn(t *testing.T, root string) *filetree.Lazy {
	t.Helper()
	clone := openClone(t, root)
	head, err := clone.At("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	return Committed(head)
}

// lose takes the committed content of a file from a clone.
func lose(t *testing.T, root, name string) {
	t.Helper()
	head, err := openClone(t, root).At("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	id, err := head.Blob(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(root, ".git", "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
}

// What is edited, deleted, added or not checked out on disk makes no difference.
func TestCommittedIsNoDisk(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Write(t, root, map[string]string{"a/main.tf": "# a\n", "a/gone.tf": "# gone\n", "b/main.tf": "# b\n", "run.sh": "x"})
	if err := os.Symlink("main.tf", filepath.Join(root, "a", "link.tf")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	worktreetest.Commit(t, root)
	for _, gone := range []string{"a/gone.tf", "a/link.tf", "b"} {
		if err := os.RemoveAll(filepath.Join(root, gone)); err != nil {
			t.Fatal(err)
		}
	}
	worktreetest.Replace(t, root, map[string]string{"a/main.tf": "# edited\n"})
	worktreetest.Write(t, root, map[string]string{"a/new.tf": "", "c/main.tf": "", "b": "a file now"})
	files := committedIn(t, root)
	if err := fstest.TestFS(files, "a/main.tf", "a/gone.tf", "b/main.tf", "run.sh"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"a/main.tf": "# a\n", "a/gone.tf": "# gone\n", "a/link.tf": "# a\n", "b/main.tf": "# b\n"} {
		if got, err := fs.ReadFile(files, name); string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"a/new.tf", "c", "a/main.tf/x"} {
		if _, err := fs.Stat(files, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat(%s) = %v, want none", name, err)
		}
	}
	if info, err := files.Lstat("run.sh"); err != nil || info.Mode() != 0o755 {
		t.Errorf("Lstat(run.sh) = %v, %v, want an executable file", info, err)
	}
}

// A clone that lacks the content of a file has it on disk, or not at all.
func TestCommittedOfAPartialClone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Write(t, root, map[string]string{"main.tf": "# a\n", "notes.txt": "words"})
	worktreetest.Commit(t, root)
	lose(t, root, "main.tf")
	lose(t, root, "notes.txt")
	clone := openClone(t, root)
	head, err := clone.At("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	files := Committed(head)
	if got, err := fs.ReadFile(files, "main.tf"); string(got) != "# a\n" || !HasAll(head, isConfiguration) {
		t.Errorf("main.tf holds %q, %v, want what is on disk", got, err)
	}
	worktreetest.Replace(t, root, map[string]string{"main.tf": "# edited\n"})
	if got, err := fs.ReadFile(files, "main.tf"); err == nil || HasAll(head, isConfiguration) {
		t.Errorf("main.tf holds %q, which is not committed", got)
	}
	if _, err := head.Tree(isConfiguration); err == nil {
		t.Error("Tree() succeeds, and the clone lacks a file that is read")
	}
}

// A submodule has files if the disk has the recorded commit. A search does not enter it.
func TestCommittedSubmodule(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	sub := filepath.Join(root, "shared")
	worktreetest.Write(t, sub, map[string]string{"net/main.tf": "# net\n"})
	commit := worktreetest.Commit(t, sub)
	worktreetest.Write(t, root, map[string]string{"main.tf": "# a\n"})
	worktreetest.Submodule(t, root, "main.tf", "shared", commit)
	worktreetest.Replace(t, root, map[string]string{"shared/net/main.tf": "# edited\n"})
	files := committedIn(t, root)
	if got, err := fs.ReadFile(files, "shared/net/main.tf"); string(got) != "# net\n" {
		t.Errorf("shared/net/main.tf holds %q, %v, want what is committed there", got, err)
	}
	err := fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, err error) error {
		if name == "shared/net" {
			t.Error("a search enters the submodule")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	worktreetest.Commit(t, sub) // another one is checked out
	if _, err := fs.Stat(committedIn(t, root), "shared/net/main.tf"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the submodule is at another commit, and Stat() = %v", err)
	}
}

// A submodule of a submodule has files, too.
func TestCommittedSubmoduleOfASubmodule(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	sub, inner := filepath.Join(root, "shared"), filepath.Join(root, "shared", "inner")
	worktreetest.Write(t, inner, map[string]string{"net/main.tf": "# net\n"})
	deep := worktreetest.Commit(t, inner)
	worktreetest.Write(t, sub, map[string]string{"main.tf": "# shared\n"})
	worktreetest.Submodule(t, sub, "main.tf", "inner", deep)
	commit, err := openClone(t, sub).Head()
	if err != nil {
		t.Fatal(err)
	}
	worktreetest.Write(t, root, map[string]string{"main.tf": "# a\n"})
	worktreetest.Submodule(t, root, "main.tf", "shared", commit)
	worktreetest.Replace(t, root, map[string]string{"shared/inner/net/main.tf": "# edited\n"})
	if got, err := fs.ReadFile(committedIn(t, root), "shared/inner/net/main.tf"); string(got) != "# net\n" {
		t.Errorf("shared/inner/net/main.tf holds %q, %v, want what is committed there", got, err)
	}
	worktreetest.Commit(t, inner)
	if _, err := fs.Stat(committedIn(t, root), "shared/inner/net"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the inner submodule is at another commit, and Stat() = %v", err)
	}
}

// A name that git refuses to check out leads a search nowhere.
func TestCommittedRefusesNames(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"..", ".", "a/b"} {
		root := t.TempDir()
		worktreetest.Write(t, root, map[string]string{"main.tf": "# a\n"})
		worktreetest.Commit(t, root)
		clone := openClone(t, root)
		head, err := clone.At("HEAD")
		if err != nil {
			t.Fatal(err)
		}
		tree := object.Tree{Entries: []object.TreeEntry{{Name: bad, Mode: filemode.Dir, Hash: head.commit.TreeHash}}}
		stored := clone.stored.NewEncodedObject()
		if err := tree.Encode(stored); err != nil {
			t.Fatal(err)
		}
		head.commit.TreeHash, err = clone.stored.SetEncodedObject(stored)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fs.ReadDir(Committed(head), "."); !errors.Is(err, filetree.ErrName) {
			t.Errorf("a directory named %q: ReadDir() = %v, want %v", bad, err, filetree.ErrName)
		}
	}
}
