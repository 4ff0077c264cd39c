package file

import (
	"os"

	"golang.org/x/sys/unix"
)

// waysToCreate are the ways in which create tries, the best first. A file system may lack
// one: NFS the first, FAT the second.
var waysToCreate = []func(from, to string) error{renameAnew, os.Link, lookAndRename}

// renameAnew renames a file, and fails if the new name exists.
func renameAnew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if err != nil {
		return &os.LinkError{Op: "renameat2", Old: from, New: to, Err: err}
	}
	return nil
}
