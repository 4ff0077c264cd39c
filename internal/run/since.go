package run

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// changedSince returns the files that differ between where HEAD left a revision and
// the working tree. Of what is not committed those count that the scan reads.
func changedSince(t tree, revision string) ([]string, error) {
	base, head, err := parted(t, revision)
	if err != nil {
		return nil, provider.Diagnostic{
			Code: provider.CodeSettings, Message: fmt.Sprintf("finding out what changed since %s: %v", revision, err),
			Hint: "fetch the whole history, with fetch-depth: 0 for actions/checkout, or git fetch --unshallow",
		}
	}
	changes, err := object.DiffTree(base, head)
	if err != nil {
		return nil, fmt.Errorf("comparing %s with HEAD: %w", revision, err)
	}
	var files []string
	for _, c := range changes {
		for _, name := range []string{c.From.Name, c.To.Name} {
			if name != "" {
				files = append(files, name)
			}
		}
	}
	more, err := uncommitted(t, head)
	return append(files, more...), err
}

// parted are the trees of the commit where HEAD left a revision, and of HEAD.
func parted(t tree, revision string) (base, head *object.Tree, err error) {
	from, err := commitOf(t, revision)
	if err != nil {
		return nil, nil, err
	}
	at, err := commitOf(t, "HEAD")
	if err != nil {
		return nil, nil, err
	}
	// A shallow clone ends where commits name parents that it lacks.
	common, err := at.MergeBase(from)
	if err != nil || len(common) == 0 {
		return nil, nil, fmt.Errorf("the clone does not hold the commit at which HEAD left it")
	}
	if base, err = common[0].Tree(); err != nil {
		return nil, nil, err
	}
	head, err = at.Tree()
	return base, head, err
}

// uncommitted are the files that the scan reads and whose contents are not those of
// HEAD, by what is on disk: an index may be out of date.
func uncommitted(t tree, head *object.Tree) ([]string, error) {
	committed := map[string]plumbing.Hash{}
	walk := object.NewTreeWalker(head, true, nil) // contents need not be there
	defer walk.Close()
	for {
		name, entry, err := walk.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the tree of HEAD: %w", err)
		}
		if entry.Mode.IsRegular() && scan.Reads(name) {
			committed[name] = entry.Hash
		}
	}
	var changed []string
	err := t.visible(".", func(file, name string) error {
		if !scan.Reads(name) {
			return nil
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if plumbing.ComputeHash(plumbing.BlobObject, content) != committed[name] {
			changed = append(changed, name)
		}
		delete(committed, name)
		return nil
	})
	for gone := range committed {
		if !hidden(gone) {
			changed = append(changed, gone)
		}
	}
	return changed, err
}

// hidden reports whether a file is in a directory that a search leaves out.
func hidden(name string) bool {
	dirs := strings.Split(name, "/")
	for _, dir := range dirs[:len(dirs)-1] {
		if strings.HasPrefix(dir, ".") {
			return true
		}
	}
	return false
}

// filesAt is the tree of a revision, with the files that a run may read.
func filesAt(t tree, revision string) (*Remote, error) {
	contents, sha, err := contentsAt(t, revision, reads)
	if err != nil {
		return nil, err
	}
	fsys, err := treeOf(contents)
	return &Remote{FS: fsys, Commit: sha}, err
}

// treeOf is a file tree of nothing but these files.
func treeOf(files map[string][]byte) (fs.FS, error) {
	var archive txtar.Archive
	for _, name := range slices.Sorted(maps.Keys(files)) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: files[name]})
	}
	return txtar.FS(&archive)
}
