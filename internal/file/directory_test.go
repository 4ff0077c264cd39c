package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/relock-dev/relock/internal/file"
)

// filled makes a directory beside a name, with one file.
func filled(t *testing.T, name, content string) string {
	t.Helper()
	dir, err := file.NewDirBeside(name)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, content), []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// onlyFile fails unless a directory is all that is beside it, and has one file.
func onlyFile(t *testing.T, name string, want ...string) {
	t.Helper()
	beside, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(beside) != 1 {
		t.Errorf("%d entries beside the directory, want it alone: %v, %v", len(beside), beside, err)
	}
	entries, err := os.ReadDir(name)
	if err != nil || len(entries) != 1 {
		t.Fatalf("the directory has %v, %v; want one file", entries, err)
	}
	for _, content := range want {
		if entries[0].Name() != content {
			t.Errorf("the directory has %s, want %s", entries[0].Name(), content)
		}
	}
}

func TestReplaceDir(t *testing.T) {
	name := filepath.Join(t.TempDir(), "modules")
	for _, content := range []string{"first", "second", "third"} {
		if err := file.ReplaceDir(filled(t, name, content), name); err != nil {
			t.Fatal(err)
		}
		onlyFile(t, name, content)
	}
}

func TestReplaceDirAtOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "modules")
	var runs sync.WaitGroup
	for _, content := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		dir := filled(t, name, content)
		runs.Go(func() {
			if err := file.ReplaceDir(dir, name); err != nil {
				t.Errorf("ReplaceDir: %v", err)
			}
		})
	}
	runs.Wait()
	onlyFile(t, name)
}

func TestFill(t *testing.T) {
	name := filepath.Join(t.TempDir(), "below", "package")
	write := func(content string, failure error) error {
		return file.Fill(name, func(f *os.File) error {
			_, err := f.WriteString(content)
			return errors.Join(err, failure)
		})
	}
	if err := write("whole", nil); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("the server hung up")
	if err := write("a part", failure); !errors.Is(err, failure) {
		t.Errorf("Fill = %v, want %v", err, failure)
	}
	if got, err := os.ReadFile(name); string(got) != "whole" {
		t.Errorf("the file has %q, %v; want the content that was written whole", got, err)
	}
	onlyFile(t, filepath.Dir(name))
}
