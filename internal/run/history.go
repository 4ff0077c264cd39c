package run

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// History compares the lock files in directories with those of a revision of
// their repository, without a checkout of that. Directories are as in a
// Request; below each, every lock file that is there now or was there counts.
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
		for _, m := range compareAll(before, after) {
			r.Modules = append(r.Modules, m.Named(t.names(env.WorkDir)))
		}
	}
	return r, nil
}

// Compare reports the difference of the contents of one lock file. No content
// is a lock file without entries.
func Compare(name string, before, after []byte) report.Module {
	m := report.Module{Dir: path.Dir(name), LockPath: name}
	old, problems := lockfile.Parse(before, name)
	m.Diagnostics = problems
	now, problems := lockfile.Parse(after, name)
	m.Diagnostics = append(m.Diagnostics, problems...)
	if old == nil || now == nil {
		return m
	}
	for _, change := range diff.Locks(old.Locks, now.Locks, nil) {
		m.Changes = append(m.Changes, report.Change{Change: change})
	}
	return m
}

// compareAll compares lock files by their paths, and leaves out what is the same.
func compareAll(before, after map[string][]byte) (differ []report.Module) {
	for _, name := range union(before, after) {
		if m := Compare(name, before[name], after[name]); len(m.Changes)+len(m.Diagnostics) > 0 {
			differ = append(differ, m)
		}
	}
	return differ
}

func union(before, after map[string][]byte) []string {
	names := maps.Clone(before)
	maps.Copy(names, after)
	return slices.Sorted(maps.Keys(names))
}

// maxLock bounds a lock file; that of hundreds of providers is far smaller.
const maxLock = 8 << 20

// locksAt returns the lock files of a revision, by path in the tree.
func locksAt(t tree, revision string) (map[string][]byte, error) {
	return contentsAt(t, revision, func(name string) bool { return isLock(name) && !inToolDir(name) && t.covers(path.Dir(name)) })
}

// contentsAt reads those files of a revision that are taken, by path, without a
// checkout. Links are left out, so that what they lead to is missing there.
func contentsAt(t tree, revision string, takes func(name string) bool) (contents map[string][]byte, err error) {
	commit, err := commitOf(t, revision)
	if err != nil {
		return nil, err
	}
	contents = map[string][]byte{}
	size := 0
	top, err := commit.Tree()
	if err == nil {
		err = walkTree(top, func(name string, entry object.TreeEntry) error {
			if !ofFile(entry.Mode) || !takes(name) {
				return nil
			}
			f, err := top.TreeEntryFile(&entry)
			if err != nil {
				return err
			}
			content, err := f.Reader()
			if err != nil {
				return err
			}
			defer content.Close()
			contents[name], err = readBounded(content)
			if size += len(contents[name]); size > mostBase {
				return fmt.Errorf("its configuration is larger than %d MiB", mostBase>>20)
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("reading revision %s: %w", revision, err)
	}
	return contents, nil
}

// mostBase bounds the configuration of a revision, as github.Snapshot does.
const mostBase = 128 << 20

// blobAtHead is the id of what the checked out commit has for a file; empty if it has none, or
// an empty one. It takes no content, which a partial clone may lack.
func blobAtHead(t tree, name string) (string, error) {
	commit, err := commitOf(t, "HEAD")
	if err != nil {
		return "", err
	}
	top, err := commit.Tree()
	if err != nil {
		return "", fmt.Errorf("reading the tree of %s: %w", commit.Hash, err)
	}
	switch entry, err := top.FindEntry(name); {
	case errors.Is(err, object.ErrEntryNotFound), errors.Is(err, object.ErrDirectoryNotFound):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("looking for %s in the commit %s: %w", name, commit.Hash, err)
	case entry.Hash.String() == github.BlobID(nil):
		return "", nil
	default:
		return entry.Hash.String(), nil
	}
}

// commitOf is the commit that a revision names.
func commitOf(t tree, revision string) (*object.Commit, error) {
	repo, err := openClone(t.root)
	if err != nil {
		return nil, err
	}
	commit, err := repo.resolve(revision)
	if err != nil {
		return nil, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeUnreadable, Message: fmt.Sprintf("the repository has no revision %q: %v", revision, err),
			Hint: "name a branch, a tag or a commit; a shallow clone may have to be deepened",
		}}
	}
	return commit, nil
}

// locksIn returns the lock files that are there now, by path in the tree.
func locksIn(t tree) (map[string][]byte, error) {
	locks := map[string][]byte{}
	for _, dir := range t.dirs {
		err := t.visible(strings.TrimSuffix(dir, "/..."), func(file, name string) error {
			if !isLock(name) {
				return nil
			}
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			defer f.Close()
			locks[name], err = readBounded(f)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("searching %s: %w", dir, err)
		}
	}
	return locks, nil
}

func readBounded(r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxLock+1))
	if err == nil && len(content) > maxLock {
		err = errors.New("the lock file is larger than 8 MiB")
	}
	return content, err
}
