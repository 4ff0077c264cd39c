package file

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "name")
	holds := func(want string, mode os.FileMode) {
		t.Helper()
		text, err := os.ReadFile(name)
		info, _ := os.Stat(name)
		if err != nil || string(text) != want || os.PathSeparator == '/' && info.Mode().Perm() != mode {
			t.Errorf("the file is %q, %v, %v; want %q, %v", text, info.Mode(), err, want, mode)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("the directory holds %v, %v; want the file alone", entries, err)
		}
	}
	if err := Replace(name, []byte("one"), Options{}); err != nil {
		t.Fatal(err)
	}
	holds("one", 0o600)
	if err := Replace(name, []byte("two"), Options{Mode: 0o644, Durable: true}); err != nil {
		t.Fatal(err)
	}
	holds("two", 0o644)
	if err := Replace(name, []byte("three"), Options{Unless: func() bool { return true }}); err != nil {
		t.Fatal(err)
	}
	holds("two", 0o644)
}

// What cannot be replaced stays, and nothing is left beside it.
func TestReplaceFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "directory")
	if err := os.MkdirAll(filepath.Join(name, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Replace(name, nil, Options{}); err == nil {
		t.Error("Replace of a directory = nil, want an error")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v; want what it held", entries, err)
	}
	below := filepath.Join(dir, "missing", "twice", "name")
	if err := Replace(below, nil, Options{}); err == nil {
		t.Error("Replace in a directory that is missing = nil, want an error")
	}
	if err := Replace(below, nil, Options{Parents: 0o700}); err != nil {
		t.Errorf("Replace that makes directories = %v", err)
	}
}

// Who has the file open goes on reading what it was.
func TestReplaceLeavesReadersWhatTheyOpened(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a file that is open is not replaced there")
	}
	name := filepath.Join(t.TempDir(), "name")
	if err := Replace(name, []byte("one"), Options{}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Replace(name, []byte("another"), Options{}); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(f); err != nil || string(text) != "one" {
		t.Errorf("the open file reads %q, %v; want what it was", text, err)
	}
}
