package run

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	format "github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/relock-dev/relock/internal/file"
)

// clone is what git keeps of a working tree: refs, objects and settings. The package
// git of go-git would bring along what fetches, for every protocol.
type clone struct{ stored *filesystem.Storage }

// openClone opens the git repository whose working tree begins at root: a clone,
// or a worktree or submodule of one.
func openClone(root string) (clone, error) {
	dir, common, err := gitDirs(root)
	if err != nil {
		return clone{}, fmt.Errorf("opening the git repository at %s: %w", root, err)
	}
	stored := dotgit.NewRepositoryFilesystem(osfs.New(dir), nil)
	if common != "" {
		stored = dotgit.NewRepositoryFilesystem(osfs.New(dir), osfs.New(common))
	}
	c := clone{filesystem.NewStorage(stored, cache.NewObjectLRUDefault())}
	err = c.check()
	if err != nil {
		return clone{}, fmt.Errorf("opening the git repository at %s: %w", root, err)
	}
	return c, nil
}

// errNoRepository says that a directory has no HEAD, and so is no git repository.
var errNoRepository = errors.New("repository does not exist")

// harmless are extensions of git's repository format that change neither refs nor
// the form of objects [git-config, "extensions.*"]: none, objects that are fetched when
// they are needed, which fail to be read, objects that must not be deleted, and a
// further file of settings for each worktree. git clone --filter and git sparse-checkout
// set some of them, and so does actions/checkout by its inputs of these names.
var harmless = []string{"noop", "noop-v1", "partialclone", "preciousobjects", "worktreeconfig"}

// check refuses a repository of a form that is not known.
func (c clone) check() error {
	_, err := c.stored.Reference(plumbing.HEAD)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return errNoRepository
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

// head is the ref of the commit that is checked out. The error is
// plumbing.ErrReferenceNotFound if there is no commit yet.
func (c clone) head() (*plumbing.Reference, error) {
	return storer.ResolveReference(c.stored, plumbing.HEAD)
}

// content reads a blob, of which a partial clone need not have any.
func (c clone) content(id plumbing.Hash) ([]byte, error) {
	blob, err := object.GetBlob(c.stored, id)
	if err != nil {
		return nil, err
	}
	r, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readBounded(r)
}

// mergeBaseOf is the common ancestor of a file that git could not merge, as its index
// keeps it until the conflict is resolved [git-merge, "How to resolve conflicts"]; nil
// if there is none. git's usual markers leave it out.
func mergeBaseOf(t tree, name string) []byte {
	repo, err := openClone(t.root)
	if err != nil {
		return nil
	}
	staged, err := repo.stored.Index()
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(staged.Entries, func(e *index.Entry) bool { return e.Name == name && e.Stage == index.AncestorMode })
	if i < 0 {
		return nil
	}
	content, err := repo.content(staged.Entries[i].Hash)
	if err != nil {
		return nil
	}
	return content
}

// gitDirs finds the directory in which git keeps a working tree, and the one that
// it shares with other worktrees; empty if it shares none [gitrepository-layout].
func gitDirs(root string) (dir, common string, err error) {
	dir = filepath.Join(root, ".git")
	if info, err := os.Stat(dir); err != nil {
		return "", "", file.Cause(err)
	} else if !info.IsDir() {
		text, err := readPath(dir)
		if err != nil {
			return "", "", err
		}
		target, ok := strings.CutPrefix(text, "gitdir:")
		if !ok {
			return "", "", errors.New("its file .git does not say where the repository is")
		}
		dir = Absolute(root, strings.TrimSpace(target))
	}
	common, err = readPath(filepath.Join(dir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return dir, "", nil
	}
	if err != nil {
		return "", "", err
	}
	return dir, Absolute(dir, common), nil
}

// readPath reads a file in which git keeps a path.
func readPath(name string) (string, error) {
	text, err := file.ReadAtMost(name, longestPath)
	return strings.TrimSpace(string(text)), file.Cause(err)
}

// longestPath is more than any system's longest path, with git's word before it.
const longestPath = 64 << 10

// sparse reports whether the checkout may lack some of what HEAD has. git
// sparse-checkout says so in the settings of the worktree [git-sparse-checkout,
// "INTERNALS"].
func sparse(t tree) bool {
	dir, common, err := gitDirs(t.root)
	if err != nil {
		return false
	}
	said := ""
	for _, name := range []string{filepath.Join(cmp.Or(common, dir), "config"), filepath.Join(dir, "config.worktree")} {
		text, err := file.ReadAtMost(name, longestPath)
		settings := format.New()
		if err != nil || format.NewDecoder(bytes.NewReader(text)).Decode(settings) != nil {
			continue
		}
		said = cmp.Or(settings.Section("core").Option("sparseCheckout"), said)
	}
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(said))
}

// walkTree calls visit with all that is in a tree of git, by path, directories before
// what is in them. A tree object that is missing is an error wrapping
// plumbing.ErrObjectNotFound: go-git's own walker takes it for the end.
func walkTree(top *object.Tree, visit func(name string, entry object.TreeEntry) error) error {
	var walk func(at *object.Tree, dir string) error
	walk = func(at *object.Tree, dir string) error {
		for _, entry := range at.Entries {
			name := path.Join(dir, entry.Name)
			if err := visit(name, entry); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if entry.Mode != filemode.Dir {
				continue
			}
			below, err := at.Tree(entry.Name)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := walk(below, name); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(top, "")
}

// unborn reports whether a repository has no commit yet on the branch that is checked out.
func unborn(t tree) bool {
	repo, err := openClone(t.root)
	if err != nil {
		return false
	}
	_, err = repo.head()
	return errors.Is(err, plumbing.ErrReferenceNotFound)
}
