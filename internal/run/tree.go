package run

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/worktree"
)

// everything is the search pattern for a whole directory.
const everything = "./..."

// tree is a file tree, and the directories in it that a run is about.
type tree struct {
	root   string   // on disk: absolute, with the system's separators
	loose  bool     // it is in no repository: only the named directories limit it
	remote *Remote  // nil for a tree on disk
	dirs   []string // slash-separated, relative to the top, with "/..." for a search
	// named are those of dirs that a person named, without "/...". The working directory
	// and the top are left out, since they limit nothing.
	named []string
}

// FS returns the tree as the scan reads it.
func (t tree) FS() fs.FS {
	if t.remote != nil {
		return t.remote.FS
	}
	return os.DirFS(t.root)
}

// name is the name of the tree in messages.
func (t tree) name() string {
	if t.remote != nil {
		return "commit " + t.remote.Commit
	}
	return t.root
}

// path returns the absolute path of a name in a tree on disk.
func (t tree) path(name string) string { return filepath.Join(t.root, filepath.FromSlash(name)) }

// clone opens the git repository of a tree on disk.
func (t tree) clone() (worktree.Clone, error) { return worktree.OpenClone(t.root) }

// at is the commit of a revision.
func (t tree) at(revision string) (worktree.Revision, error) {
	clone, err := t.clone()
	if err != nil {
		return worktree.Revision{}, err
	}
	return clone.At(revision)
}

// mergeBase is the common ancestor of a lock file during a merge; nil if it is unknown.
func (t tree) mergeBase(name string) []byte {
	clone, err := t.clone()
	if err != nil {
		return nil
	}
	return clone.MergeBase(name)
}

// trees groups the directories of a command line by repository. A tree holds a whole
// repository, since modules in one repository call each other. Directories outside of all
// repositories share one tree, which ends at their common top.
func trees(workDir string, dirs []string) ([]tree, error) {
	if len(dirs) == 0 {
		dirs = []string{everything}
	}
	dirs, err := patternsResolved(workDir, dirs)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(dirs))
	var loose []string // in no repository
	for i, dir := range dirs {
		paths[i], err = pathOf(workDir, dir)
		if err != nil {
			return nil, err
		}
		if _, ok := worktree.FindRoot(paths[i]); !ok {
			loose = append(loose, paths[i])
		}
	}
	var found []tree
	for n, dir := range dirs {
		root, ok := worktree.FindRoot(paths[n])
		if !ok {
			root = top(workDir, loose, filepath.VolumeName(paths[n]))
		}
		i := slices.IndexFunc(found, func(t tree) bool { return t.root == root })
		if i < 0 {
			i, found = len(found), append(found, tree{root: root, loose: !ok})
		}
		name, err := filepath.Rel(root, paths[n])
		if err != nil {
			return nil, notFound("%s: %v", paths[n], err)
		}
		name = filepath.ToSlash(name)
		given, search := cutSearch(dir)
		if path.Clean(cmp.Or(given, ".")) != "." && name != "." {
			found[i].named = append(found[i].named, name)
		}
		if search {
			name += "/..."
		}
		found[i].dirs = append(found[i].dirs, name)
	}
	return found, nil
}

// cutSearch divides a DIR of a command line into a name with slashes, and whether it is
// DIR/..., a search.
func cutSearch(dir string) (name string, search bool) {
	return strings.CutSuffix(filepath.ToSlash(dir), "...")
}

// pathOf is a directory of a command line, absolute and without links.
func pathOf(workDir, dir string) (string, error) {
	name, _ := cutSearch(dir)
	abs := file.Absolute(workDir, name)
	info, err := os.Stat(abs)
	if err == nil && !info.IsDir() {
		return "", notFound("%s is not a directory", dir)
	}
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", notFound("%s: %v", dir, file.Cause(err))
	}
	return abs, nil
}

// notFound is the error about a directory of a command line that cannot be used.
func notFound(format string, args ...any) *problem.Error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeNotFound, Message: fmt.Sprintf(format, args...), Hint: listsRoots}}
}

// top is the top of a tree for these directories, as far as they are on the volume. It is
// the working directory if all of them are in it, since a configuration file and its globs
// are relative to that. Otherwise it is their common top.
func top(workDir string, dirs []string, volume string) string {
	if resolved, err := filepath.EvalSymlinks(workDir); err == nil {
		workDir = resolved
	}
	common, inWorkDir := "", true
	for _, dir := range dirs {
		if filepath.VolumeName(dir) != volume {
			continue
		}
		inWorkDir = inWorkDir && holds(workDir, dir)
		if common == "" {
			common = dir
		}
		for !holds(common, dir) {
			common = filepath.Dir(common)
		}
	}
	if inWorkDir {
		return workDir
	}
	return common
}

