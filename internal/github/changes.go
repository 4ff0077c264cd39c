package github

import (
	"context"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/filetree"
)

// Change is a file that one commit has other than an earlier one.
type Change struct {
	Path string
	Mode string // of git, in the later commit; empty if it is no file there
	// Old and New are the contents, nil where there is no file.
	Old, New []byte
}

// Changes returns the files, links and submodules that differ between two
// commits, sorted by path: a request for each tree, and then as few as Snapshot
// sends for the contents, which count by their blob ids alone. Only files have
// contents.
func (r *Repository) Changes(ctx context.Context, from, to string) ([]Change, error) {
	doing := "comparing the files of commits " + from + " and " + to
	before, err := r.list(ctx, from)
	if err != nil {
		return nil, r.explain(ctx, doing, readContents, err)
	}
	after, err := r.list(ctx, to)
	if err != nil {
		return nil, r.explain(ctx, doing, readContents, err)
	}
	paths := changedPaths(before, after)
	if err := r.contents(ctx, from, before, paths); err != nil {
		return nil, r.explain(ctx, doing, readContents, err)
	}
	maps.Copy(after.blobs, before.blobs)
	if err := r.contents(ctx, to, after, paths); err != nil {
		return nil, r.explain(ctx, doing, readContents, err)
	}
	changes := make([]Change, len(paths))
	for i, path := range paths {
		changes[i] = Change{Path: path, Old: before.file(path), New: after.file(path)}
		if e, ok := after.at(path); ok && e.mode.IsRegular() {
			changes[i].Mode = gitMode(e.mode)
		}
	}
	return changes, nil
}

// ChangedPaths returns the paths of the files, links and submodules that differ
// between two commits, and of the directories that only one of them has, sorted,
// whether one is an ancestor of the other or not. It is a request for each tree. It
// returns an ErrNotFound if there is no such commit.
func (r *Repository) ChangedPaths(ctx context.Context, from, to string) ([]filetree.ChangedPath, error) {
	doing := "comparing the files of commits " + from + " and " + to
	before, err := r.list(ctx, from)
	if err != nil {
		return nil, r.explain(ctx, doing, readContents, err)
	}
	after, err := r.list(ctx, to)
	if err != nil {
		return nil, r.explain(ctx, doing, readContents, err)
	}
	differ := changedPaths(before, after)
	onlyIn := func(l, other *listing) {
		for _, e := range l.entries {
			if _, ok := other.at(e.path); !ok && e.mode.IsDir() && !e.module {
				differ = append(differ, e.path)
			}
		}
	}
	onlyIn(before, after)
	onlyIn(after, before)
	slices.Sort(differ)
	return collect.Mapped(differ, func(path string) filetree.ChangedPath {
		return filetree.ChangedPath{Path: path, File: before.plain(path) && after.plain(path)}
	}), nil
}

// changedPaths are the paths of what is no directory and differs, sorted.
func changedPaths(before, after *listing) []string {
	differ := map[string]bool{}
	compare := func(l, other *listing) {
		for _, e := range l.entries {
			o, _ := other.at(e.path)
			same := o.mode == e.mode && o.blob == e.blob && o.module == e.module
			if !same && (!e.mode.IsDir() || e.module) {
				differ[e.path] = true
			}
		}
	}
	compare(before, after)
	compare(after, before)
	return slices.Sorted(maps.Keys(differ))
}

// contents reads those of the files at the paths.
func (r *Repository) contents(ctx context.Context, sha string, l *listing, paths []string) error {
	wanted, total := map[string]int64{}, int64(0)
	for _, path := range paths {
		e, ok := l.at(path)
		if !ok || !e.mode.IsRegular() {
			continue
		}
		if e.size > largestBlob {
			return overBound("%s is larger than %d MiB", path, largestBlob>>20)
		}
		if _, known := wanted[e.blob]; !known {
			wanted[e.blob], total = e.size, total+e.size
		}
	}
	if total > mostContents {
		return overBound("what they change is larger than %d MiB", mostContents>>20)
	}
	if err := r.download(ctx, sha, l, wanted); err != nil {
		return err
	}
	return r.fill(ctx, l, wanted)
}
