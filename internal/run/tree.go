package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tree is a file tree on disk and the directories in it that a run is about.
type tree struct {
	root string   // absolute, the system's separators
	dirs []string // slash-separated, relative to root, "/..." where a search was asked for
}

// FS returns the tree as the scan reads it.
func (t tree) FS() fs.FS { return os.DirFS(t.root) }

// path returns the absolute path of a name in the tree.
func (t tree) path(name string) string { return filepath.Join(t.root, filepath.FromSlash(name)) }

// trees sorts the directories of a command line by the repository they are in,
// because modules are called across directories of one repository: the tree
// must hold all of it.
func trees(workDir string, dirs []string) ([]tree, error) {
	if len(dirs) == 0 {
		dirs = []string{"./..."}
	}
	var found []tree
	for _, dir := range dirs {
		name, search := strings.CutSuffix(filepath.ToSlash(dir), "...")
		abs := filepath.FromSlash(name)
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(workDir, abs)
		}
		abs = filepath.Clean(abs)
		if info, err := os.Stat(abs); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, cause(err))
		} else if !info.IsDir() {
			return nil, fmt.Errorf("%s is not a directory", dir)
		}
		abs, err := filepath.EvalSymlinks(abs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, cause(err))
		}
		root := RepositoryRoot(abs)
		rel, err := filepath.Rel(root, abs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		rel = filepath.ToSlash(rel)
		if search {
			rel += "/..."
		}
		i := slices.IndexFunc(found, func(t tree) bool { return t.root == root })
		if i < 0 {
			i, found = len(found), append(found, tree{root: root})
		}
		found[i].dirs = append(found[i].dirs, rel)
	}
	return found, nil
}

// cause strips the path from a file system error, which the caller names.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// RepositoryRoot is the nearest directory at or above dir that holds .git (a
// directory, or a file in worktrees and submodules), else the volume's root.
func RepositoryRoot(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil || d == filepath.Dir(d) {
			return d
		}
	}
}

// shown is how output names a file: slash-separated, relative to the working
// directory where it is below it, else absolute.
func (t tree) shown(workDir, name string) string {
	abs := t.path(name)
	rel, err := filepath.Rel(workDir, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(abs)
	}
	return filepath.ToSlash(rel)
}
