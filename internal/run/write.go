package run

import (
	"io/fs"
	"os"

	"github.com/relock-dev/relock/internal/file"
)

// WriteLock replaces a lock file in one step: a reader sees the old bytes or the
// new ones, also after a crash. The mode of an existing file is kept.
func WriteLock(name string, content []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	return file.Replace(name, content, file.Options{Mode: mode, Durable: true})
}
