package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/worktree"
)

// relevant are the files of a working tree that matter to a run.
var relevant = worktree.Filter{Reads: reads, Notices: scan.Notices, Unlisted: toolDirs, Kept: lockfile.Resembles}

// errUnborn is why the changes since a revision are unknown.
var errUnborn = errors.New("the repository has no commit yet")

// changedInCheckout is the extent of what a working tree has changed since it left a revision,
// or the reason why that is unknown. Uncommitted contents count if the scan reads them.
// GitHub is asked for the history that a clone lacks.
func changedInCheckout(ctx context.Context, j job, t tree) (e extent, unknown string, err error) {
	e, err = sinceFork(j, t)
	if errors.Is(err, errUnborn) {
		return e, err.Error(), nil
	}
	if err != nil {
		var refused error
		e, refused = sinceForkOnGitHub(ctx, j, t)
		if refused != nil {
			return e, "", &problem.Error{Problem: problem.Problem{
				Code: problem.CodeUnreadable, Message: fmt.Sprintf("finding out what changed since %s: %v; GitHub does not say so either: %v", j.ask.change.Revision, err, refused),
				Hint: "fetch the whole history, with fetch-depth: 0 for actions/checkout, or git fetch --unshallow; or set GITHUB_REPOSITORY and GITHUB_TOKEN",
			}}
		}
	}
	// The configuration file comes from the working tree, not from the base.
	if c := e.differs; c != nil {
		c.anywhere = c.anywhere || slices.ContainsFunc(settings.FileNames, func(name string) bool { return c.files[name] })
		return e, "", nil
	}
	return e, manyFiles, nil
}

// sinceFork is the extent of a change according to a clone.
func sinceFork(j job, t tree) (e extent, err error) {
	clone, err := t.clone()
	if err != nil {
		return e, err
	}
	if clone.Unborn() {
		return e, errUnborn
	}
	fork, err := clone.Fork(j.ask.change.Revision)
	if err != nil {
		return e, err
	}
	base, err := clone.At(j.ask.change.Revision)
	if err != nil {
		return e, err
	}
	e.differs, err = changedSince(clone, fork, nil)
	e.base = filesAt(t, base.Commit, j.settings.Own)
	if fork.Commit != base.Commit {
		e.fork = filesAt(t, fork.Commit, j.settings.Own)
	}
	return e, err
}

// sinceForkOnGitHub is the extent of a change according to GitHub, which must know HEAD. The
// revision may be a branch there, or a commit.
func sinceForkOnGitHub(ctx context.Context, j job, t tree) (e extent, err error) {
	repo, err := j.clients.reach(j.access, j.target.repository)
	if err != nil {
		return e, err
	}
	clone, err := t.clone()
	if err != nil {
		return e, err
	}
	head, err := clone.At("HEAD")
	if err != nil {
		return e, err
	}
	base := strings.TrimPrefix(j.ask.change.Revision, "origin/")
	if at, err := clone.At(j.ask.change.Revision); err == nil {
		base = at.Commit
	}
	d, err := repo.Difference(ctx, base, head.Commit)
	if err != nil {
		return e, err
	}
	e.base = filesOnGitHub(j, d.Base)
	if d.MergeBase != d.Base {
		e.fork = filesOnGitHub(j, d.MergeBase)
	}
	if d.Complete {
		e.differs, err = changedSince(clone, head, changedPathsIn(t.FS(), d.Files))
	}
	return e, err
}

// changedSince are further changed paths, and those that differ between a working tree and
// a commit.
func changedSince(clone worktree.Clone, commit worktree.Revision, more []filetree.ChangedPath) (*changed, error) {
	paths, differs, err := clone.Changed(commit, relevant)
	if err != nil {
		return nil, err
	}
	c := newChanged(slices.Concat(more, paths))
	c.differs = differs
	return c, nil
}

// filesAt reads the tree of a commit, with the contents of the files that a run may read.
// config is the name of the configuration file; empty: one of the usual names.
func filesAt(t tree, commit, config string) func(context.Context) (*Remote, error) {
	return readOnce(func(context.Context) (*Remote, error) {
		at, err := t.at(commit)
		if err != nil {
			return nil, err
		}
		files, err := at.Tree(func(name string) bool { return name == config || reads(name) })
		return &Remote{FS: files, Commit: commit}, err
	})
}

// treeOf is a file tree of only these files.
func treeOf(files map[string][]byte) (*filetree.Tree, error) {
	var none filetree.Builder
	return filetree.Overlay(none.Tree(), files)
}
