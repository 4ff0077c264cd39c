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

// side has the lock files of one commit of a comparison.
type side struct {
	files fs.FS
	locks map[string][]byte // by path
}

// readSide reads the lock files of a commit on GitHub.
func readSide(ctx context.Context, repo *github.Repository, sha string) (side, error) {
	files, err := repo.Snapshot(ctx, sha, isLock)
	if err != nil {
		return side{}, err
	}
	locks := map[string][]byte{}
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !isLock(name) || !d.Type().IsRegular() {
			return err
		}
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		locks[name], err = worktree.ReadBounded(f)
		return err
	})
	return side{files, locks}, err
}
