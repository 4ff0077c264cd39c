// Package worktree reads git repositories on disk: commits and their files, what differs
// between a commit and the working tree, and which repository a clone is of.
//
// A Clone is a repository with its working tree. A Revision is a commit of it. Both are
// read with go-git's storage, and git itself is never run. A clone need not hold all of a
// repository: a shallow one lacks commits, a partial one objects, and a sparse checkout
// lacks files. What cannot be read is an error, never an absence.
//
// Which files matter is the caller's to say.
package worktree
