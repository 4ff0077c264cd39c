package settings

// Facts are what decides whose configuration file is in force.
type Facts struct {
	// Named says that a flag or an input names the file, and Apart that it lies
	// outside of every repository that is read: then it is the operator's.
	Named, Apart bool
	// Checkout says that the repository is checked out and that what is checked
	// out may decide. That of a pull request's head, and what lies around where a
	// comment is answered or another repository is read, may not.
	Checkout bool
}

// Location is where the configuration file is that is in force.
type Location int

// The locations.
const (
	SearchedTree Location = iota // by a name of FileNames, in files that are not the checkout's
	SearchedDisk                 // by a name of FileNames, in the checkout
	NamedTree                    // by the name that is given, in files that are not the checkout's
	NamedDisk                    // by the name that is given, in the checkout
	Operators                    // by the path that is given, on disk; it may say where credentials are
)

// Choose returns where the configuration file is that is in force. It reads
// nothing.
func Choose(f Facts) Location {
	switch {
	case f.Named && f.Apart:
		return Operators
	case f.Named && f.Checkout:
		return NamedDisk
	case f.Named:
		return NamedTree
	case f.Checkout:
		return SearchedDisk
	}
	return SearchedTree
}
