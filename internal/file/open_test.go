package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// TestTreeIsAFileSystem holds that a Tree, and one below a directory of it, is what package
// fs wants.
func TestTreeIsAFileSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755), os.WriteFile(filepath.Join(dir, "a", "x"), []byte("x"), 0o600), os.WriteFile(filepath.Join(dir, "y"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	whole := Tree(os.DirFS(dir))
	if err := fstest.TestFS(whole, "a/b", "a/x", "y"); err != nil {
		t.Error(err)
	}
	below, err := fs.Sub(whole, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(below, "b", "x"); err != nil {
		t.Error(err)
	}
}
