package run

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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
// include. A directory without a lock file does not match, since it may be a module. Hidden
// directories do not match, and links are not followed.
func dirsMatching(dir string, below func(dir string) fs.FS) (found []string, err error) {
	name, search := strings.CutSuffix(filepath.ToSlash(dir), "...")
	if !strings.ContainsAny(name, wildcards) {
		return []string{dir}, nil
	}
	pattern := path.Clean(name)
	if _, err := fs.Stat(below(pattern), "."); err == nil {
		return []string{dir}, nil // its name has brackets
	}
	if search {
		return nil, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeNotFound, Message: dir + ": a search takes no wildcards", Hint: "** matches directories at any depth",
		}}
	}
	parts := strings.Split(pattern, "/")
	first := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, wildcards) })
	above, patterns := path.Join(parts[:first]...), []string{path.Join(parts[first:]...)}
	if strings.HasPrefix(pattern, "/") {
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
