package run

import (
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/worktree"
)

// withIgnored adds what git ignores in a checkout to the options for a search.
func withIgnored(opts scan.Options, t tree, names problem.Naming) scan.Options {
	if t.remote == nil && !t.loose {
		ignored := worktree.ReadIgnoreFiles(t.root)
		opts.IgnoredDir = func(dir string) string { return names.Place(ignored.ByDir(dir)).String() }
		opts.HiddenBy = func(name string) string { return names.Place(ignored.By(name)).String() }
	}
	return opts
}

// ignoredLocks are lock files that git ignores in directories that it does not ignore, and
// the lines that say so.
type ignoredLocks struct{ names, lines []string }

// add adds those of the root modules of a tree that have a lock file, or get one.
func (l *ignoredLocks) add(j job, t tree, opts scan.Options, modules []scan.RootModule) {
	for _, m := range modules {
		name := path.Join(m.Dir, lockfile.Name)
		if opts.HiddenBy == nil || m.Lock == nil && j.ask.to == nil {
			continue
		}
		if by := opts.HiddenBy(name); by != "" && opts.IgnoredDir(m.Dir) == "" {
			l.names = append(l.names, j.names(t).Of(name))
			if !slices.Contains(l.lines, by) {
				l.lines = append(l.lines, by)
			}
		}
	}
}

// notices lists the lock files in one line.
func (l ignoredLocks) notices() []problem.Problem {
	if len(l.names) == 0 {
		return nil
	}
	d := problem.Problem{
		Code: problem.CodeIgnoredLock, Severity: problem.SeverityWarning,
		Message: counted(len(l.names), "git ignores 1 lock file, so that nobody else gets it: ", "git ignores %d lock files, so that nobody else gets them: ") +
			firstOf(l.names, mostNamed),
		Hint: "take the line " + l.lines[0] + " out, and commit the lock files",
	}
	if len(l.names) == 1 {
		d.Hint = strings.TrimSuffix(d.Hint, "s")
	}
	if len(l.lines) > 1 {
		d.Hint = "take the lines " + firstOf(l.lines, mostNamed) + " out, and commit the lock files"
	}
	return []problem.Problem{d}
}
