//go:build unix

package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("content"), 0o600),
		os.Symlink("file", at("link")),
		os.Mkdir(at("directory"), 0o700),
		syscall.Mkfifo(at("pipe"), 0o600),
		os.Symlink("pipe", at("link-to-pipe")),
		os.Symlink("missing", at("link-to-nothing")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", "link"} {
		if text, err := Read(at(name)); err != nil || string(text) != "content" {
			t.Errorf("Read(%q) = %q, %v; want the content", name, text, err)
		}
	}
	for name, want := range map[string]error{
		"directory": ErrIrregular, "pipe": ErrIrregular, "link-to-pipe": ErrIrregular, "/dev/zero": ErrIrregular,
		"missing": fs.ErrNotExist, "link-to-nothing": fs.ErrNotExist,
	} {
		path := at(name)
		if filepath.IsAbs(name) {
			path = name
		}
		if _, err := Read(path); !errors.Is(err, want) {
			t.Errorf("Read(%q) = %v, want %v", name, err, want)
		}
	}
}
