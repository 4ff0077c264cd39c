package run

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Change says between what a check looks for changes.
type Change struct {
	// Base and Head are commits on GitHub: the change is what Head has since it left
	// Base. Straight says that Head must descend from Base.
	Base, Head string
	Straight   bool
	// Revision names a commit of the checkout's repository, in place of both: the
	// change is what the working tree has since it left that.
	Revision string
	// Unknown is why it is not known what changed: then all is looked at.
	Unknown string
}

// changed are the files that were changed and their directories, and those below which
// a version file was.
type changed struct {
	in    map[string]bool
	files map[string]bool
	below []string
}

// newChanged sorts the paths of changed files.
func newChanged(files []string) *changed {
	c := &changed{in: map[string]bool{}, files: map[string]bool{}}
	for _, name := range files {
		c.in[path.Dir(name)], c.files[name], c.files[path.Dir(name)+"/"] = true, true, true
		if slices.Contains(scan.VersionFiles(), path.Base(name)) {
			c.below = append(c.below, path.Dir(name))
		}
	}
	return c
}

// touches reports whether a root module is touched: by a file beside its own, or
// beside those of a local module that it calls, by one that its configuration depends
// on, or by what says its tool's release.
func (c *changed) touches(m scan.RootModule) bool {
	return c.in[m.Dir] || slices.ContainsFunc(m.All().Dirs, func(dir string) bool { return c.in[dir] }) ||
		slices.ContainsFunc(m.Files, func(name string) bool { return c.files[name] }) ||
		slices.ContainsFunc(c.below, func(top string) bool { return top == "." || strings.HasPrefix(m.Dir+"/", top+"/") })
}

// unlocked leaves out root modules without a lock file that are not touched by a
// file of their own: nobody knows what such a one calls. It is for any c, nil too.
func (c *changed) unlocked(diagnostics []provider.Diagnostic) []provider.Diagnostic {
	if c == nil {
		return diagnostics
	}
	return slices.DeleteFunc(slices.Clone(diagnostics), func(d provider.Diagnostic) bool {
		return d.Code == provider.CodeUnlocked && !c.in[d.File]
	})
}

// extent is which root modules a run looks at.
type extent struct {
	touched func(scan.RootModule) bool                 // nil: all
	changed *changed                                   // nil: that is not known
	before  func(ctx context.Context) (*Remote, error) // what the change is based on; nil: that is not known
}

// narrow restricts a check to the root modules that a change touches. Where it
// cannot be known what changed, all are looked at: that finds more, never less.
func narrow(ctx context.Context, j job, trees []tree) (extent, []provider.Diagnostic, error) {
	change, s := j.req.Change, extent{touched: j.req.Touched}
	if change == nil {
		return s, nil, nil
	}
	var files []string
	unknown := change.Unknown
	var err error
	switch {
	case change.Revision != "":
		if len(trees) != 1 {
			return s, nil, errors.New("--touched is about one repository; the directories are in several")
		}
		if files, err = changedSince(trees[0], change.Revision); err != nil {
			return s, nil, err
		}
		s.before = func(context.Context) (*Remote, error) { return filesAt(trees[0], change.Revision) }
	case unknown == "":
		files, s.before, unknown, err = differing(ctx, j)
		if ctx.Err() != nil {
			return s, nil, err
		}
		if err != nil {
			d := provider.Diagnose(err)
			d.Severity, d.Message = provider.SeverityWarning, "all root modules are checked, since it is not known what changed: "+d.Message
			return s, []provider.Diagnostic{d}, nil
		}
	}
	if unknown != "" {
		j.env.Log.Info("all root modules are checked", "reason", unknown)
		return s, nil, nil
	}
	s.changed = newChanged(files)
	s.touched = s.changed.touches
	return s, nil, nil
}

// differing are the files that GitHub says were changed, with what they are changed
// from, or why it does not say.
func differing(ctx context.Context, j job) (files []string, before func(context.Context) (*Remote, error), unknown string, err error) {
	change := j.req.Change
	repo, err := j.hubs.reach(j.req.Hub, j.target.Repository)
	if err != nil {
		return nil, nil, "", err
	}
	d, err := repo.Difference(ctx, change.Base, change.Head)
	if err == nil && (d.Straight || !change.Straight) {
		before = func(ctx context.Context) (*Remote, error) { return snapshot(ctx, repo, change.Base) }
	}
	switch {
	case errors.Is(err, github.ErrNotFound):
		return nil, before, "GitHub does not know one of the commits " + change.Base + " and " + change.Head, nil
	case err != nil:
		return nil, before, "", err
	case !d.Complete:
		return nil, before, "GitHub does not list so many files", nil
	case change.Straight && !d.Straight:
		return nil, before, fmt.Sprintf("%s does not descend from %s", change.Head, change.Base), nil
	}
	return d.Files, before, "", nil
}
