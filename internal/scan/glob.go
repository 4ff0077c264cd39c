package scan

import (
	"path"
	"slices"
	"strings"
)

// InAny reports whether a directory matches one of the globs, in which ** stands
// for any number of path elements. A glob that is malformed matches nothing.
func InAny(globs []string, dir string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return matchGlob(glob, dir) })
}

// matchGlob matches a directory with a pattern, part by part: ** stands for any
// number of parts, none included. A part that is malformed matches nothing. It keeps the set of
// positions in the pattern that the parts read so far can lead to, so that no
// pattern takes more than the product of both numbers of parts.
func matchGlob(pattern, dir string) bool {
	steps := globParts(pattern)
	reached := make([]bool, len(steps)+1)
	reached[0] = true
	skipStars(steps, reached)
	for _, part := range globParts(dir) {
		next := make([]bool, len(steps)+1)
		for i, p := range steps {
			if !reached[i] {
				continue
			}
			if p == "**" {
				next[i] = true
			} else if ok, _ := path.Match(p, part); ok {
				next[i+1] = true
			}
		}
		reached = next
		skipStars(steps, reached)
	}
	return reached[len(steps)]
}

func globParts(s string) []string {
	if s = path.Clean(s); s == "." {
		return nil
	}
	return strings.Split(s, "/")
}

// skipStars lets each ** that has been reached stand for nothing.
func skipStars(pattern []string, reached []bool) {
	for i, p := range pattern {
		if reached[i] && p == "**" {
			reached[i+1] = true
		}
	}
}
