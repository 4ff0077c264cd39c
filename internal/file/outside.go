package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Outside reports whether a file is outside of all directories, both by its name and after
// its links are followed. The file may be missing. If its links cannot be followed, it
// counts as inside.
func Outside(name string, dirs []string) bool {
	target, err := resolved(name)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(dirs, func(dir string) bool { return below(name, dir) || below(target, dir) })
}

// resolved returns a path with its links followed. Missing elements stay as they are. It
// fails for a link to a missing file.
func resolved(name string) (string, error) {
	target, err := filepath.EvalSymlinks(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return target, err
	}
	if _, err := os.Lstat(name); err == nil {
		return "", fmt.Errorf("%s is a link to a file that is not there", name)
	}
	dir, err := resolved(filepath.Dir(name))
	return filepath.Join(dir, filepath.Base(name)), err
}

// below reports whether a path leads through a directory. It compares the files and not
// their names, since a file system may know several names of a directory.
func below(path, dir string) bool {
	top, err := os.Stat(dir)
	if err != nil {
		return true // an unknown directory counts as one around the path
	}
	for d := filepath.Dir(path); ; d = filepath.Dir(d) {
		if info, err := os.Stat(d); err == nil && os.SameFile(info, top) {
			return true
		}
		if d == filepath.Dir(d) {
			return false
		}
	}
}
