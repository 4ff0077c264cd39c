package problem

import (
	"path/filepath"
	"strings"
)

// Naming says how people name the files of one file tree. With its zero value the names
// are the paths.
type Naming struct {
	// Root is where the tree is on disk, and WorkDir the working directory: both are
	// absolute, with the system's separators. Root is empty for a tree that is not on disk.
	Root, WorkDir string
	// Repository is OWNER/NAME where the run is about several repositories; else empty.
	Repository string
}

// Of returns the name of a path of the tree: OWNER/NAME//PATH, or relative to the working
// directory where both are in the tree or the file is below that, or else absolute.
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

// relative returns the path from a directory to another one, both clean, and whether that
// one is the same or below it. The path is empty if they are on different volumes.
func relative(dir, other string) (name string, below bool) {
	name, err := filepath.Rel(dir, other)
	if err != nil {
		return "", false
	}
	return name, name != ".." && !strings.HasPrefix(name, ".."+string(filepath.Separator))
}

// Place returns a place as people name it: one of the tree with its name as the path, or
// as one of the Repository. What is in a package keeps its place.
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
