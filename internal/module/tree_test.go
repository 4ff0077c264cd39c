package module

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// planted makes a tree: names that end in / are directories, "a -> b" is a link.
func planted(t *testing.T, paths ...string) *tree {
	t.Helper()
	made := newTree()
	for _, p := range paths {
		var err error
		name, target, isLink := strings.Cut(p, " -> ")
		switch {
		case isLink:
			err = made.link(name, target)
		case strings.HasSuffix(p, "/"):
			_, err = made.dir(strings.TrimSuffix(p, "/"))
		default:
			err = made.file(p, strings.NewReader(p))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return made
}

func TestTreeIsFileSystem(t *testing.T) {
	t.Parallel()
	made := planted(t, "main.tf", "a/b/c.tf", "a/empty/", "link -> a/b", "a/b/up.tf -> ../../main.tf")
	if err := fstest.TestFS(made, "main.tf", "a/b/c.tf", "a/empty", "link", "a/b/up.tf"); err != nil {
		t.Error(err)
	}
}

func TestTreeFollowsLinks(t *testing.T) {
	t.Parallel()
	made := planted(t, "main.tf", "a/b/c.tf", "link -> a/b", "a/b/up.tf -> ../../main.tf", "twice -> link", "dot -> .",
		"out -> ../x", "abs -> /main.tf", "loop -> loop2", "loop2 -> loop", "a/back -> ../a/b/../../link", "dangling.tf -> none")
	for name, want := range map[string]string{
		"link/c.tf": "a/b/c.tf", "link/up.tf": "main.tf", "twice/c.tf": "a/b/c.tf", "dot/dot/main.tf": "main.tf", "a/back/c.tf": "a/b/c.tf",
	} {
		if got, err := fs.ReadFile(made, name); err != nil || string(got) != want {
			t.Errorf("ReadFile(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"out", "abs", "loop", "dangling.tf", "main.tf/x", "none", "../main.tf", "/main.tf"} {
		if f, err := made.Open(name); err == nil {
			t.Errorf("Open(%q) = %v, want an error", name, f)
		}
	}
	if target, err := made.ReadLink("a/back"); err != nil || target != "../a/b/../../link" {
		t.Errorf("ReadLink = %q, %v", target, err)
	}
	if _, err := made.ReadLink("main.tf"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("ReadLink of a file = %v", err)
	}
	if info, err := made.Lstat("link"); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("Lstat of a link = %v, %v", info, err)
	}
	if info, err := fs.Stat(made, "link"); err != nil || !info.IsDir() {
		t.Errorf("Stat of a link = %v, %v", info, err)
	}
}

func TestTreeRefusesContradictions(t *testing.T) {
	t.Parallel()
	for _, paths := range [][2]string{{"a", "a/b"}, {"a/b", "a"}, {"a/", "a"}, {"a -> b", "a/c"}, {"x", "../y"}, {"x", "/y"}, {"x", "a//y"}, {"x", "a\x00b"}} {
		made := planted(t, paths[0])
		if err := made.file(paths[1], strings.NewReader("")); err == nil {
			t.Errorf("a tree with %q took %q", paths[0], paths[1])
		}
	}
}

func TestTreeReplacesFiles(t *testing.T) {
	t.Parallel()
	made := planted(t, "a.tf -> b", "b.tf")
	for _, name := range []string{"a.tf", "b.tf"} {
		if err := made.file(name, strings.NewReader("new")); err != nil {
			t.Fatal(err)
		}
		if got, err := fs.ReadFile(made, name); err != nil || string(got) != "new" {
			t.Errorf("ReadFile(%q) = %q, %v", name, got, err)
		}
	}
	if diff := cmp.Diff([]string{"a.tf", "b.tf"}, names(t, made)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTreeBounds(t *testing.T) {
	t.Parallel()
	made := newTree()
	made.kept = maxKept - 3
	if err := made.file("a.tf", strings.NewReader("abc")); err != nil {
		t.Errorf("file up to the limit: %v", err)
	}
	if err := made.file("b.tf", strings.NewReader("a")); !errors.Is(err, errTooBig) {
		t.Errorf("file beyond the limit: %v", err)
	}
	made.entries = maxEntries
	if err := made.count(); !errors.Is(err, errTooMany) {
		t.Errorf("entry beyond the limit: %v", err)
	}
}

func TestTreeSub(t *testing.T) {
	t.Parallel()
	made := planted(t, "a/b/c.tf", "a/b/in.tf -> c.tf", "a/b/out.tf -> ../d.tf", "a/d.tf", "ab/no.tf", "link -> a/b")
	sub, err := made.sub("link")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c.tf", "in.tf -> c.tf", "out.tf -> ../d.tf"}, names(t, sub)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := sub.Open("out.tf"); err == nil {
		t.Error("a link leads out of the part")
	}
	if _, err := made.sub("none"); err == nil {
		t.Error("a part that is not there")
	}
}
