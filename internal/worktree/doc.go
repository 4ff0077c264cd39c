// Package worktree reads git repositories on disk: commits and their files, the
// differences between a commit and the working tree, and the repository that a
// clone is of.
//
// A Clone is a repository with its working tree. A Revision is a commit of it.
// Both are read with go-git's storage; git itself never runs. A clone may be
// incomplete: a shallow one lacks commits, a partial one objects, and a sparse
// checkout files. Unreadable content is an error, never an absence.
//
// Callers decide which files matter.
package worktree
