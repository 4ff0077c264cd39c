package filetree

// ChangedPath is a path at which two file trees, such as two commits, differ.
type ChangedPath struct {
	Path string
	File bool // a file, not a link, submodule or directory
}
