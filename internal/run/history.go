package run

import (
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// History compares the lock files in directories with those of a revision of their
// repository, without a checkout. Directories are as on the command line. Every lock file
// below them counts, from now or from the revision.
func History(env Env, revision string, dirs []string) (report.Report, error) {
	r := report.Report{Verb: verbs.Diff}
	found, err := trees(env.WorkDir, dirs)
	if err != nil {
		return r, err
	}
	for _, t := range found {
		before, err := locksAt(t, revision)
		if err != nil {
			return r, err
		}
		after, err := locksIn(t)
		if err != nil {
			return r, err
		}
		for _, m := range report.Differences(before, after) {
			r.Modules = append(r.Modules, m.Named(t.names(env.WorkDir)))
		}
	}
	return r, nil
}

// locksAnything reports whether a file is a lock file, of providers or of modules.
func locksAnything(name string) bool { return lockfile.Resembles(name) || modulelock.Resembles(name) }

// locksAt returns the lock files of a revision, by path in the tree.
func locksAt(t tree, revision string) (map[string][]byte, error) {
	at, err := t.at(revision)
	if err != nil {
		return nil, err
	}
	return at.Contents(func(name string) bool {
		return locksAnything(name) && !inToolDir(name) && t.covers(path.Dir(name))
	})
}

// locksIn returns the present lock files that are no links, by path in the tree.
func locksIn(t tree) (map[string][]byte, error) {
	c := committed{types: map[string]fs.FileMode{}, links: map[string]string{}}
	if err := c.readHead(t); err != nil {
		return nil, err
	}
	l, locks := listLocks(t, c), map[string][]byte{}
	for _, name := range l.names() {
		info, err := os.Lstat(t.path(name))
		if err != nil || !info.Mode().IsRegular() || inToolDir(name) {
			continue
		}
		locks[name], err = l.read(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return locks, nil
}
