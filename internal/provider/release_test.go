package provider

import (
	"slices"
	"testing"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	signed := Signer{KeyID: "0123456789ABCDEF", Label: "signed"}
	reported := map[Platform][]Hash{{"linux", "amd64"}: {"h1:x"}}
	for _, tt := range []struct {
		name   string
		hashes Hashes
		want   []Mark
	}{
		{"signed", Hashes{Signer: signed}, nil},
		{"reported", Hashes{Signer: signed, Reported: reported}, []Mark{MarkReported}},
		{"unsigned", Hashes{Signer: Signer{Label: "unsigned"}, Reported: reported}, []Mark{MarkReported, MarkUnsigned}},
		{"mirror", Hashes{Mirror: "m"}, []Mark{MarkMirror}},
		{"trusted_mirror", Hashes{Mirror: "m", Reported: reported}, []Mark{MarkMirror, MarkReported}},
	} {
		if got := tt.hashes.Marks(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: Marks() = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestMatchesByAnyHash(t *testing.T) {
	t.Parallel()
	packed := Hashes{Package: Package{ZH: "zh:z"}, H1: "h1:dir", H1Zip: "h1:zip"}
	unpacked := Hashes{H1: "h1:dir", H1Zip: "h1:dir"}
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
		if got := tt.hashes.Matches(tt.locked); got != tt.want {
			t.Errorf("%+v.Matches(%v) = %v, want %v", tt.hashes, tt.locked, got, tt.want)
		}
	}
	if packed.Unpacked() || !unpacked.Unpacked() {
		t.Error("a package with a zh is unpacked, or one without is not")
	}
}
