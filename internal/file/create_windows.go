package file

import (
	"os"

	"golang.org/x/sys/windows"
)

// waysToCreate has the only way of create on Windows.
var waysToCreate = []func(from, to string) error{renameAnew}

// renameAnew renames a file, and fails if the new name exists. os.Rename would replace that
// file [learn.microsoft.com/windows/win32/api/winbase/nf-winbase-movefileexw].
func renameAnew(from, to string) error {
	err := moveFile(from, to)
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func moveFile(from, to string) error {
	old, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	anew, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	return windows.MoveFileEx(old, anew, 0)
}
