//go:build !windows

package file

import (
	"io/fs"
	"os"
)

// lookAndRename is how a file is created on file systems that have no better way.
func lookAndRename(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}
