package run

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
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
			d.Hint = "relock scan lists the root modules that are there"
			if near, ok := nearPattern(path.Clean(name), lockedDirs(workDir, "**")); ok {
				d.Hint = fmt.Sprintf("did you mean '%s'?", near)
			}
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

// nearPattern returns the pattern that was probably meant by one that matches no directory
// with a lock file. It replaces names that differ in a few letters. ok is false if there is
// none.
func nearPattern(pattern string, dirs []string) (near string, ok bool) {
	least := -1
	for _, dir := range dirs {
		corrected, d := correctedBy(strings.Split(pattern, "/"), strings.Split(dir, "/"))
		if globs.InAny([]string{corrected}, dir) && (!ok || d < least) {
			near, least, ok = corrected, d, true
		}
	}
	return near, ok
}

// correctedBy is a pattern in which similar names of a directory's path replace those of
// the pattern. d counts the letters that differ. After ** it compares names from the end.
func correctedBy(pattern, dir []string) (corrected string, d int) {
	parts, behind := slices.Clone(pattern), false
	for i, part := range pattern {
		at := i
		if behind {
			at = len(dir) - len(pattern) + i
		}
		behind = behind || part == "**"
		if strings.ContainsAny(part, wildcards) || at < 0 || at >= len(dir) {
			continue
		}
		slips := levenshtein.Distance(part, dir[at], nil)
		if slips <= provider.Slips(part) && slips < len(part) {
			parts[i] = dir[at]
			d += slips
		}
	}
	return strings.Join(parts, "/"), d
}
