package filetree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/file"
)

// countedSource counts the questions of a Lazy.
type countedSource struct {
	Source
	asked map[string]*atomic.Int64
}

func counting(s Source) countedSource {
	c := countedSource{s, map[string]*atomic.Int64{}}
	for _, what := range []string{"lstat", "readlink", "readdir", "readfile"} {
		c.asked[what] = &atomic.Int64{}
	}
	return c
}

func (c countedSource) Lstat(name string) (fs.FileInfo, error) {
	c.asked["lstat"].Add(1)
	return c.Source.Lstat(name)
}

func (c countedSource) ReadLink(name string) (string, error) {
	c.asked["readlink"].Add(1)
	return c.Source.ReadLink(name)
}

func (c countedSource) ReadDir(name string) ([]fs.DirEntry, error) {
	c.asked["readdir"].Add(1)
	return c.Source.ReadDir(name)
}

func (c countedSource) ReadFile(name string) ([]byte, error) {
	c.asked["readfile"].Add(1)
	return c.Source.ReadFile(name)
}

func TestLazyIsAFileSystem(t *testing.T) {
	t.Parallel()
	made := tree(t, "main.tf", "a/b/c.tf", "a/empty/", "link -> a/b", "a/b/up.tf -> ../../main.tf")
	dir := t.TempDir()
	if err := os.CopyFS(dir, tree(t, "main.tf", "a/b/c.tf", "a/empty/")); err != nil {
		t.Fatal(err)
	}
	for kind, fsys := range map[string]fs.FS{"in memory": made, "on disk": os.DirFS(dir)} {
		for _, keeps := range []bool{false, true} {
			l := &Lazy{Source: SourceOf(fsys), KeepsContents: keeps}
			if err := fstest.TestFS(l, "main.tf", "a/b/c.tf", "a/empty"); err != nil {
				t.Errorf("%s, which keeps contents: %t: %v", kind, keeps, err)
			}
		}
	}
	var _ fs.ReadLinkFS = &Lazy{}
}

func TestLazyAsksOnce(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{false, true} {
		c := counting(SourceOf(tree(t, "a/b/c.tf", "link -> a/b")))
		l := &Lazy{Source: c, KeepsContents: keeps}
		reads := int64(3)
		if keeps {
			reads = 1
		}
		for range 3 {
			if src, err := l.ReadFile("link/c.tf"); err != nil || string(src) != "a/b/c.tf" {
				t.Fatalf("ReadFile = %q, %v", src, err)
			}
			if !l.Linked("link/c.tf") || l.Linked("a/b/c.tf") {
				t.Fatal("it is not known which path leads through a link")
			}
			if real, _, err := l.Follow("link/./c.tf"); err != nil || real != "a/b/c.tf" {
				t.Fatalf("Follow = %q, %v", real, err)
			}
			for _, missing := range []string{"none", "a/none"} {
				if _, err := l.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("Stat(%q) = %v", missing, err)
				}
			}
			if entries, err := l.ReadDir("link"); err != nil || len(entries) != 1 {
				t.Fatalf("ReadDir = %v, %v", entries, err)
			}
		}
		got := map[string]int64{}
		for what, n := range c.asked {
			got[what] = n.Load()
		}
		want := map[string]int64{"lstat": 6, "readlink": 1, "readdir": 1, "readfile": reads} // link, a, a/b, a/b/c.tf, none, a/none
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	}
}

// TestLazyStaysInTheTree holds that a Lazy opens nothing outside the tree, although the
// file system below it would.
func TestLazyStaysInTheTree(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "tree")
	for _, err := range []error{
		os.Mkdir(dir, 0o755), os.Mkdir(filepath.Join(top, "beside"), 0o755), os.WriteFile(filepath.Join(top, "beside", "x.tf"), []byte("x"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if os.Symlink(filepath.FromSlash("../beside"), filepath.Join(dir, "out")) != nil {
		t.Skip("symbolic links cannot be made here: on Windows that takes a privilege")
	}
	l := &Lazy{Source: SourceOf(os.DirFS(dir))}
	for name, open := range map[string]func(string) error{
		"Open":     func(name string) error { _, err := l.Open(name); return err },
		"Stat":     func(name string) error { _, err := l.Stat(name); return err },
		"ReadFile": func(name string) error { _, err := l.ReadFile(name); return err },
		"ReadDir":  func(name string) error { _, err := l.ReadDir(name); return err },
	} {
		for _, path := range []string{"out", "out/x.tf"} {
			if err := open(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s(%q) = %v, want that there is nothing", name, path, err)
			}
		}
		if err := open("../beside/x.tf"); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s beside the tree = %v", name, err)
		}
	}
	if _, _, err := l.Follow("out/x.tf"); !errors.Is(err, ErrLeadsOut) {
		t.Errorf("Follow = %v, want that it leads out", err)
	}
	if info, err := l.Lstat("out"); err != nil || info.Mode().Type() != fs.ModeSymlink || !l.Linked("out/x.tf") {
		t.Errorf("Lstat = %v, %v; linked: %t", info, err, l.Linked("out/x.tf"))
	}
}

// TestLazyGivesCopies holds that a caller who changes a result does not change the tree.
func TestLazyGivesCopies(t *testing.T) {
	t.Parallel()
	l := &Lazy{Source: SourceOf(tree(t, "a", "b")), KeepsContents: true}
	src, err := l.ReadFile("a")
	if err != nil {
		t.Fatal(err)
	}
	src[0] = 'x'
	entries, err := l.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	entries[0] = nil
	if again, err := l.ReadFile("a"); err != nil || string(again) != "a" {
		t.Errorf("ReadFile = %q, %v", again, err)
	}
	if again, err := l.ReadDir("."); err != nil || again[0] == nil {
		t.Errorf("ReadDir = %v, %v", again, err)
	}
}

// TestLazyOpensRegularFiles holds that a Lazy does not read anything but regular files.
func TestLazyOpensRegularFiles(t *testing.T) {
	t.Parallel()
	c := counting(SourceOf(fstest.MapFS{"pipe": {Mode: fs.ModeNamedPipe}, "dir/x": {}}))
	l := &Lazy{Source: c}
	_, err := l.Open("pipe")
	_, errRead := l.ReadFile("pipe")
	_, errDir := l.ReadFile("dir")
	for _, err := range []error{err, errRead, errDir} {
		if !errors.Is(err, file.ErrIrregular) {
			t.Errorf("opening what is no file = %v", err)
		}
	}
	if n := c.asked["readfile"].Load(); n > 0 {
		t.Errorf("it was read %d times", n)
	}
}
