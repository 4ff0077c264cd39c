package worktree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/relock-dev/relock/internal/file"
)

// FindRoot is the top of the git repository that a directory is in, if it is in one: the
// nearest directory at or above it that holds .git (a directory, or a file in worktrees
// and submodules).
func FindRoot(dir string) (top string, found bool) {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

// RootOf is the top of the git repository that a directory is in, or else the directory.
func RootOf(dir string) string {
	if top, found := FindRoot(dir); found {
		return top
	}
	return dir
}

// gitDirs finds the directory in which git keeps a working tree, and the one that
// it shares with other worktrees; empty if it shares none [gitrepository-layout].
func gitDirs(root string) (dir, common string, err error) {
	dir = filepath.Join(root, ".git")
	if info, err := os.Stat(dir); err != nil {
		return "", "", file.Cause(err)
	} else if !info.IsDir() {
		text, err := readPath(dir)
		if err != nil {
			return "", "", err
		}
		target, ok := strings.CutPrefix(text, "gitdir:")
		if !ok {
			return "", "", errors.New("its file .git does not say where the repository is")
		}
		dir = file.Absolute(root, strings.TrimSpace(target))
	}
	common, err = readPath(filepath.Join(dir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return dir, "", nil
	}
	if err != nil {
		return "", "", err
	}
	return dir, file.Absolute(dir, common), nil
}

// readPath reads a file in which git keeps a path.
func readPath(name string) (string, error) {
	text, err := file.ReadAtMost(name, longestPath)
	return strings.TrimSpace(string(text)), file.Cause(err)
}

// longestPath is more than any system's longest path, with git's word before it.
const longestPath = 64 << 10
