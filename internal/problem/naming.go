package problem

import (
	"path/filepath"
	"strings"
)

// Naming gives the files of one file tree the names that people use. With its
// zero value the names are the paths.
type Naming struct {
	// Root is the tree's directory on disk, and WorkDir the working directory.
	// Both are absolute, with the system's separators. Root is empty for a tree
	// that is not on disk.
	Root, WorkDir string
	// Repository is OWNER/NAME in a run over several repositories; else empty.
	Repository string
}

// Of returns the name of a path of the tree. It is OWNER/NAME//PATH with a
// Repository. It is relative to the working directory if both are in the tree, or
// if the file is below that directory. Otherwise it is absolute.
func (n Naming) Of(path string) string {
	switch {
	case n.Repository != "":
		return n.Repository + "//" + path
	case n.Root == "":
		return path
	}
	abs := filepath.Join(n.Root, filepath.FromSlash(path))
	name, below := relative(n.WorkDir, abs)
	if _, inTree := relative(n.Root, n.WorkDir); name == "" || !below && !inTree {
		name = abs
	}
	return filepath.ToSlash(name)
}

// relative returns the path from dir to other, both clean, and whether other is
// dir or below it. The path is empty if they are on different volumes.
func relative(dir, other string) (name string, below bool) {
	name, err := filepath.Rel(dir, other)
	if err != nil {
		return "", false
	}
	return name, name != ".." && !strings.HasPrefix(name, ".."+string(filepath.Separator))
}

// Place returns a place with the name that people use as its path, or as a place
// of the Repository. A place in a package is unchanged.
func (n Naming) Place(p Place) Place {
	switch {
	case p.Package != "" || p.Path == "":
	case n.Repository != "":
		p.Package = n.Repository
	default:
		p.Path = n.Of(p.Path)
	}
	return p
}
