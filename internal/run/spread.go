package run

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
)

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
			Code: problem.CodeNotFound, Message: dir + ": a search takes no wildcards", Hint: "** matches directories at any depth",
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
		case d.Name() == lockfile.Name && d.Type().IsRegular() && globs.InAny(patterns, dir):
			found = append(found, path.Join(above, dir))
		}
		return nil
	})
	return found, nil
}
