package worktree

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	format "github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
)

// Clone is a git repository on disk and its working tree: a clone, or a worktree or
// submodule of one. It is for one goroutine, and for one question: it keeps the objects
// that were read. The package git of go-git would bring along what fetches, for every
// protocol.
type Clone struct {
	root   string // of the working tree: absolute, the system's separators
	stored *filesystem.Storage
}

// OpenClone opens the git repository whose working tree begins at root. The error wraps
// ErrNoRepository or fs.ErrNotExist if there is none.
func OpenClone(root string) (Clone, error) {
	dir, common, err := gitDirs(root)
	if err != nil {
		return Clone{}, fmt.Errorf("opening the git repository at %s: %w", root, err)
	}
	stored := dotgit.NewRepositoryFilesystem(osfs.New(dir), nil)
	if common != "" {
		stored = dotgit.NewRepositoryFilesystem(osfs.New(dir), osfs.New(common))
	}
	c := Clone{root, filesystem.NewStorage(stored, cache.NewObjectLRUDefault())}
	err = c.check()
	if err != nil {
		return Clone{}, fmt.Errorf("opening the git repository at %s: %w", root, err)
	}
	return c, nil
}

// ErrNoRepository says that a directory has no HEAD, and so is no git repository.
var ErrNoRepository = errors.New("repository does not exist")

// harmless are extensions of git's repository format that change neither refs nor
// the form of objects [git-config, "extensions.*"]: none, objects that are fetched when
// they are needed, which fail to be read, objects that must not be deleted, and a
// further file of settings for each worktree. git clone --filter and git sparse-checkout
// set some of them, and so does actions/checkout by its inputs of these names.
var harmless = []string{"noop", "noop-v1", "partialclone", "preciousobjects", "worktreeconfig"}

// check refuses a repository of a form that is not known.
func (c Clone) check() error {
	_, err := c.stored.Reference(plumbing.HEAD)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return ErrNoRepository
	}
	settings, err := c.stored.Config()
	if err != nil {
		return err
	}
	version := settings.Core.RepositoryFormatVersion
	if !slices.Contains([]format.RepositoryFormatVersion{"", format.Version_0, format.Version_1}, version) {
		return fmt.Errorf("the version %q of the repository's format is not known", version)
	}
	for _, o := range settings.Raw.Section("extensions").Options {
		if !slices.ContainsFunc(harmless, o.IsKey) {
			return fmt.Errorf("the extension %s of the repository's format is not known", strings.ToLower(o.Key))
		}
	}
	return nil
}

// Head is the id of the commit that is checked out. It is an error if there is no commit
// yet.
func (c Clone) Head() (string, error) {
	head, err := storer.ResolveReference(c.stored, plumbing.HEAD)
	if err != nil {
		return "", fmt.Errorf("reading the HEAD of the git repository at %s: %w", c.root, err)
	}
	return head.Hash().String(), nil
}

// Unborn reports whether there is no commit yet on the branch that is checked out.
func (c Clone) Unborn() bool {
	_, err := c.Head()
	return errors.Is(err, plumbing.ErrReferenceNotFound)
}

// At is the commit that a revision names: a hash or the beginning of one, HEAD, @, a tag,
// a branch, or a branch of a remote, and steps from there as in HEAD~2 and main^. The
// error is a *problem.Error.
func (c Clone) At(revision string) (Revision, error) {
	commit, err := c.resolve(revision)
	if err != nil {
		return Revision{}, c.lacks("the repository has no revision %q: %v", revision, err)
	}
	return Revision{Commit: commit.Hash.String(), name: revision, commit: commit, stored: c.stored, root: c.root}, nil
}

// lacks is the error about a commit that is not in the clone.
func (c Clone) lacks(format string, args ...any) *problem.Error {
	p := problem.Problem{Code: problem.CodeUnreadable, Message: fmt.Sprintf(format, args...), Hint: "name a branch, as in origin/main, a tag or a commit"}
	if ends, err := c.stored.Shallow(); err == nil && len(ends) > 0 {
		p.Hint = "fetch the whole history, with fetch-depth: 0 for actions/checkout, or with `git fetch --unshallow origin '+refs/heads/*:refs/remotes/origin/*'`"
	}
	return &problem.Error{Problem: p}
}

// Fork is the commit where HEAD left a revision. It is an error if the clone does not hold
// that, or the list of files of it or of HEAD.
func (c Clone) Fork(revision string) (Revision, error) {
	from, err := c.At(revision)
	if err != nil {
		return Revision{}, err
	}
	head, err := c.At("HEAD")
	if err != nil {
		return Revision{}, err
	}
	// A shallow clone ends where commits name parents that it lacks.
	common, err := head.commit.MergeBase(from.commit)
	if err != nil || len(common) == 0 {
		return Revision{}, c.lacks("the clone does not hold the commit at which HEAD left %s", revision)
	}
	fork := Revision{Commit: common[0].Hash.String(), name: revision, commit: common[0], stored: c.stored, root: c.root}
	_, baseErr := fork.commit.Tree()
	_, headErr := head.commit.Tree()
	return fork, cmp.Or(baseErr, headErr)
}

// Changed returns the paths that differ between a revision and the working tree, as far
// as the filter says that they matter. Links, and files that are committed, matter
// always. differs reports of any file whether its content on disk is not that in HEAD.
func (c Clone) Changed(since Revision, f Filter) (paths []filetree.ChangedPath, differs func(name string) bool, err error) {
	head, err := c.At("HEAD")
	if err != nil {
		return nil, nil, err
	}
	paths, err = changedBetween(since, head)
	if err != nil {
		return nil, nil, fmt.Errorf("comparing %s with HEAD: %w", since.name, err)
	}
	w, err := readWorkingTree(c.root, head, f)
	if err != nil {
		return nil, nil, err
	}
	return append(paths, w.changed()...), w.differs, nil
}

// MergeBase is the common ancestor of a file that git could not merge, as its index
// keeps it until the conflict is resolved [git-merge, "How to resolve conflicts"]; nil
// if there is none. git's usual markers leave it out.
func (c Clone) MergeBase(name string) []byte {
	staged, err := c.stored.Index()
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(staged.Entries, func(e *index.Entry) bool { return e.Name == name && e.Stage == index.AncestorMode })
	if i < 0 {
		return nil
	}
	content, err := blobContent(c.stored, staged.Entries[i].Hash)
	if err != nil {
		return nil
	}
	return content
}

// blobContent reads a blob, of which a partial clone need not have any.
func blobContent(stored *filesystem.Storage, id plumbing.Hash) ([]byte, error) {
	blob, err := object.GetBlob(stored, id)
	if err != nil {
		return nil, err
	}
	r, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return ReadBounded(r)
}

// ReadBounded reads a file of a repository, which must not be larger than a lock file.
func ReadBounded(r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, lockfile.MaxSize+1))
	if err == nil && len(content) > lockfile.MaxSize {
		err = lockfile.ErrTooLarge
	}
	return content, err
}
