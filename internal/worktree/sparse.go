package worktree

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	format "github.com/go-git/go-git/v5/plumbing/format/config"

	"github.com/relock-dev/relock/internal/file"
)

// Sparse reports whether the checkout at root may lack some of what HEAD has. git
// sparse-checkout says so in the settings of the worktree [git-sparse-checkout,
// "INTERNALS"]. It needs no repository that OpenClone knows.
func Sparse(root string) bool {
	dir, common, err := gitDirs(root)
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

// NotOnDisk returns which of the files that HEAD has are not on disk, by their paths,
// sorted: those that a sparse checkout leaves out, which its index marks, and those that
// a local change deleted. If the index cannot be read, since it is a sparse one itself,
// all that is not on disk counts as left out.
func NotOnDisk(root string, names []string) (leftOut, deleted []string) {
	gone := slices.DeleteFunc(slices.Sorted(slices.Values(names)), func(name string) bool {
		_, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
		return !errors.Is(err, fs.ErrNotExist)
	})
	if len(gone) == 0 || !Sparse(root) {
		return nil, gone
	}
	checkedOut := map[string]bool{}
	if c, err := OpenClone(root); err == nil {
		if index, err := c.stored.Index(); err == nil {
			for _, e := range index.Entries {
				checkedOut[e.Name] = !e.SkipWorktree
			}
		}
	}
	for _, name := range gone {
		if checkedOut[name] {
			deleted = append(deleted, name)
		} else {
			leftOut = append(leftOut, name)
		}
	}
	return leftOut, deleted
}
