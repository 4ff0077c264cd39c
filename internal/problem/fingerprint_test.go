package problem

import (
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

// People keep fingerprints in baselines, and code scanning knows results by them: those
// that an earlier program gave must stay.
func TestFingerprintsThatWereGivenStay(t *testing.T) {
	t.Parallel()
	null, version := addr(t, "registry.terraform.io/hashicorp/null"), provider.Version{Major: 3, Minor: 2, Patch: 1}
	lock := Place{Path: "live/.terraform.lock.hcl"}
	for want, f := range map[string]Problem{
		"c86627fce9cd6a87e205ac4a23a36907:1": {Code: CodeHashUnknown, Subject: Subject{Addr: null, Version: version, Versioned: true, Hash: "h1:x"}, Place: lock},
		"e1944841ff7cb78ac7709a15a5b54ad7:1": {Code: CodePlatformMissing, Subject: Subject{Addr: null, Version: version, Versioned: true, Platform: provider.Platform{OS: "linux", Arch: "amd64"}}, Place: lock},
		"161ce93fc757a4a448617f6a6032937f:1": {Code: CodeEntryMissing, Subject: Subject{Addr: null}, Place: Place{Path: "main.tf", Package: "git::https://example.com/net.git"}},
		"a6ab3d9e81bb4e308a703c2c9b73923e:1": {Code: CodeSignerChanged, Subject: Subject{Addr: null, Version: version, Versioned: true}, About: "34365D9472D7468F", Place: lock},
		"99d3a1b18b2419fd4de7bf5a1fd537c6:1": {Code: CodeTamperedBoth, Place: Place{Path: ".github/relock.yml"}, About: "head"},
	} {
		if got := f.Fingerprint(); got != want {
			t.Errorf("the fingerprint of %+v is %s, want %s", f, got, want)
		}
		f.Place.Line, f.Place.From, f.Place.To, f.Message = 7, 5, 9, "moved"
		if got := f.Fingerprint(); got != want {
			t.Errorf("at another line the fingerprint of %+v is %s, want %s", f, got, want)
		}
	}
}
