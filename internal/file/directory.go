package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// NewDirBeside makes an empty directory beside a name, to be filled for ReplaceDir. First it
// removes what killed runs have left there. The caller removes the directory by RemoveDir.
func NewDirBeside(name string) (string, error) {
	Sweep(filepath.Dir(name))
	dir, err := os.MkdirTemp(filepath.Dir(name), pattern(filepath.Base(name)))
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// RemoveDir removes a directory that NewDirBeside or NewTemporaryDir made, with what is in
// it. What cannot be removed stays for Sweep.
func RemoveDir(dir string) { _ = os.RemoveAll(dir) }

// ReplaceDir gives a directory of NewDirBeside its name. A directory that has the name is
// replaced whole, and removed. Linux and macOS do that in one step. Elsewhere a killed run may
// leave no directory with the name. Other runs may do the same: the last one wins.
func ReplaceDir(dir, name string) error {
	const tries = 10
	var err error
	for range tries {
		err = os.Rename(dir, name) // it replaces no directory
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		err = swap(dir, name)
		if err == nil {
			RemoveDir(dir) // the old content
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// swapInTurn gives two directories each other's name where the system cannot do that in one
// step.
func swapInTurn(dir, name string) error {
	aside, err := NewDirBeside(name)
	if err != nil {
		return err
	}
	defer RemoveDir(aside)
	old := filepath.Join(aside, "old")
	if err := os.Rename(name, old); err != nil {
		return err
	}
	if err := os.Rename(dir, name); err != nil {
		return errors.Join(err, os.Rename(old, name))
	}
	return os.Rename(old, dir)
}
