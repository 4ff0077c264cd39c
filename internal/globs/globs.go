// Package globs matches the patterns of paths that settings hold: those of include and
// exclude, of the directories of rules and groups, and of directories that the command
// line names. A glob is a path relative to the top of the repository whose elements are
// patterns of path.Match, and in which ** stands for any number of elements.
package globs

import (
	"path"
	"slices"
	"strings"
)

// InAny reports whether a directory matches one of the globs, in which ** stands
// for any number of path elements. A glob that is malformed matches nothing.
func InAny(globs []string, dir string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return Matches(glob, dir) })
}

// Matches matches a directory with a glob.
func Matches(glob, dir string) bool { return MatchesElements(Elements(glob), Elements(dir)) }

// Elements are those of a path or a glob; none of the top directory.
func Elements(s string) []string {
	s = path.Clean(s)
	if s == "." {
		return nil
	}
	return strings.Split(s, "/")
}

// MatchesElements matches the elements of a path with those of a glob, in which ** stands for
// any number of them, none included. An element that is malformed matches nothing. It
// keeps after how many elements of the path one of the glob can be, so that no glob
// takes more than the product of both numbers.
func MatchesElements(glob, elements []string) bool {
	reached := make([]bool, len(elements)+1)
	reached[0] = true
	for _, g := range glob {
		next := make([]bool, len(elements)+1)
		before := false
		for i := range reached {
			before = before || reached[i]
			switch {
			case g == "**":
				next[i] = before
			case reached[i] && i < len(elements):
				next[i+1], _ = path.Match(g, elements[i])
			}
		}
		reached = next
	}
	return reached[len(elements)]
}

// LeadsTo reports whether the first elements of a glob lead to a directory, by spelling each
// hidden name on the way: neither ** nor another pattern stands for one.
func LeadsTo(glob, elements []string, hiddenName func(name string) bool) bool {
	reached := make([]bool, len(elements)+1)
	reached[0] = true
	for _, g := range glob {
		next := make([]bool, len(elements)+1)
		before := false
		for i := range reached {
			before = reached[i] || before && !hiddenName(elements[i-1])
			switch {
			case g == "**":
				next[i] = before
			case reached[i] && i < len(elements) && hiddenName(elements[i]):
				next[i+1] = g == elements[i]
			case reached[i] && i < len(elements):
				next[i+1], _ = path.Match(g, elements[i])
			}
		}
		reached = next
		if reached[len(elements)] {
			return true
		}
	}
	return false
}
