package run

import (
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
	"github.com/relock-dev/relock/internal/problem"
)

// wildcards make a name a pattern.
const wildcards = "*?["

// patternsResolved replaces each DIR with wildcards by the matching directories, since no
// shell does that for a workflow's input.
func patternsResolved(workDir string, dirs []string) ([]string, error) {
	var all []string
	for _, dir := range dirs {
		name, search := strings.CutSuffix(filepath.ToSlash(dir), "...")
		if _, err := os.Lstat(file.Absolute(workDir, name)); err == nil || !strings.ContainsAny(name, wildcards) {
			all = append(all, dir) // a name that exists may have brackets
			continue
		}
		d := problem.Problem{Code: problem.CodeNotFound, Message: fmt.Sprintf("%s: no directory with a lock file matches", dir)}
		if search {
			d.Message, d.Hint = fmt.Sprintf("%s: a search takes no wildcards", dir), "** matches directories at any depth"
			return nil, &problem.Error{Problem: d}
		}
		found := lockedDirs(workDir, path.Clean(name))
		if len(found) == 0 {
			d.Hint = listsRoots
			return nil, &problem.Error{Problem: d}
		}
		all = append(all, found...)
	}
	return all, nil
}

// lockedDirs are the directories with a lock file that match a pattern. The rules are those
// of the setting include. A directory without a lock file does not match, since it may be a
// module. Hidden directories do not match, and links are not followed.
func lockedDirs(workDir, pattern string) []string {
	parts := strings.Split(pattern, "/")
	first := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, wildcards) })
	above, patterns := path.Join(parts[:first]...), []string{path.Join(parts[first:]...)}
	if strings.HasPrefix(pattern, "/") {
		above = "/" + above
	}
	var found []string
	_ = fs.WalkDir(os.DirFS(file.Absolute(workDir, above)), ".", func(name string, d fs.DirEntry, err error) error {
		switch dir := path.Dir(name); {
		case err != nil: // an unreadable directory matches nothing
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.Name() == lockfile.Name && d.Type().IsRegular() && globs.InAny(patterns, dir):
			found = append(found, path.Join(above, dir))
		}
		return nil
	})
	return found
}
