package worktree

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"

	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

// headIn is the commit that is checked out at root.
func headIn(root string) (string, error) {
	c, err := OpenClone(root)
	if err != nil {
		return "", err
	}
	return c.Head()
}

func TestOpensClones(t *testing.T) {
	t.Parallel()
	for _, extension := range []string{"", "partialClone = origin", "worktreeConfig = true", "preciousObjects = true"} {
		for _, version := range []string{"0", "1"} {
			t.Run("format_"+version+"_"+strings.Fields(extension + " plain")[0], func(t *testing.T) {
				root := t.TempDir()
				want := worktreetest.Commit(t, root)
				worktreetest.Write(t, root, map[string]string{".git/config": "[core]\n\trepositoryformatversion = " + version + "\n[extensions]\n\t" + extension + "\n"})
				if got, err := headIn(root); err != nil || got != want {
					t.Errorf("Head(a clone with %q) = %q, %v, want %q", extension, got, err, want)
				}
			})
		}
	}
}

func TestOpensWorktrees(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{"relative": "../main/.git/worktrees/other", "absolute": ""} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			want := worktreetest.Commit(t, filepath.Join(top, "main"))
			if to == "" {
				to = filepath.Join(top, "main", ".git", "worktrees", "other")
			}
			worktreetest.Write(t, top, map[string]string{
				"other/.git":                          "gitdir: " + to + "\n",
				"main/.git/worktrees/other/HEAD":      "ref: refs/heads/master\n",
				"main/.git/worktrees/other/commondir": "../..\n",
				"main/.git/config":                    "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n",
			})
			if got, err := headIn(filepath.Join(top, "other")); err != nil || got != want {
				t.Errorf("Head(a worktree) = %q, %v, want %q", got, err, want)
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
			root := t.TempDir()
			worktreetest.Commit(t, root)
			worktreetest.Write(t, root, tt.files)
			if _, err := OpenClone(root); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("OpenClone() = %v, want an error about %q", err, tt.want)
			}
		})
	}
	for name, text := range map[string]string{"no_place": "elsewhere\n", "a_place_that_is_not_there": "gitdir: ../nowhere\n"} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			worktreetest.Write(t, root, map[string]string{".git": text})
			if _, err := OpenClone(root); err == nil {
				t.Errorf("OpenClone(.git says %q) = nil, want an error", text)
			}
		})
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worktreetest.Init(t, root)
	c := openClone(t, root)
	if _, err := c.Head(); err == nil || !c.Unborn() {
		t.Errorf("Head(without a commit) = %v, unborn: %t", err, c.Unborn())
	}
	want := worktreetest.Commit(t, root)
	if got, err := c.Head(); err != nil || got != want || c.Unborn() {
		t.Errorf("Head() = %q, %v, unborn: %t, want %q", got, err, c.Unborn(), want)
	}
}

// What is not on disk was deleted, unless a sparse checkout leaves it out: its index says
// so, and without one that can be read nothing counts as deleted.
func TestNotOnDisk(t *testing.T) {
	t.Parallel()
	names := []string{"c.tf", "b.tf", "a.tf"}
	for name, tt := range map[string]struct {
		settings         string
		noIndex          bool
		leftOut, deleted []string
	}{
		"a whole checkout":              {deleted: []string{"a.tf", "b.tf"}},
		"a sparse one":                  {settings: "[core]\n\tsparseCheckout = true\n", leftOut: []string{"a.tf"}, deleted: []string{"b.tf"}},
		"a sparse one without an index": {settings: "[core]\n\tsparseCheckout = true\n", noIndex: true, leftOut: []string{"a.tf", "b.tf"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			repo := worktreetest.Init(t, root)
			worktreetest.Write(t, root, map[string]string{"a.tf": "# a\n", "b.tf": "# b\n", "c.tf": "# c\n"})
			worktreetest.Commit(t, root)
			staged, err := repo.Storer.Index()
			if err != nil {
				t.Fatal(err)
			}
			staged.Version = 3
			for _, e := range staged.Entries {
				e.SkipWorktree = e.Name == "a.tf"
			}
			if err := repo.Storer.SetIndex(staged); err != nil {
				t.Fatal(err)
			}
			worktreetest.Write(t, root, map[string]string{".git/config": tt.settings})
			worktreetest.Replace(t, root, map[string]string{"a.tf": "", "b.tf": ""})
			if tt.noIndex {
				worktreetest.Replace(t, root, map[string]string{".git/index": "a sparse one"})
			}
			leftOut, deleted := NotOnDisk(root, names)
			if !slices.Equal(leftOut, tt.leftOut) || !slices.Equal(deleted, tt.deleted) {
				t.Errorf("NotOnDisk() = %q, %q, want %q left out and %q deleted", leftOut, deleted, tt.leftOut, tt.deleted)
			}
		})
	}
}

// The index of a merge that is under way has three stages of a file.
func TestMergeBase(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	repo := worktreetest.Init(t, root)
	var staged index.Index
	for stage, text := range map[index.Stage]string{index.OurMode: "ours", index.AncestorMode: "base", index.TheirMode: "theirs"} {
		blob := repo.Storer.NewEncodedObject()
		blob.SetType(plumbing.BlobObject)
		w, err := blob.Writer()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		id, err := repo.Storer.SetEncodedObject(blob)
		if err != nil {
			t.Fatal(err)
		}
		staged.Entries = append(staged.Entries, &index.Entry{Name: "a/lock", Mode: filemode.Regular, Stage: stage, Hash: id})
	}
	slices.SortFunc(staged.Entries, func(a, b *index.Entry) int { return int(b.Stage) - int(a.Stage) }) // so that the first is none
	staged.Version = 2
	if err := repo.Storer.SetIndex(&staged); err != nil {
		t.Fatal(err)
	}
	c := openClone(t, root)
	if got := c.MergeBase("a/lock"); string(got) != "base" {
		t.Errorf("MergeBase() = %q, want base", got)
	}
	if got := c.MergeBase("b/lock"); got != nil {
		t.Errorf("MergeBase(a file without a conflict) = %q, want nil", got)
	}
}
