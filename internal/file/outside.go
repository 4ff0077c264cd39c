package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Outside reports whether a file, which may be missing, lies outside of
// directories, both by its name and by what links make of it.
func Outside(name string, dirs []string) bool {
	target, err := resolved(name)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(dirs, func(dir string) bool { return below(name, dir) || below(target, dir) })
}

// resolved is what links make of a path; what is missing has none.
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

// below reports whether a path leads through a directory, by whatever name: a
// file system may know several.
func below(path, dir string) bool {
	top, err := os.Stat(dir)
	if err != nil {
		return true // what is not known counts as inside
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
