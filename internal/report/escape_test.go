package report

import (
	"bufio"
	"strings"
	"testing"
)

// Characters are escaped wherever the encoder ends what it writes at once.
func TestEscaperTakesTextInAnyParts(t *testing.T) {
	t.Parallel()
	const text, want = "a\u00e9\u202eb\U000E0041\u007f", `aé\u202eb\udb40\udc41\u007f`
	for size := 1; size <= len(text); size++ {
		var got strings.Builder
		e := &escaper{w: bufio.NewWriter(&got)}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if written, err := e.Write([]byte(rest[:n])); written != n || err != nil {
				t.Fatalf("Write() = %d, %v", written, err)
			}
			rest = rest[n:]
		}
		if err := e.w.Flush(); err != nil || got.String() != want {
			t.Errorf("in parts of %d: %q, %v, want %q", size, got.String(), err, want)
		}
	}
}
