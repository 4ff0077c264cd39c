package conversation

import (
	"context"
	"io/fs"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/worktree"
)

// isLock reports whether a path is that of a lock file, of providers or of modules.
func isLock(name string) bool { return lockfile.Is(name) || modulelock.Is(name) }

// locksOf are the lock files of a commit on GitHub, by path.
func locksOf(ctx context.Context, repo *github.Repository, sha string) (map[string][]byte, error) {
	tree, err := repo.Snapshot(ctx, sha, isLock)
	if err != nil {
		return nil, err
	}
	return lockFiles(tree)
}

// lockFiles reads the lock files of a file tree that holds nothing else, by
// path.
func lockFiles(fsys fs.FS) (map[string][]byte, error) {
	locks := map[string][]byte{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !isLock(name) || !d.Type().IsRegular() {
			return err
		}
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		locks[name], err = worktree.ReadBounded(f)
		return err
	})
	return locks, err
}
