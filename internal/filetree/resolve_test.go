package filetree

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// FuzzResolve compares Resolve with the operating system, for a directory on disk and for
// the same tree in memory. os.Root confines the system to the directory. It must reach a
// path exactly if Resolve does, and both must reach the same file. A Lazy must follow a
// clean path as Resolve does. The number of links is the one exception: os.Root follows 8,
// so filepath is asked about paths with more.
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{
		"d/f\nl -> d\nl/f", "d/e/f\nd/l -> ../d/e\nd/l/../e/f", "f\nf/..", "f\nl -> f/.\nl", "d/f\nd/l -> ../../x\nd/l", "d/f\nl -> d/\nl/f",
		"l -> m\nm -> l\nl", "d/f\nl -> /d\nl/f", "d/f\nd/../d/./f", "d//f\nd//f", "d/f\nl -> d/../d//f\nl", "d/f\nl -> none/../d\nl/f", "d/f\nl -> f/../d/f\nf\nl",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if runtime.GOOS == "windows" {
			t.Skip("symbolic links cannot be made here: on Windows that takes a privilege")
		}
		lines := strings.Split(text, "\n")
		if len(lines) > 30 || len(text) > 400 || strings.ContainsAny(text, "\x00\\") {
			return
		}
		dir, made := plant(t, lines[:len(lines)-1])
		name := lines[len(lines)-1]
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		reached, reach := root.Stat(name)
		for kind, fsys := range map[string]fs.FS{"on disk": os.DirFS(dir), "in memory": made} {
			got, err := Resolve(fsys, name)
			if name == path.Clean(name) {
				real, _, lazyErr := (&Lazy{Source: SourceOf(fsys)}).Follow(name)
				if real != got || (lazyErr == nil) != (err == nil) {
					t.Errorf("%s Follow(%q) = %q, %v; Resolve says %q, %v", kind, name, real, lazyErr, got, err)
				}
			}
			switch {
			case name == "" || errors.Is(reach, syscall.ELOOP) && errors.Is(err, ErrLoop):
			case errors.Is(reach, syscall.ELOOP):
				if real, evalErr := filepath.EvalSymlinks(filepath.Join(dir, name)); err == nil && (evalErr != nil || real != filepath.Join(dir, got)) {
					t.Errorf("%s Resolve(%q) = %q; filepath says %q, %v", kind, name, got, real, evalErr)
				}
			case (err == nil) != (reach == nil):
				t.Errorf("%s Resolve(%q) = %q, %v; the system says %v", kind, name, got, err, reach)
			case err == nil:
				info, statErr := os.Lstat(filepath.Join(dir, got))
				if statErr != nil || !os.SameFile(info, reached) {
					t.Errorf("%s Resolve(%q) = %q, which is another file (%v)", kind, name, got, statErr)
				}
			}
		}
	})
}

// plant makes the tree of the lines on disk and in memory. "a -> b" is a link, "a/" a
// directory, everything else a file. Lines that the system refuses are left out.
func plant(t *testing.T, lines []string) (dir string, made *Tree) {
	t.Helper()
	dir = t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var b Builder
	for _, line := range lines {
		name, target, isLink := strings.Cut(line, " -> ")
		file, isDir := strings.CutSuffix(name, "/")
		if !fs.ValidPath(file) || file == "." || len(path.Base(file)) > 100 {
			continue
		}
		if info, err := root.Lstat(file); err == nil && (!isDir || !info.IsDir()) {
			continue
		}
		parent := path.Dir(file)
		if throughLink(root, parent) || root.MkdirAll(parent, 0o755) != nil {
			continue // a Builder accepts only paths without links
		}
		switch {
		case isLink && target != "" && root.Symlink(target, file) == nil:
			err = b.AddLink(file, target)
		case isLink:
			err = b.AddDir(parent)
		case isDir:
			if err = root.MkdirAll(file, 0o755); err == nil {
				err = b.AddDir(file)
			}
		default:
			if err = root.WriteFile(file, nil, 0o600); err == nil {
				err = b.AddFile(file, 0o600, nil)
			}
		}
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	return dir, b.Tree()
}

func throughLink(root *os.Root, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if info, err := root.Lstat(name); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return true
		}
	}
	return false
}

func TestRelative(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to, want string }{
		{".", ".", "."}, {"a", "a", "."}, {".", "a/b", "a/b"}, {"a/b", ".", "../.."},
		{"a", "a/b", "b"}, {"a/b", "a", ".."}, {"a/b", "a/c", "../c"}, {"a", "ab", "../ab"}, {"a/b", "c/d", "../../c/d"},
	} {
		if got := Relative(tt.from, tt.to); got != tt.want {
			t.Errorf("Relative(%s, %s) = %s, want %s", tt.from, tt.to, got, tt.want)
		}
	}
}
