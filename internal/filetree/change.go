package filetree

// ChangedPath is a path at which two file trees differ, such as two commits.
type ChangedPath struct {
	Path string
	File bool // it is that of a file: of no link, submodule or directory
}
