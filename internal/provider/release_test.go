package provider

import (
	"slices"
	"testing"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	linux, darwin := Platform{"linux", "amd64"}, Platform{"darwin", "arm64"}
	signed := Signer{KeyID: "0123456789ABCDEF", Label: "signed"}
	reported := map[Platform][]Hash{linux: {"h1:l", "zh:l"}, darwin: {"h1:d", "zh:d"}}
	own := Hashes{Signer: signed, Sum: Sum{H1: "h1:l", H1Zip: "h1:zip"}, Listed: []Hash{"zh:d", "zh:l"}, Reported: reported}
	other := Hashes{Signer: signed, Sum: Sum{H1: "h1:d", H1Zip: "h1:d"}, Listed: own.Listed, Reported: reported}
	all := []Hash{"h1:d", "h1:l", "zh:d", "zh:l"}
	unsigned, mirror := own, Hashes{Mirror: "m", Sum: Sum{H1: "h1:l", H1Zip: "h1:l"}, Verified: []Hash{"h1:l"}}
	unsigned.Signer = Signer{Label: "unsigned"}
	trusted, stated := mirror, own
	trusted.Reported = reported
	stated.Sum.H1Zip = "" // nobody has hashed the package
	for _, tt := range []struct {
		name     string
		found    []Hashes
		recorded []Hash
		want     []Mark
	}{
		{"signed", []Hashes{{Signer: signed, Sum: Sum{H1: "h1:l", H1Zip: "h1:l"}, Listed: own.Listed}}, all, nil},
		{"reported", []Hashes{own}, all, []Mark{MarkReported}},
		{"reported and not recorded", []Hashes{own}, []Hash{"h1:l", "zh:d", "zh:l"}, nil},
		{"reported and proven by packages", []Hashes{own, other}, all, nil},
		{"reported in the other form", []Hashes{{Signer: signed, Sum: Sum{H1: "h1:x", H1Zip: "h1:l"}, Reported: map[Platform][]Hash{linux: {"h1:l"}}}}, []Hash{"h1:x", "h1:l"}, nil},
		{"reported alone", []Hashes{stated}, []Hash{"h1:l", "zh:d", "zh:l"}, []Mark{MarkReported}},
		{"unsigned", []Hashes{unsigned}, all, []Mark{MarkReported, MarkUnsigned}},
		{"mirror", []Hashes{mirror}, []Hash{"h1:l"}, []Mark{MarkMirror}},
		{"trusted mirror", []Hashes{trusted}, all, []Mark{MarkMirror, MarkReported}},
		{"trusted mirror that reports what it has", []Hashes{trusted}, []Hash{"h1:l"}, []Mark{MarkMirror}},
		{"both", []Hashes{mirror, own, other}, all, []Mark{MarkMirror}},
		{"nothing", nil, nil, nil},
	} {
		if got := Marks(tt.found, tt.recorded); !slices.Equal(got, tt.want) {
			t.Errorf("%s: Marks = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestMatchesByAnyHash(t *testing.T) {
	t.Parallel()
	packed := Hashes{Sum: Sum{ZH: "zh:z", H1: "h1:dir", H1Zip: "h1:zip"}}
	unpacked := Hashes{Sum: Sum{H1: "h1:dir", H1Zip: "h1:dir"}}
	for _, tt := range []struct {
		hashes Hashes
		locked []Hash
		want   bool
	}{
		{packed, []Hash{"zh:z"}, true},
		{packed, []Hash{"zh:y", "h1:zip"}, true},
		{packed, []Hash{"h1:dir"}, true},
		{packed, []Hash{"zh:y", "h1:other", ""}, false},
		{unpacked, []Hash{"h1:dir"}, true},
		{unpacked, []Hash{"zh:z", ""}, false},
	} {
		if got := tt.hashes.Sum.Matches(tt.locked); got != tt.want {
			t.Errorf("%+v.Matches(%v) = %v, want %v", tt.hashes, tt.locked, got, tt.want)
		}
	}
	if packed.Unpacked() || !unpacked.Unpacked() {
		t.Error("a package with a zh is unpacked, or one without is not")
	}
}
