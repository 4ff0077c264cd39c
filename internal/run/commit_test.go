package run

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

// Which lock files there are is known of each kind of file tree, hidden ones and links
// included.
func TestCommittedLockFiles(t *testing.T) {
	t.Parallel()
	const lock = ".terraform.lock.hcl"
	lockFiles := map[string]string{"a/" + lock: "# a\n", ".hidden/b/" + lock: "# b\n", "a/main.tf": "# a\n", "notes.txt": "x"}
	onDisk := func(t *testing.T) string {
		t.Helper()
		root := t.TempDir()
		worktreetest.Write(t, root, lockFiles)
		if err := os.Mkdir(filepath.Join(root, "c"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../a/"+lock, filepath.Join(root, "c", lock)); err != nil {
			t.Fatal(err)
		}
		return root
	}
	for name, tt := range map[string]struct {
		tree    func(t *testing.T) tree
		deleted []string
		none    bool
	}{
		"a repository without a commit": {tree: func(t *testing.T) tree {
			root := t.TempDir()
			worktreetest.Init(t, root)
			return tree{root: root}
		}, none: true},
		"a checkout": {tree: func(t *testing.T) tree {
			root := onDisk(t)
			worktreetest.Commit(t, root)
			worktreetest.Write(t, root, map[string]string{"new/" + lock: "# not committed\n"})
			if err := os.Remove(filepath.Join(root, "a", lock)); err != nil {
				t.Fatal(err)
			}
			return tree{root: root}
		}, deleted: []string{"a/" + lock}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readCommitted(t.Context(), job{Session: &Session{}}, tt.tree(t))
			if err != nil {
				t.Fatal(err)
			}
			want := []string{".hidden/b/" + lock, "a/" + lock, "c/" + lock}
			if tt.none {
				want = nil
			}
			if locks := got.locks(); !slices.Equal(locks, want) || got.unknown || !slices.Equal(got.deleted, tt.deleted) || len(got.missing) > 0 {
				t.Errorf("readCommitted() has %q (unknown: %t, deleted %q, missing %q), want %q and deleted %q",
					locks, got.unknown, got.deleted, got.missing, want, tt.deleted)
			}
		})
	}
}
