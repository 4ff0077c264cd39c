package github

import (
	"context"
	"io/fs"
	"maps"
	"slices"
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
	before, err := r.paths(ctx, from)
	if err != nil {
		return nil, r.explain(ctx, doing, readContents, err)
	}
	after, err := r.paths(ctx, to)
	if err != nil {
		return nil, r.explain(ctx, doing, readContents, err)
	}
	paths := changed(before, after)
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
		if n := after.nodes[path]; n != nil && n.mode.IsRegular() {
			changes[i].Mode = "100644"
			if n.mode&0o111 != 0 {
				changes[i].Mode = "100755"
			}
		}
	}
	return changes, nil
}

// ChangedPaths returns the paths of the files, links and submodules that differ
// between two commits, and of the directories that only one of them has, sorted,
// whether one is an ancestor of the other or not. It is a request for each tree. It
// returns an ErrNotFound if there is no such commit.
func (r *Repository) ChangedPaths(ctx context.Context, from, to string) ([]ChangedPath, error) {
	doing := "comparing the files of commits " + from + " and " + to
	before, err := r.paths(ctx, from)
	if err != nil {
		return nil, r.explain(ctx, doing, readContents, err)
	}
	after, err := r.paths(ctx, to)
	if err != nil {
		return nil, r.explain(ctx, doing, readContents, err)
	}
	differ := changed(before, after)
	for name, n := range before.nodes {
		if after.nodes[name] == nil && n.mode.IsDir() && !n.module {
			differ = append(differ, name)
		}
	}
	for name, n := range after.nodes {
		if before.nodes[name] == nil && n.mode.IsDir() && !n.module {
			differ = append(differ, name)
		}
	}
	slices.Sort(differ)
	paths := make([]ChangedPath, len(differ))
	for i, path := range differ {
		paths[i] = ChangedPath{Path: path, File: before.plain(path) && after.plain(path)}
	}
	return paths, nil
}

// ChangedPath is a path at which two commits differ.
type ChangedPath struct {
	Path string
	File bool // it is that of a file: of no link, submodule or directory
}

// plain reports whether there is a file at the path, or nothing.
func (s *Snapshot) plain(path string) bool {
	n := s.nodes[path]
	return n == nil || n.mode.IsRegular()
}

// paths is the tree of a commit without contents.
func (r *Repository) paths(ctx context.Context, sha string) (*Snapshot, error) {
	s := newSnapshot()
	l := lister{repo: r, into: s}
	return s, l.list(ctx, sha, "")
}

// changed are the paths of what is no directory and differs, sorted.
func changed(before, after *Snapshot) []string {
	differ := map[string]bool{}
	compare := func(s, other *Snapshot) {
		for name, n := range s.nodes {
			o := other.nodes[name]
			same := o != nil && o.mode == n.mode && o.blob == n.blob && o.module == n.module
			if !same && (!n.mode.IsDir() || n.module) {
				differ[name] = true
			}
		}
	}
	compare(before, after)
	compare(after, before)
	return slices.Sorted(maps.Keys(differ))
}

// contents reads those of the files at the paths.
func (r *Repository) contents(ctx context.Context, sha string, s *Snapshot, paths []string) error {
	wanted, total := map[string]int64{}, int64(0)
	for _, path := range paths {
		n := s.nodes[path]
		if n == nil || n.mode.Type() != 0 {
			continue
		}
		if n.size > largestBlob {
			return tooMuch("%s is larger than %d MiB", path, largestBlob>>20)
		}
		if _, known := wanted[n.blob]; !known {
			wanted[n.blob], total = n.size, total+n.size
		}
	}
	if total > mostContents {
		return tooMuch("what they change is larger than %d MiB", mostContents>>20)
	}
	if err := r.download(ctx, sha, s, wanted); err != nil {
		return err
	}
	return r.fill(ctx, s, wanted)
}

// file is the content of a file; nil if there is none at the path.
func (s *Snapshot) file(name string) []byte {
	n := s.nodes[name]
	if n == nil || n.mode.Type() != fs.FileMode(0) {
		return nil
	}
	return append([]byte{}, s.blobs[n.blob]...)
}
