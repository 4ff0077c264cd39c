package file

import (
	"errors"

	"golang.org/x/sys/unix"
)

// swap gives two directories each other's name.
func swap(dir, name string) error {
	err := unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, name, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // the file system cannot
		return swapInTurn(dir, name)
	}
	return err
}
