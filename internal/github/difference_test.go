package github

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/filetree"
)

// FuzzSnapshots holds a Snapshot against the tree that takes its place.
func FuzzSnapshots(f *testing.F) {
	for _, seed := range []string{
		"d/f\nl -> d\nl/f", "d/e/f\nd/l -> ../d/e\nd/l/../e/f", "f\nf/x\nf", "d/f\nd/l -> ../../x\nd/l", "d/f !\nd/f", "l -> m\nm -> l\nl/x",
		"d/f\nl -> /d\nl/f", "d/f\nd\nd", "a\na -> b\na", "l -> d\nd/\nd/f\nl", "..\n../x", "a//b\na",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		s, b, decided := newSnapshot(), filetree.Builder{}, false
		for _, line := range lines[:len(lines)-1] {
			name, target, isLink := strings.Cut(line, " -> ")
			name, unread := strings.CutSuffix(name, " !")
			dir, isDir := strings.CutSuffix(name, "/")
			if strings.Contains(name, "\x00") || s.nodes[name] != nil || s.nodes[dir] != nil {
				continue // names hold no NUL in git, and a second one is left out
			}
			size := int64(len(line))
			switch {
			case isLink:
				s.put(name, node{mode: fs.ModeSymlink | 0o777, size: int64(len(target)), blob: "->" + target})
				s.blobs["->"+target] = []byte(target)
				b.AddLink(name, target)
				decided = decided || target == "" || strings.Contains(target, ".") || strings.HasSuffix(target, "/") || strings.Contains(target, "//")
			case isDir:
				s.put(dir, node{mode: fs.ModeDir | 0o755})
				b.AddDir(dir)
			case unread:
				s.put(name, node{mode: 0o644, size: size, blob: "unread"})
				b.AddMissing(name, 0o644, size, errNotAsked)
			default:
				s.put(name, node{mode: 0o755, size: size, blob: line})
				s.blobs[line] = []byte(line)
				b.AddFile(name, 0o755, []byte(line))
			}
		}
		s.sort()
		made, name := b.Tree(), lines[len(lines)-1]
		same := func(was, is error) bool {
			for _, kind := range []error{fs.ErrInvalid, fs.ErrNotExist, errNotAsked} {
				if errors.Is(was, kind) != errors.Is(is, kind) && !(decided && is != nil) {
					return false
				}
			}
			return (was == nil) == (is == nil) || decided && is != nil
		}
		was, wasErr := fs.ReadFile(s, name)
		is, isErr := fs.ReadFile(made, name)
		if !same(wasErr, isErr) || isErr == nil && string(was) != string(is) {
			t.Errorf("ReadFile(%q) = %q, %v; was %q, %v", name, is, isErr, was, wasErr)
		}
		wasEntries, wasErr := fs.ReadDir(s, name)
		isEntries, isErr := fs.ReadDir(made, name)
		if !same(wasErr, isErr) || isErr == nil && list(wasEntries) != list(isEntries) {
			t.Errorf("ReadDir(%q) = %s, %v; was %s, %v", name, list(isEntries), isErr, list(wasEntries), wasErr)
		}
		for _, describe := range []func(fs.FS, string) (fs.FileInfo, error){fs.Stat, fs.Lstat} {
			was, wasErr := describe(s, name)
			is, isErr := describe(made, name)
			if !same(wasErr, isErr) || isErr == nil && (was.Mode() != is.Mode() || was.Size() != is.Size()) {
				t.Errorf("describing %q: %v, %v; was %v, %v", name, is, isErr, was, wasErr)
			}
		}
		wasTarget, wasErr := s.ReadLink(name)
		isTarget, isErr := made.ReadLink(name)
		if (wasErr == nil) != (isErr == nil) || wasTarget != isTarget {
			t.Errorf("ReadLink(%q) = %q, %v; was %q, %v", name, isTarget, isErr, wasTarget, wasErr)
		}
	})
}

func list(entries []fs.DirEntry) string {
	var names []string
	for _, e := range entries {
		names = append(names, fs.FormatDirEntry(e))
	}
	return strings.Join(names, ", ")
}
