//go:build unix

package notes

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/relock-dev/relock/internal/file"
)

func TestCacheThatIsAPipeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCache(path); !errors.Is(err, file.ErrIrregular) {
		t.Errorf("OpenCache of a pipe = %v, want %v", err, file.ErrIrregular)
	}
}
