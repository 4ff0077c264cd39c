package file

import (
	"os"

	"golang.org/x/sys/unix"
)

// waysToCreate are the ways in which create tries, the best first. A file system may lack
// one.
var waysToCreate = []func(from, to string) error{renameAnew, os.Link, lookAndRename}

// renameAnew renames a file, and fails if the new name exists.
func renameAnew(from, to string) error {
	if err := unix.RenamexNp(from, to, unix.RENAME_EXCL); err != nil {
		return &os.LinkError{Op: "renamex_np", Old: from, New: to, Err: err}
	}
	return nil
}
