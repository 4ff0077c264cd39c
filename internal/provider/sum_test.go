package provider

import (
	"slices"
	"testing"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	h := Hashes{Sum: Sum{ZH: "zh:p", H1: "h1:dir", H1Zip: "h1:zip"}, Listed: []Hash{"zh:p", "zh:q"}}
	for locked, want := range map[Hash]bool{"h1:dir": true, "h1:zip": true, "zh:p": true, "zh:q": false, "h2:dir": false, "": false} {
		if got := h.Sum.Matches([]Hash{"h1:other", locked}); got != want {
			t.Errorf("Matches(h1:other, %s) = %v, want %v", locked, got, want)
		}
	}
	if (Hashes{}).Sum.Matches([]Hash{""}) {
		t.Error("a package of which nothing is known matches")
	}
}

// What a source states of a package is no content that relock has computed.
func TestContentsAreComputed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		sum  Sum
		want []Hash
	}{
		{Sum{}, nil},
		{Sum{ZH: "zh:p", Size: 1}, nil},
		{Sum{ZH: "zh:p", H1: "h1:stated", Size: 1}, nil},
		{Sum{H1: "h1:dir", H1Zip: "h1:zip"}, []Hash{"h1:dir", "h1:zip"}},
	} {
		if got := tt.sum.Contents(); !slices.Equal(got, tt.want) || tt.sum.Computed() != (tt.want != nil) {
			t.Errorf("%+v has the contents %v and is computed: %v; want %v", tt.sum, got, tt.sum.Computed(), tt.want)
		}
	}
}
