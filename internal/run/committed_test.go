package run

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-git/go-git/v5"

	"github.com/relock-dev/relock/internal/filetree"
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
		put(t, root, lockFiles)
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
		"a directory that is in no repository": {tree: func(t *testing.T) tree { return tree{root: onDisk(t), loose: true} }},
		"a commit on GitHub": {tree: func(t *testing.T) tree {
			var b filetree.Builder
			for name, text := range lockFiles {
				if err := b.AddFile(name, 0o644, []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.AddLink("c/"+lock, "../a/"+lock); err != nil {
				t.Fatal(err)
			}
			return tree{remote: &Remote{FS: b.Tree()}}
		}},
		"a repository without a commit": {tree: func(t *testing.T) tree {
			root := t.TempDir()
			if _, err := git.PlainInit(root, false); err != nil {
				t.Fatal(err)
			}
			return tree{root: root}
		}, none: true},
		"a checkout": {tree: func(t *testing.T) tree {
			root := onDisk(t)
			commitAll(t, root)
			put(t, root, map[string]string{"new/" + lock: "# not committed\n"})
			if err := os.Remove(filepath.Join(root, "a", lock)); err != nil {
				t.Fatal(err)
			}
			return tree{root: root}
		}, deleted: []string{"a/" + lock}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := committedIn(t.Context(), job{Session: &Session{}}, tt.tree(t))
			if err != nil {
				t.Fatal(err)
			}
			want := []string{".hidden/b/" + lock, "a/" + lock, "c/" + lock}
			if tt.none {
				want = nil
			}
			if locks := got.locks(); !slices.Equal(locks, want) || got.unknown || !slices.Equal(got.deleted, tt.deleted) || len(got.missing) > 0 {
				t.Errorf("committedIn() has %q (unknown: %t, deleted %q, missing %q), want %q and deleted %q",
					locks, got.unknown, got.deleted, got.missing, want, tt.deleted)
			}
		})
	}
}