// holds reports whether a directory is another, or above it. Both must be clean and on one
// volume.
func holds(dir, other string) bool {
	rel, err := filepath.Rel(dir, other)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// around is the file tree of the whole volume, and the place of this tree in it.
func (t tree) around() (fsys fs.FS, within string) {
	volume := filepath.VolumeName(t.root) + string(filepath.Separator)
	rel, err := filepath.Rel(volume, t.root)
	if err != nil {
		return nil, ""
	}
	return os.DirFS(volume), filepath.ToSlash(rel)
}

// in returns the tree with the directories of a command. They are relative to its top and
// must be in it. A pattern that matches nothing stays, like the name of a directory that
// does not exist: another repository may have it.
func (r *Remote) in(dirs []string) (tree, error) {
	t := tree{remote: r}
	for _, dir := range dirs {
		name, search := cutSearch(dir)
		clean := path.Clean(cmp.Or(name, "."))
		if !fs.ValidPath(clean) {
			return t, &problem.Error{Problem: problem.Problem{
				Code: problem.CodeNotFound, Message: dir + " is not a directory of the repository",
				Hint: "name it relative to the top of the repository",
			}}
		}
		if clean != "." && clean != r.here {
			t.named = append(t.named, clean)
		}
		if search {
			clean += "/..."
		}
		found, err := dirsMatching(clean, func(dir string) fs.FS {
			sub, _ := fs.Sub(r.FS, dir) // its only error is of an invalid path
			return sub
		})
		if err != nil {
			return t, err
		}
		if len(found) == 0 {
			found = []string{clean}
		}
		t.dirs = append(t.dirs, found...)
	}
	if len(t.dirs) == 0 {
		t.dirs = []string{everything}
	}
	return t, nil
}

// names are how output names the files of the tree for a person in a directory.
func (t tree) names(workDir string) problem.Naming {
	if t.remote != nil {
		return problem.Naming{}
	}
	return problem.Naming{Root: t.root, WorkDir: workDir}
}

// covers reports whether a directory is in one of the tree's directories.
func (t tree) covers(dir string) bool {
	return slices.ContainsFunc(t.dirs, func(d string) bool {
		d = strings.TrimSuffix(strings.TrimSuffix(d, "/..."), "/")
		return d == "." || dir == d || strings.HasPrefix(dir, d+"/")
	})
}

// locked are the lock files of a repository, sorted. enters reports whether to look in a
// directory.
func (t tree) locked(enters func(dir string) bool) (names []string) {
	if t.loose {
		return nil
	}
	for name := range listLocks(t, committed{}).types {
		if (lockfile.Is(name) || modulelock.Is(name)) && !isHidden(enters, path.Dir(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// wildcards make a name a pattern.
const wildcards = "*?["

// patternsResolved replaces each DIR on disk with wildcards by the matching directories,
// since no shell does that for a workflow's input.
func patternsResolved(workDir string, dirs []string) ([]string, error) {
	var all []string
	for _, dir := range dirs {
		found, err := dirsMatching(dir, func(dir string) fs.FS { return os.DirFS(file.Absolute(workDir, dir)) })
		if err == nil && len(found) == 0 {
			err = &problem.Error{Problem: noMatch(dir)}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func noMatch(pattern string) problem.Problem {
	return problem.Problem{Code: problem.CodeNotFound, Message: pattern + ": no directory with a lock file matches", Hint: listsRoots}
}

// dirsMatching are the directories with a lock file that match a DIR with wildcards, and else
// DIR itself. below returns the files in a directory. The rules are those of the setting
// include, but a directory that exists by its name is no pattern, and what is below it may
// be one. A directory without a lock file does not match, since it may be a module. Hidden
// directories do not match, and links are not followed.
func dirsMatching(dir string, below func(dir string) fs.FS) (found []string, err error) {
	name, search := cutSearch(dir)
	if !strings.ContainsAny(name, wildcards) {
		return []string{dir}, nil
	}
	parts := strings.Split(path.Clean(name), "/")
	n := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, wildcards) })
	for n < len(parts) {
		if _, err := fs.Stat(below(strings.Join(parts[:n+1], "/")), "."); err != nil {
			break
		}
		n++ // the name of the directory has brackets
	}
	if n == len(parts) {
		return []string{dir}, nil
	}
	if search {
		return nil, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeNotFound, Message: dir + ": a search takes no wildcards", Hint: "use **, which matches directories at any depth",
		}}
	}
	above, patterns := path.Join(parts[:n]...), []string{path.Join(parts[n:]...)}
	if strings.HasPrefix(name, "/") {
		above = "/" + above
	}
	_ = fs.WalkDir(below(cmp.Or(above, ".")), ".", func(name string, d fs.DirEntry, err error) error {
		switch dir := path.Dir(name); {
		case err != nil: // an unreadable directory matches nothing
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case (lockfile.Is(name) || modulelock.Is(name)) && d.Type().IsRegular() && globs.InAny(patterns, dir) && !slices.Contains(found, path.Join(above, dir)):
			found = append(found, path.Join(above, dir))
		}
		return nil
	})
	return found, nil
}
