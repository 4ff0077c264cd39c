package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHash(t *testing.T) {
	t.Parallel()
	type parts struct {
		Scheme, Value string
		Known         bool
	}
	for s, want := range map[string]parts{
		"h1:abc=":   {"h1", "abc=", true},
		"zh:00":     {"zh", "00", true},
		"h1:a:b":    {"h1", "a:b", true},
		"zh:":       {"zh", "", true},
		"h2:future": {"h2", "future", false},
		"H1:abc":    {"H1", "abc", false},
	} {
		h, err := ParseHash(s)
		if err != nil {
			t.Errorf("ParseHash(%q): %v", s, err)
			continue
		}
		if got := (parts{h.Scheme(), h.Value(), h.Known()}); got != want || string(h) != s {
			t.Errorf("ParseHash(%q) = %q with %+v, want %+v", s, h, got, want)
		}
	}
	for _, s := range []string{"", ":", ":abc", "abc"} {
		if got, err := ParseHash(s); err == nil {
			t.Errorf("ParseHash(%q) = %q, want an error", s, got)
		}
	}
}

func TestZHIsLowerCase(t *testing.T) {
	t.Parallel()
	if got := ZH("00AB"); got != "zh:00ab" {
		t.Errorf("ZH(00AB) = %q, want zh:00ab", got)
	}
}

func TestSorted(t *testing.T) {
	t.Parallel()
	given := []Hash{"zh:a", "h1:a", "h1:/", "h1:+", "h1:0", "h1:A", "h2:a", "h1:a"}
	want := []Hash{"h1:+", "h1:/", "h1:0", "h1:A", "h1:a", "h2:a", "zh:a"}
	if diff := cmp.Diff(want, Sorted(given)); diff != "" {
		t.Errorf("Sorted (-want +got):\n%s", diff)
	}
	if given[0] != "zh:a" {
		t.Errorf("Sorted changed its argument to %v", given)
	}
}
