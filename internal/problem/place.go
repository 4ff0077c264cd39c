package problem

import (
	"cmp"
	"fmt"
	"strings"
)

// Place is where something stands. Its zero value is nowhere.
type Place struct {
	// Path is slash-separated and relative to the scanned file tree, unless there is
	// a Package.
	Path string
	// Package is the module package, or the other repository, that the file is in;
	// empty for the scanned file tree.
	Package string
	// Line is counted from 1; 0 if it is not known.
	Line int
	// From and To are the columns in which it begins and behind which it ends, counted
	// from 1; 0 if nobody needs them.
	From, To int
}

// String returns PATH:LINE, PATH, or nothing.
func (p Place) String() string {
	if p.Line == 0 {
		return p.Path
	}
	return fmt.Sprintf("%s:%d", p.Path, p.Line)
}

// At returns the place of a line in the same file.
func (p Place) At(line int) Place { return Place{Path: p.Path, Package: p.Package, Line: line} }

// Compare orders places by path and line.
func (p Place) Compare(q Place) int {
	return cmp.Or(strings.Compare(p.Path, q.Path), cmp.Compare(p.Line, q.Line))
}
