package module

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestWithin(t *testing.T) {
	t.Parallel()
	want := errors.New("own")
	if err := withinBounds(t.Context(), t.TempDir(), func(context.Context) error { return want }); err != want {
		t.Errorf("within = %v, want the error of what it calls", err)
	}
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(maxDirectory + 1); err != nil { // the file takes no room on the disk
		t.Skipf("this file system takes no sparse file of that size: %v", err)
	}
	err = withinBounds(t.Context(), dir, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, errDirectory) {
		t.Errorf("within = %v, want that the directory is too large", err)
	}
}
