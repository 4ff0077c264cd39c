package run

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/terragrunt"
	"github.com/relock-dev/relock/internal/worktree"
)

// target is a file tree, and the part of it that an ask is about.
type target struct {
	// repository is its name on the GitHub server, OWNER/NAME; empty if it has none.
	repository string
	// base is the branch of the files or of the pull requests; empty: the default branch.
	base string
	// The files are those of a checkout or of a commit; both nil: relock reads them from
	// GitHub.
	checkout *Checkout
	remote   *Remote
	// dirs are directories as on the command line: relative to the working directory or
	// absolute, DIR/... for a search. In a Remote they are relative to its top.
	dirs []string
}

// atHand reports whether the ask gives the files.
func (t target) atHand() bool { return t.checkout != nil || t.remote != nil }

// trees are the file trees that hold the directories.
func (t target) trees(workDir string) ([]tree, error) {
	if t.remote == nil {
		return trees(workDir, t.dirs)
	}
	one, err := t.remote.in(t.dirs)
	return []tree{one}, err
}

// Checkout has the known facts about files on disk.
type Checkout struct {
	Repository    string // on the GitHub server, OWNER/NAME; empty if unknown
	DefaultBranch string // of the repository; empty if unknown
	Branch        string // the checked-out branch; empty if unknown
	Commit        string // of the checkout, if it has no .git
}

// Remote is the file tree of a commit on GitHub, read without a checkout.
type Remote struct {
	FS     fs.FS // an fs.ReadLinkFS of the whole repository
	Commit string
	here   string // the working directory of a checkout, which nobody has named; else empty

	// with reads the commit again, with the contents of further files; nil if it cannot.
	with func(ctx context.Context, named map[string]bool) (*filetree.Tree, error)
}

// withUnits is the commit with the contents of files that units read, for sets of values.
// Only the configuration of units says which files these are, and such a file may name
// further ones.
func (r *Remote) withUnits(ctx context.Context, sets []terragrunt.EnvironmentSet) (*Remote, error) {
	files, ok := r.FS.(*filetree.Tree)
	if !ok || r.with == nil {
		return r, nil
	}
	named := map[string]bool{}
	for range mostRounds {
		lacking := slices.DeleteFunc(terragrunt.Lacks(ctx, files, sets), func(name string) bool { return named[name] })
		if len(lacking) == 0 {
			break
		}
		for _, name := range lacking {
			named[name] = true
		}
		var err error
		files, err = r.with(ctx, named)
		if err != nil {
			return nil, err
		}
	}
	return &Remote{FS: files, Commit: r.Commit, here: r.here, with: r.with}, nil
}

// at is the target with the files of a commit. Directories of a checkout become relative to
// its repository.
func (t target) at(workDir string, remote *Remote) target {
	if t.checkout != nil {
		t.dirs = fromTop(workDir, t.dirs)
		here := *remote
		here.here, remote = fromTop(workDir, []string{"."})[0], &here
	}
	t.checkout, t.remote = nil, remote
	return t
}

// fromTop makes directories of the checkout relative to its repository.
func fromTop(workDir string, dirs []string) []string {
	if len(dirs) == 0 {
		dirs = []string{everything}
	}
	var named []string
	for _, dir := range dirs {
		name, search := cutSearch(dir)
		abs := file.Absolute(workDir, name)
		if rel, err := filepath.Rel(worktree.RootOf(abs), abs); err == nil {
			dir = filepath.ToSlash(rel)
		}
		if search {
			dir += "/..."
		}
		named = append(named, dir)
	}
	return named
}
