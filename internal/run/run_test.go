package run

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

// lay makes empty files below a new directory and returns that, links resolved.
func lay(t *testing.T, names ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func TestTrees(t *testing.T) {
	t.Parallel()
	top := lay(t, "one/.git/HEAD", "one/live/a/main.tf", "one/live/b/main.tf", "two/.git", "two/main.tf",
		"loose/live/a/main.tf", "loose/live/b/main.tf", "loose/work/main.tf")
	if err := os.Symlink("live", filepath.Join(top, "loose", "linked")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		work string
		dirs []string
		want map[string][]string // by the name of the tree's root
	}{
		{"nothing searches the working directory", "one/live", nil, map[string][]string{"one": {"live/..."}}},
		{"directories of one repository share a tree", "one/live", []string{"a", "./b/..."}, map[string][]string{"one": {"live/a", "live/b/..."}}},
		{"the top is a dot", "one", []string{"."}, map[string][]string{"one": {"."}}},
		{"a file .git marks a worktree or submodule", "one", []string{"../two"}, map[string][]string{"two": {"."}}},
		{"outside of a repository the working directory ends the tree", "loose/live", nil, map[string][]string{"live": {"./..."}}},
		{"and so where it holds all that is named", "loose", []string{"live/a", "live/b/..."}, map[string][]string{"loose": {"live/a", "live/b/..."}}},
		{"else the common top of what is named", "loose/work", []string{"../live/a", "../live/b"}, map[string][]string{"live": {"a", "b"}}},
		{"which may be what is named", "loose/work", []string{"../live/a"}, map[string][]string{"a": {"."}}},
		{"the working directory being a link", "loose/linked", []string{"a"}, map[string][]string{"live": {"a"}}},
		{"a repository beside is apart", "loose", []string{"live/a", "../one/live", "work"}, map[string][]string{"loose": {"live/a", "work"}, "one": {"live"}}},
		{"repositories are apart", "", []string{"one/live", "two"}, map[string][]string{"one": {"live"}, "two": {"."}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found, err := trees(filepath.Join(top, tt.work), tt.dirs)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string][]string{}
			for _, f := range found {
				got[filepath.Base(f.root)] = f.dirs
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("trees(%q) (-want +got):\n%s", tt.dirs, diff)
			}
		})
	}
}

// The directories of a commit on GitHub are relative to its top and do not lead out.
func TestTreeOfACommit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ dirs, want, named []string }{
		"all":         {nil, []string{everything}, nil},
		"the_top":     {[]string{"."}, []string{"."}, nil},
		"directories": {[]string{"live", "./prod/..."}, []string{"live", "prod/..."}, []string{"live", "prod"}},
	} {
		got, err := target{remote: &Remote{Commit: "abc"}, dirs: tt.dirs}.trees("/anywhere")
		if err != nil || !slices.Equal(got[0].dirs, tt.want) || !slices.Equal(got[0].named, tt.named) || got[0].name() != "commit abc" {
			t.Errorf("%s: trees(%q) = %+v, %v, want %q", name, tt.dirs, got, err, tt.want)
		}
	}
	for _, dir := range []string{"..", "/live", "live/../.."} {
		if _, err := (target{remote: &Remote{}, dirs: []string{dir}}).trees(""); err == nil {
			t.Errorf("trees(%s) = nil, want an error", dir)
		}
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]bool{"live": true, "live/a": true, "liver": false, "prod": true, "prod/a": true, ".": false} {
		if got := (tree{dirs: []string{"live", "prod/..."}}).covers(dir); got != want {
			t.Errorf("covers(%s) = %t, want %t", dir, got, want)
		}
	}
	if !(tree{dirs: []string{everything}}).covers("live") {
		t.Error("a search of everything does not cover live")
	}
}

// Outside of a repository the tree is a part of its volume.
func TestAround(t *testing.T) {
	t.Parallel()
	top := lay(t, "live/main.tf")
	fsys, within := tree{root: top}.around()
	if _, err := fs.Stat(fsys, path.Join(within, "live/main.tf")); err != nil {
		t.Errorf("around() = %q, in which there is no file: %v", within, err)
	}
}

// A pattern stands for directories with a lock file; a name with brackets for itself.
func TestPatterns(t *testing.T) {
	t.Parallel()
	top := lay(t, "prod/a/.terraform.lock.hcl", "prod/b/.terraform.lock.hcl", "prod/c/main.tf", "prod/.old/.terraform.lock.hcl", "odd[1]/main.tf")
	for pattern, want := range map[string][]string{
		"prod/*": {"prod/a", "prod/b"}, "**/a": {"prod/a"}, "odd[1]": {"odd[1]"}, "prod/c": {"prod/c"},
	} {
		if got, err := patternsResolved(top, []string{pattern}); err != nil || !slices.Equal(got, want) {
			t.Errorf("patternsResolved(%s) = %q, %v, want %q", pattern, got, err, want)
		}
	}
	for _, pattern := range []string{"stage/*", "prod/*/..."} {
		if got, err := patternsResolved(top, []string{pattern}); problem.Of(err).Code != problem.CodeNotFound {
			t.Errorf("patternsResolved(%s) = %q, %v, want an error", pattern, got, err)
		}
	}
}

func TestTreesRefuseWhatIsNoDirectory(t *testing.T) {
	t.Parallel()
	top := lay(t, "main.tf")
	for dir, want := range map[string]string{"nowhere": "nowhere: no such file", "main.tf": "main.tf is not a directory"} {
		if _, err := trees(top, []string{dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("trees(%q) = %v, want %q in it", dir, err, want)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	t.Run("a new file is readable by all", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "new")
		if err := WriteLock(name, []byte("x"), nil); err != nil {
			t.Fatal(err)
		}
		check(t, name, "x", 0o644)
	})
	t.Run("an existing file keeps its mode", func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "old")
		if err := os.WriteFile(name, []byte("long old content"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := WriteLock(name, []byte("y"), nil); err != nil {
			t.Fatal(err)
		}
		check(t, name, "y", 0o600)
	})
	t.Run("a failure leaves nothing behind", func(t *testing.T) {
		dir := t.TempDir()
		name := filepath.Join(dir, "taken") // a directory that is not empty cannot be replaced
		if err := os.MkdirAll(filepath.Join(name, "inner"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := WriteLock(name, []byte("z"), nil); err == nil {
			t.Error("write succeeded, want an error")
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
	})
}

func check(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil || string(got) != content {
		t.Errorf("content = %q, %v, want %q", got, err, content)
	}
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != mode {
		t.Errorf("mode = %v, %v, want %v", info.Mode(), err, mode)
	}
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) != 1 {
		t.Errorf("files beside it: %v, %v", entries, err)
	}
}

func TestHeadOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got, err := headOf(tree{root: dir}, target{checkout: &Checkout{Commit: "given"}}); err != nil || got != "given" {
		t.Errorf("without .git: %q, %v, want the commit that was given", got, err)
	}
	if _, err := headOf(tree{root: dir}, target{}); err == nil {
		t.Error("without .git and commit: no error")
	}
	worktreetest.Init(t, dir)
	if _, err := headOf(tree{root: dir}, target{checkout: &Checkout{Commit: "given"}}); err == nil {
		t.Error("without a commit: no error")
	}
	commit := worktreetest.Commit(t, dir)
	if got, err := headOf(tree{root: dir}, target{checkout: &Checkout{Commit: "given"}}); err != nil || got != commit {
		t.Errorf("headOf = %q, %v, want %s", got, err, commit)
	}
}
