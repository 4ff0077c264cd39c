package problem

import (
	"cmp"
	"fmt"
	"strings"
)

// Place is a position in a file. Its zero value is no position.
type Place struct {
	// Path is slash-separated. It is relative to the top of the scanned file
	// tree, which is the repository, or to the top of the Package; "." is that
	// top. It is empty for the whole Package, and for no position.
	Path string `json:"file"`
	// Package is the module package with the file, by its source without
	// credentials and query, or another repository as OWNER/NAME. It is empty for
	// the scanned file tree.
	Package string `json:"-"`
	// Line is counted from 1; 0 if unknown.
	Line int `json:"line"`
	// From and To are the first column and the column after the last, counted
	// from 1; 0 if not needed.
	From, To int `json:"-"`
}

// File returns the name of the file: PATH, PACKAGE//PATH or PACKAGE.
func (p Place) File() string {
	if p.Package == "" || p.Path == "" {
		return p.Package + p.Path
	}
	return p.Package + "//" + p.Path
}

// Whole returns the place of the whole file.
func (p Place) Whole() Place { return Place{Path: p.Path, Package: p.Package} }

// Named returns the place in the form for programs: Path is File, and Package is
// empty.
func (p Place) Named() Place { return Place{Path: p.File(), Line: p.Line, From: p.From, To: p.To} }

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
