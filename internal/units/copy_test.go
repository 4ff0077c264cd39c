package units

import (
	"testing"
	"testing/fstest"

	"github.com/relock-dev/relock/internal/filetree"
)

// TestWorkingCopy holds that the working copy is a valid file tree for package fs.
func TestWorkingCopy(t *testing.T) {
	t.Parallel()
	files := tree(module("modules/a", "random", "~> 3.0") + "-- modules/a/sub/x.tf --\n-- modules/a/gone.tf --\n-- live/app/own.tf --\nlocals {}\n-- live/app/sub/y.tf --\n-- live/app/.hidden/z.tf --\n")
	units := NewFiles(files)
	w := &workingCopy{
		layers: []layer{
			{tree: units, dir: "modules/a", at: ".", keep: &copyList{}},
			{tree: units, dir: "live/app", at: ".", keep: &copyList{}},
		},
		written: map[string][]byte{"made/g.tf": []byte("# generated\n")}, removed: map[string]bool{"gone.tf": true},
	}
	if err := fstest.TestFS(&filetree.Lazy{Source: w}, "main.tf", "own.tf", "sub/x.tf", "sub/y.tf", "made/g.tf"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"gone.tf", ".hidden", ".hidden/z.tf", "none"} {
		if info, err := w.Lstat(name); err == nil {
			t.Errorf("there is %s: %v", name, info)
		}
	}
}
