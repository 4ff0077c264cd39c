// Package globs matches the patterns in settings. A glob is a path relative to the top of
// the repository. It is used for include and exclude, for the directories of rules and
// groups, and for directories on the command line. Its elements are patterns of path.Match,
// and ** matches any number of elements. A pattern of path.Match also matches names of
// repositories.
//
// Patterns of providers have their own grammar, in package provider. So do those of
// .gitignore, and those by which Terragrunt copies files.
package globs

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// IsGlob returns an error for people if a text is no glob of directories.
func IsGlob(s string) error {
	refused := func(element string) bool {
		return element == "" || element == ".." || strings.Contains(element, `\`)
	}
	if Malformed(s) != nil || slices.ContainsFunc(strings.Split(s, "/"), refused) {
		return fmt.Errorf("%q is not a glob of directories; it must be relative to the repository, like envs/** or */prod", s)
	}
	return nil
}

// Malformed returns an error if path.Match does not read an element of a glob.
func Malformed(glob string) error {
	for element := range strings.SplitSeq(glob, "/") {
		if _, err := path.Match(element, ""); err != nil {
			return err
		}
	}
	return nil
}

// InAny reports whether a directory matches one of the globs.
func InAny(globs []string, dir string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return Matches(glob, dir) })
}

// Matches reports whether a directory matches a glob. Neither need be clean: ./envs/ is
// envs. A glob that is malformed matches nothing.
func Matches(glob, dir string) bool { return MatchesElements(elementsOf(glob), elementsOf(dir)) }

// elementsOf splits a path or a glob; the top directory has no elements.
func elementsOf(s string) []string {
	clean := path.Clean(s)
	if clean == "." {
		return nil
	}
	return strings.Split(clean, "/")
}

// MatchesElements reports whether the elements of a path match those of a glob.
func MatchesElements(glob, elements []string) bool {
	reached := start(elements)
	for _, g := range glob {
		reached = advance(reached, g, elements, func(string) bool { return false })
	}
	return reached[len(elements)]
}

// LeadsTo reports whether the first elements of a glob match a directory. Each hidden name
// on the way must be in the glob itself: neither ** nor another pattern matches it.
func LeadsTo(glob, dir string, hidden func(name string) bool) bool {
	elements := elementsOf(dir)
	reached := start(elements)
	for _, g := range elementsOf(glob) {
		reached = advance(reached, g, elements, hidden)
		if reached[len(elements)] {
			return true
		}
	}
	return false
}

// start says after how many elements of a path a glob can be before its first element.
func start(elements []string) []bool {
	reached := make([]bool, len(elements)+1)
	reached[0] = true
	return reached
}

// advance computes after how many elements of a path a glob can be past its element g.
// reached has the same for the element before g. So the work for a glob is at most the
// product of both numbers of elements. Only the same text in g matches a hidden name.
func advance(reached []bool, g string, elements []string, hidden func(name string) bool) []bool {
	next := make([]bool, len(reached))
	before := false
	for i := range reached {
		before = reached[i] || before && !hidden(elements[i-1])
		switch {
		case g == "**":
			next[i] = before
		case reached[i] && i < len(elements) && hidden(elements[i]):
			next[i+1] = g == elements[i]
		case reached[i] && i < len(elements):
			next[i+1], _ = path.Match(g, elements[i]) // malformed: no match
		}
	}
	return next
}

// IsName reports whether a text is a pattern that MatchesName reads.
func IsName(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil
}

// MatchesName reports whether a name matches a pattern of path.Match, in capitals or not.
// A pattern that is malformed matches nothing.
func MatchesName(pattern, name string) bool {
	matched, _ := path.Match(strings.ToLower(pattern), strings.ToLower(name))
	return matched
}
