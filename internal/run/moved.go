package run

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
)

// move is what the base has changed while a run planned.
type move struct {
	at      proposing
	found   []found
	changed *changed // what matters to some root module; nil until holds was called
}

// holds reports whether the base still has everything that was read, at the commit to which
// it has moved.
func (m *move) holds(ctx context.Context, sha string) (bool, error) {
	d, err := m.at.repo.Difference(ctx, sha, m.at.head)
	if err == nil && d.MergeBase != m.at.head || errors.Is(err, github.ErrNotFound) {
		return false, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeGitHub, Message: fmt.Sprintf("somebody has replaced branch %s, and the commit %.7s, from which relock has planned, is not on it any more", m.at.base, m.at.head),
			Hint: "run again",
		}}
	}
	if err != nil {
		return false, err
	}
	paths, err := m.at.repo.ChangedPaths(ctx, m.at.head, sha)
	if err != nil {
		return false, err
	}
	noticed := noticedBy(m.found)
	m.changed = newChanged(slices.DeleteFunc(paths, func(c filetree.ChangedPath) bool { return !noticed(c) }))
	return !slices.ContainsFunc(m.found, m.concerns), nil
}

// concerns reports whether the base has changed what matters to a root module. Settings may
// matter to each.
func (m *move) concerns(f found) bool {
	return m.changed.touches(f.module) || slices.ContainsFunc(settings.FileNames, func(name string) bool { return m.changed.files[name] })
}

// hasMoved reports whether a group was not proposed because the base has moved.
func hasMoved(outcomes []pr.Outcome) bool {
	return slices.ContainsFunc(outcomes, func(o pr.Outcome) bool {
		var moved *pr.Moved
		return errors.As(o.Err, &moved)
	})
}

// noticedBy returns a function that reports whether a changed path may matter to a run with
// these root modules. If a configuration reads a directory, every file in it matters.
func noticedBy(found []found) func(filetree.ChangedPath) bool {
	read := map[string]bool{}
	for _, f := range found {
		for _, name := range f.module.Files {
			read[name] = true
		}
	}
	return func(p filetree.ChangedPath) bool { return matters(p) || read[p.Path] || read[path.Dir(p.Path)+"/"] }
}

// matters reports whether a changed path may matter to a run. A link or a submodule may
// replace any file, and a directory is a module.
func matters(p filetree.ChangedPath) bool {
	return !p.File || scan.Notices(p.Path) || slices.Contains(settings.FileNames, p.Path)
}
