package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// commitIn makes a git repository with an empty commit and returns that.
func commitIn(t *testing.T, root string) string {
	t.Helper()
	repo, err := git.PlainInit(root, false)
	if err != nil {
		t.Fatal(err)
	}
	work, err := repo.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	who := &object.Signature{Name: "a", Email: "a@example.com", When: time.Unix(1, 0)}
	commit, err := work.Commit("first", &git.CommitOptions{Author: who, AllowEmptyCommits: true})
	if err != nil {
		t.Fatal(err)
	}
	return commit.String()
}

// put writes files below a directory, which may grow.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpensClones(t *testing.T) {
	t.Parallel()
	for _, extension := range []string{"", "partialClone = origin", "worktreeConfig = true", "preciousObjects = true"} {
		for _, version := range []string{"0", "1"} {
			t.Run("format_"+version+"_"+strings.Fields(extension + " plain")[0], func(t *testing.T) {
				root := lay(t)
				want := commitIn(t, root)
				put(t, root, map[string]string{".git/config": "[core]\n\trepositoryformatversion = " + version + "\n[extensions]\n\t" + extension + "\n"})
				if got, err := headOf(tree{root: root}, Target{}); err != nil || got != want {
					t.Errorf("headOf(a clone with %q) = %q, %v, want %q", extension, got, err, want)
				}
			})
		}
	}
}

func TestOpensWorktrees(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{"relative": "../main/.git/worktrees/other", "absolute": ""} {
		t.Run(name, func(t *testing.T) {
			top := lay(t)
			want := commitIn(t, filepath.Join(top, "main"))
			if to == "" {
				to = filepath.Join(top, "main", ".git", "worktrees", "other")
			}
			put(t, top, map[string]string{
				"other/.git":                          "gitdir: " + to + "\n",
				"main/.git/worktrees/other/HEAD":      "ref: refs/heads/master\n",
				"main/.git/worktrees/other/commondir": "../..\n",
				"main/.git/config":                    "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n",
			})
			if got, err := headOf(tree{root: filepath.Join(top, "other")}, Target{}); err != nil || got != want {
				t.Errorf("headOf(a worktree) = %q, %v, want %q", got, err, want)
			}
		})
	}
}

// What the extensions change that are not known must not be guessed.
func TestRefusesClonesOfUnknownForm(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"extension", map[string]string{".git/config": "[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefStorage = reftable\n"}, "refstorage"},
		{"settings", map[string]string{".git/config": "[core\n"}, "opening the git repository"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := lay(t)
			commitIn(t, root)
			put(t, root, tt.files)
			if _, err := openClone(root); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("openClone() = %v, want an error about %q", err, tt.want)
			}
		})
	}
	for name, text := range map[string]string{"no_place": "elsewhere\n", "a_place_that_is_not_there": "gitdir: ../nowhere\n"} {
		t.Run(name, func(t *testing.T) {
			root := lay(t)
			put(t, root, map[string]string{".git": text})
			if _, err := openClone(root); err == nil {
				t.Errorf("openClone(.git says %q) = nil, want an error", text)
			}
		})
	}
}
