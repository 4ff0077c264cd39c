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
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	format "github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/relock-dev/relock/internal/file"
)

// openClone opens the git repository whose working tree begins at root: a clone,
// or a worktree or submodule of one.
//
// git.PlainOpen would refuse every clone with an extension of the format, also with
// those that change nothing of what is read here: git clone --filter and git
// sparse-checkout set them, and actions/checkout by its inputs of these names.
func openClone(root string) (*git.Repository, error) {
	dir, common, err := gitDirs(root)
	if err != nil {
		return nil, fmt.Errorf("opening the git repository at %s: %w", root, err)
	}
	stored := dotgit.NewRepositoryFilesystem(osfs.New(dir), nil)
	if common != "" {
		stored = dotgit.NewRepositoryFilesystem(osfs.New(dir), osfs.New(common))
	}
	repo, err := git.Open(clone{filesystem.NewStorage(stored, cache.NewObjectLRUDefault())}, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the git repository at %s: %w", root, err)
	}
	return repo, nil
}

// clone is what git keeps of a clone, without the extensions that are of no matter
// here.
type clone struct{ *filesystem.Storage }

// harmless are extensions of git's repository format that change neither refs nor
// the form of objects [git-config, "extensions.*"]: objects that are fetched when
// they are needed, which fail to be read, objects that must not be deleted, and a
// further file of settings for each worktree.
var harmless = []string{"partialclone", "preciousobjects", "worktreeconfig"}

// Config returns the settings of the clone.
func (c clone) Config() (*config.Config, error) {
	cfg, err := c.Storage.Config()
	if err != nil {
		return nil, err
	}
	extensions := cfg.Raw.Section("extensions")
	extensions.Options = slices.DeleteFunc(extensions.Options, func(o *format.Option) bool {
		return slices.ContainsFunc(harmless, o.IsKey)
	})
	return cfg, nil
}

// mergeBaseOf is the common ancestor of a file that git could not merge, as its index
// keeps it until the conflict is resolved [git-merge, "How to resolve conflicts"]; nil
// if there is none. git's usual markers leave it out.
func mergeBaseOf(t tree, name string) []byte {
	repo, err := openClone(t.root)
	if err != nil {
		return nil
	}
	staged, err := repo.Storer.Index()
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(staged.Entries, func(e *index.Entry) bool { return e.Name == name && e.Stage == index.AncestorMode })
	if i < 0 {
		return nil
	}
	blob, err := repo.BlobObject(staged.Entries[i].Hash)
	if err != nil {
		return nil
	}
	r, err := blob.Reader()
	if err != nil {
		return nil
	}
	defer r.Close()
	content, err := readBounded(r)
	if err != nil {
		return nil
	}
	return content
}

// gitDirs finds the directory in which git keeps a working tree, and the one that
// it shares with other worktrees; empty if it shares none [gitrepository-layout].
func gitDirs(root string) (dir, common string, err error) {
	dir = filepath.Join(root, git.GitDirName)
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
	_, err = repo.Head()
	return errors.Is(err, plumbing.ErrReferenceNotFound)
}
