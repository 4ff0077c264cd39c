package scan

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/filetree"
)

// FuzzResolvers holds the way in which this package follows links against the one
// that takes its place.
func FuzzResolvers(f *testing.F) {
	for _, seed := range []string{
		"d/f\nl -> d\nl/f", "d/e/f\nd/l -> ../d/e\nd/l/../e/f", "f\nf/x", "d/f\nd/l -> ../../x\nd/l", "l -> m\nm -> l\nl/x",
		"d/f\nl -> /d\nl/f", "d/f\nl -> d//./f\nl", "d/\nl -> d/\nl", "..", "../x", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		var b filetree.Builder
		decided := false
		for _, line := range lines[:len(lines)-1] {
			name, target, isLink := strings.Cut(line, " -> ")
			dir, isDir := strings.CutSuffix(name, "/")
			switch { // what cannot be added is left out
			case isLink:
				b.AddLink(name, target)
				decided = decided || target == "" || strings.Contains(target, ".") || strings.HasSuffix(target, "/") || strings.Contains(target, "//")
			case isDir:
				b.AddDir(dir)
			default:
				b.AddFile(name, 0o644, nil)
			}
		}
		made, name := b.Tree(), path.Clean(lines[len(lines)-1])
		if path.IsAbs(name) {
			return // no caller has one
		}
		was, wasErr := newTree(made).resolve(name)
		is, isErr := filetree.Resolve(made, name)
		same := (wasErr == nil) == (isErr == nil) && errors.Is(wasErr, errOutside) == errors.Is(isErr, filetree.ErrLeadsOut) &&
			errors.Is(wasErr, errLinkLoop) == errors.Is(isErr, filetree.ErrLoop)
		if was != is && isErr == nil || !same && !(decided && isErr != nil) {
			t.Errorf("Resolve(%q) = %q, %v; was %q, %v", name, is, isErr, was, wasErr)
		}
	})
}
