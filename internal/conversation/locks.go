package conversation

import (
	"context"
	"io/fs"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/worktree"
)

// locksOf are the lock files of a commit on GitHub, by path.
func locksOf(ctx context.Context, repo *github.Repository, sha string) (map[string][]byte, error) {
	tree, err := repo.Snapshot(ctx, sha, lockfile.Is)
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
		if err != nil || !lockfile.Is(name) || !d.Type().IsRegular() {
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
