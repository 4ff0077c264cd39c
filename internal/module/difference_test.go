package module

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/filetree"
)

// FuzzTrees holds the tree of this package against the one that takes its place.
func FuzzTrees(f *testing.F) {
	for _, seed := range []string{
		"d/f\nl -> d\nl/f", "d/e/f\nd/l -> ../d/e\nd/l/../e/f", "f\nf/x", "d/f\nd/l -> ../../x\nd/l", "d !\nd/f", "d !\nd/f\nd/f/x", "l -> m\nm -> l\nl/x",
		"d/f\nl -> /d\nl/f", "d/f\nd", "a\na -> b\na", "f\nf/g\nf", "l -> d\nd/\nd/f\nl", "d/\nd !\nd", "..\n../x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		if strings.ContainsAny(text, "\\") {
			return
		}
		old, b := newTree(), filetree.Builder{Limits: filetree.Limits{Nodes: maxEntries, Bytes: maxKept}}
		for _, line := range lines[:len(lines)-1] {
			was, is := add(old, &b, line)
			if (was == nil) != (is == nil) || was != nil && was.Error() != is.Error() {
				t.Errorf("adding %q: %v, was %v", line, is, was)
			}
		}
		made, name := b.Tree(), lines[len(lines)-1]
		was, wasErr := fs.ReadFile(old, name)
		is, isErr := fs.ReadFile(made, name)
		if !sameError(text, wasErr, isErr) || isErr == nil && string(was) != string(is) {
			t.Errorf("ReadFile(%q) = %q, %v; was %q, %v", name, is, isErr, was, wasErr)
		}
		wasEntries, wasErr := fs.ReadDir(old, name)
		isEntries, isErr := fs.ReadDir(made, name)
		if !sameError(text, wasErr, isErr) || isErr == nil && list(wasEntries) != list(isEntries) {
			t.Errorf("ReadDir(%q) = %s, %v; was %s, %v", name, list(isEntries), isErr, list(wasEntries), wasErr)
		}
		wasTarget, wasErr := old.ReadLink(name)
		isTarget, isErr := made.ReadLink(name)
		if !sameError(text, wasErr, isErr) || isErr == nil && wasTarget != isTarget {
			t.Errorf("ReadLink(%q) = %q, %v; was %q, %v", name, isTarget, isErr, wasTarget, wasErr)
		}
		wasPart, wasErr := old.sub(name)
		isPart, isErr := filetree.Below(made, name)
		if fs.ValidPath(name) && wasErr == nil && isErr == nil && wasPart.nodes["."].mode.IsDir() {
			wasEntries, _ := fs.ReadDir(wasPart, ".")
			isEntries, _ := fs.ReadDir(isPart, ".")
			if isPart.Missing() == nil && list(wasEntries) != list(isEntries) {
				t.Errorf("Below(%q) = %s, was %s", name, list(isEntries), list(wasEntries))
			}
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

var errGone = errors.New("gone")

func add(old *tree, b *filetree.Builder, line string) (was, is error) {
	name, target, isLink := strings.Cut(line, " -> ")
	name, missing := strings.CutSuffix(name, " !")
	dir, isDir := strings.CutSuffix(name, "/")
	switch {
	case isLink:
		return old.link(name, target), b.AddLink(name, target)
	case missing:
		return old.missing(name, errGone), b.AddMissing(name, fs.ModeDir|0o755, 0, errGone)
	case isDir:
		_, was = old.dir(dir)
		return was, b.AddDir(dir)
	}
	return old.file(name, strings.NewReader(line)), b.AddFile(name, 0o644, []byte(line))
}

// sameError allows for what is decided: loops are said to be such; nothing is
// below a file; an empty target leads nowhere.
func sameError(text string, was, is error) bool {
	switch {
	case errors.Is(is, filetree.ErrLoop):
		return errors.Is(was, fs.ErrNotExist)
	case differs(text) && errors.Is(is, fs.ErrNotExist):
		return true
	}
	for _, kind := range []error{fs.ErrNotExist, fs.ErrInvalid, errGone} {
		if errors.Is(was, kind) != errors.Is(is, kind) {
			return false
		}
	}
	return (was == nil) == (is == nil)
}

// differs reports whether a link in the text is empty, or goes on behind a file.
func differs(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		_, target, isLink := strings.Cut(line, " -> ")
		if isLink && (target == "" || strings.Contains(target, "..") || strings.HasSuffix(target, "/") || strings.HasSuffix(target, ".") || strings.Contains(target, "//") || strings.Contains(target, "/./")) {
			return true
		}
	}
	return false
}
