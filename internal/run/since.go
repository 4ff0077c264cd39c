package run

import (
	"errors"
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/worktree"
)

// relevant are the files of a working tree that matter to a run.
var relevant = worktree.Filter{Reads: reads, Notices: scan.Notices, Unlisted: toolDirs, Kept: lockfile.Is}

// errUnborn is why the changes since a revision are unknown.
var errUnborn = errors.New("the repository has no commit yet")

// changedInCheckout is what a working tree has changed since it left a revision. The error
// is errUnborn if there is no commit.
func changedInCheckout(t tree, revision string) (*changed, error) {
	paths, differs, err := changedSince(t, revision)
	if err != nil {
		return nil, err
	}
	c := newChanged(paths)
	c.differs = differs
	// The configuration file comes from the working tree, not from the base.
	c.anywhere = c.anywhere || slices.ContainsFunc(settings.FileNames, func(name string) bool { return c.files[name] })
	return c, nil
}

// changedSince returns the paths that differ between the working tree and the commit at
// which HEAD left a revision. Uncommitted contents count if the scan reads them. differs
// reports on any other file.
func changedSince(t tree, revision string) (paths []filetree.ChangedPath, differs func(name string) bool, err error) {
	var fork worktree.Revision
	clone, err := t.clone()
	if err == nil && clone.Unborn() {
		return nil, nil, errUnborn
	}
	if err == nil {
		fork, err = clone.Fork(revision)
	}
	if err != nil {
		return nil, nil, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeSettings, Message: fmt.Sprintf("finding out what changed since %s: %v", revision, err),
			Hint: "fetch the whole history, with fetch-depth: 0 for actions/checkout, or git fetch --unshallow",
		}}
	}
	return clone.Changed(fork, relevant)
}

// filesAt is the tree of a revision, with the contents of the files that a run may read.
// config is the name of the configuration file; empty: one of the usual names.
func filesAt(t tree, revision, config string) (*Remote, error) {
	at, err := t.at(revision)
	if err != nil {
		return nil, err
	}
	files, err := at.Tree(func(name string) bool { return name == config || reads(name) })
	if err != nil {
		return nil, err
	}
	return &Remote{FS: files, Commit: at.Commit}, nil
}

// treeOf is a file tree of only these files.
func treeOf(files map[string][]byte) (*filetree.Tree, error) {
	var none filetree.Builder
	return filetree.Overlay(none.Tree(), files)
}
