package safe_test

import (
	"testing"

	"github.com/relock-dev/relock/internal/safe"
)

// What is between backquotes in a hint is code, and outside text in it stays text.
func TestHint(t *testing.T) {
	t.Parallel()
	for hint, want := range map[string]struct{ markdown, plain string }{
		"run `relock lock`, which adds it": {"run `relock lock`, which adds it", "run relock lock, which adds it"},
		"`a` or `b`":                       {"`a` or `b`", "a or b"},
		"a ` alone <b>":                    {"a &#96; alone &lt;b&gt;", "a ` alone <b>"},
	} {
		got := safe.Hint(hint)
		if got.String() != want.markdown || got.Plain() != want.plain {
			t.Errorf("Hint(%q) is %q and %q, want %q and %q", hint, got.String(), got.Plain(), want.markdown, want.plain)
		}
	}
}
