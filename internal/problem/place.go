package problem

import (
	"cmp"
	"fmt"
	"strings"
)

// Place is where something stands. Its zero value is nowhere.
type Place struct {
	// Path is slash-separated and relative to the top of the scanned file tree, which is
	// the repository, or to the top of the Package; "." is that top. Empty: the Package as a whole,
	// or nowhere.
	Path string
	// Package is the module package that the file is in, by its source without
	// credentials and query, or another repository as OWNER/NAME; empty for the scanned
	// file tree.
	Package string
	// Line is counted from 1; 0 if it is not known.
	Line int
	// From and To are the columns in which it begins and behind which it ends, counted
	// from 1; 0 if nobody needs them.
	From, To int
}

// File returns the name of the file: PATH, PACKAGE//PATH or PACKAGE.
func (p Place) File() string {
	if p.Package == "" || p.Path == "" {
		return p.Package + p.Path
	}
	return p.Package + "//" + p.Path
}

// String returns FILE:LINE, FILE, or nothing.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File()
	}
	return fmt.Sprintf("%s:%d", p.File(), p.Line)
}

// At returns the place of a line in the same file.
func (p Place) At(line int) Place { return Place{Path: p.Path, Package: p.Package, Line: line} }

// Compare orders places by file and line.
func (p Place) Compare(q Place) int {
	if p.Package == q.Package {
		return cmp.Or(strings.Compare(p.Path, q.Path), cmp.Compare(p.Line, q.Line))
	}
	return cmp.Or(strings.Compare(p.File(), q.File()), cmp.Compare(p.Line, q.Line))
}
