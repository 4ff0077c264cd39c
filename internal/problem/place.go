package problem

import (
	"cmp"
	"fmt"
	"strings"
)

// Place is where something stands. Its zero value is nowhere.
type Place struct {
	// Path is slash-separated and relative to the top of the scanned file tree, which is
	// the repository, or to the top of the Package; "." is that top. It is empty for the
	// Package as a whole, and for nowhere.
	Path string `json:"file"`
	// Package is the module package that the file is in, by its source without
	// credentials and query, or another repository as OWNER/NAME; empty for the scanned
	// file tree.
	Package string `json:"-"`
	// Line is counted from 1; 0 if it is not known.
	Line int `json:"line"`
	// From and To are the columns in which it begins and behind which it ends, counted
	// from 1; 0 if nobody needs them.
	From, To int `json:"-"`
}

// File returns the name of the file: PATH, PACKAGE//PATH or PACKAGE.
func (p Place) File() string {
	if p.Package == "" || p.Path == "" {
		return p.Package + p.Path
	}
	return p.Package + "//" + p.Path
}

// Whole returns the file that the place is in, without a line.
func (p Place) Whole() Place { return Place{Path: p.Path, Package: p.Package} }

// Named returns the place as programs have it: File is its path, and it has no Package.
func (p Place) Named() Place { return Place{Path: p.File(), Line: p.Line, From: p.From, To: p.To} }

// Unnamed returns the place that Named has made that of: what is behind the last "//"
// of the path is in a package, unless the "//" is that of a URL.
func (p Place) Unnamed() Place {
	i := strings.LastIndex(p.Path, "//")
	if i <= 0 || p.Path[i-1] == ':' {
		return p
	}
	p.Package, p.Path = p.Path[:i], p.Path[i+2:]
	return p
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
