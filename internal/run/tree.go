package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
)

// Remote is the file tree of a commit on GitHub, read without a checkout.
type Remote struct {
	FS     fs.FS // an fs.ReadLinkFS of the whole repository
	Commit string
}

// everything is a search of a whole directory.
const everything = "./..."

// tree is a file tree and the directories in it that a run is about.
type tree struct {
	root   string   // on disk: absolute, the system's separators
	remote *Remote  // nil for a tree on disk
	dirs   []string // slash-separated, relative to the top, "/..." where a search was asked for
}

// FS returns the tree as the scan reads it.
func (t tree) FS() fs.FS {
	if t.remote != nil {
		return t.remote.FS
	}
	return os.DirFS(t.root)
}

// name is what messages call the tree.
func (t tree) name() string {
	if t.remote != nil {
		return "commit " + t.remote.Commit
	}
	return t.root
}

// path returns the absolute path of a name in a tree on disk.
func (t tree) path(name string) string { return filepath.Join(t.root, filepath.FromSlash(name)) }

// trees sorts the directories of a command line by the repository they are in,
// because modules are called across directories of one repository: the tree
// must hold all of it.
func trees(workDir string, dirs []string) ([]tree, error) {
	if len(dirs) == 0 {
		dirs = []string{everything}
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

// rooted returns a tree outside of any git repository as that of a directory
// which holds all that it is about: the top of a checkout without .git.
func (t tree) rooted(top string) tree {
	if t.isRepository() {
		return t
	}
	top, err := filepath.EvalSymlinks(top)
	if err != nil {
		return t
	}
	below, err := filepath.Rel(t.root, top)
	if err != nil {
		return t
	}
	moved := tree{root: top}
	for _, dir := range t.dirs {
		rest, ok := strings.CutPrefix(dir+"/", filepath.ToSlash(below)+"/")
		if !ok {
			return t
		}
		switch rest = strings.TrimSuffix(rest, "/"); rest {
		case "":
			rest = "."
		case "...":
			rest = everything
		}
		moved.dirs = append(moved.dirs, rest)
	}
	return moved
}

// isRepository reports whether the tree is that of a git repository.
func (t tree) isRepository() bool {
	_, err := os.Lstat(t.path(".git"))
	return t.remote == nil && err == nil
}

// in returns the tree with the directories of a command, which are relative to
// its top and do not lead out of it.
func (r *Remote) in(dirs []string) (tree, error) {
	t := tree{remote: r}
	for _, dir := range dirs {
		name, search := strings.CutSuffix(filepath.ToSlash(dir), "...")
		clean := path.Clean(cmp.Or(name, "."))
		if !fs.ValidPath(clean) {
			return t, fmt.Errorf("%s is not a directory of the repository; it must be relative to its top", dir)
		}
		if search {
			clean += "/..."
		}
		t.dirs = append(t.dirs, clean)
	}
	if len(t.dirs) == 0 {
		t.dirs = []string{everything}
	}
	return t, nil
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
	if t.remote != nil {
		return name
	}
	abs := t.path(name)
	rel, err := filepath.Rel(workDir, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(abs)
	}
	return filepath.ToSlash(rel)
}

// lockFiles reads the lock files of a file tree that holds nothing else, by
// path.
func lockFiles(fsys fs.FS) (map[string][]byte, error) {
	locks := map[string][]byte{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Base(name) != lockfile.Name || !d.Type().IsRegular() {
			return err
		}
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		locks[name], err = readBounded(f)
		return err
	})
	return locks, err
}
