package file

import (
	"errors"

	"golang.org/x/sys/unix"
)

// swap gives two directories each other's name.
func swap(dir, name string) error {
	err := unix.RenamexNp(dir, name, unix.RENAME_SWAP)
	if errors.Is(err, unix.ENOTSUP) { // the file system cannot
		return swapInTurn(dir, name)
	}
	return err
}
