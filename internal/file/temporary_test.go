package file

import (
	"os"
	"testing"
)

// TestTemporary is not parallel: the temporary directory is a variable's.
func TestTemporary(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f, err := NewTemporary()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("text"); err != nil {
		t.Error(err)
	}
	if info, err := f.Stat(); err != nil || os.PathSeparator == '/' && info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want that its owner alone may read it", info, err)
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the directory holds %v, %v; want nothing", left, err)
	}
}
