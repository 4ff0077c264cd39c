package problem_test

import (
	"testing"

	"github.com/relock-dev/relock/internal/problem"
)

func TestUnmerged(t *testing.T) {
	t.Parallel()
	for text, line := range map[string]int{
		"":                                  0,
		"a = 1\n":                           0,
		"<<<<<<< HEAD\n":                    1,
		"a\nb\n<<<<<<<<< ours\n":            3,
		" <<<<<<< HEAD\n":                   0,
		"<<<<<<<HEAD\n":                     0,
		"a = <<<<<<< x\n=======\n>>>>>>>\n": 0,
	} {
		if d, ok := problem.Unmerged([]byte(text), problem.Place{Path: "a.tf"}); ok != (line > 0) || d.Place.Line != line {
			t.Errorf("Unmerged(%q) = line %d, %t, want %d", text, d.Place.Line, ok, line)
		}
	}
}
