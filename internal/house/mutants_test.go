package house

import (
	"io/fs"
	"strings"
	"testing"
)

// TestMutantsFit holds that each mistake that .ci/mutate makes can still be made: a
// change of the lines that one is about brings its table up to date.
func TestMutantsFit(t *testing.T) {
	const table = ".ci/mutate/mutants.txt"
	for _, m := range archive(t, table).Files {
		lines := strings.SplitAfter(string(m.Data), "\n")
		name, old := strings.TrimSpace(lines[0]), ""
		for _, line := range lines[2:] {
			if rest, ok := strings.CutPrefix(line, "-"); ok {
				old += rest
			}
		}
		text, err := fs.ReadFile(repository, name)
		if n := strings.Count(string(text), old); err != nil || n != 1 || old == "" {
			t.Errorf("%s: the old lines of %q are in %s %d times (%v), want once", table, m.Name, name, n, err)
		}
	}
}
