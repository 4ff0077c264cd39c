package policy_test

import (
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

func TestRulesInWords(t *testing.T) {
	t.Parallel()
	place := problem.Place{Path: ".github/relock.yml", Line: 12}
	versions := read(t, provider.ParseConstraints, ">= 6.0, < 6.1")
	for want, r := range map[string]policy.Rule{
		"`.github/relock.yml:12`: every provider: ignored":                           {Ignore: new(true), Place: place},
		"`.github/relock.yml:12`: every provider: not ignored":                       {Ignore: new(false), Place: place},
		"`.github/relock.yml:12`: `*/hashicorp/aws`, major updates: ignored":         {Where: policy.Where{Providers: []provider.Pattern{read(t, provider.ParsePattern, "hashicorp/aws")}}, Updates: []provider.Bump{provider.BumpMajor}, Ignore: new(true), Place: place},
		"`.github/relock.yml:12`: every provider: held until 2027-01-31":             {HoldUntil: read(t, policy.ParseDay, "2027-01-31"), Place: place},
		"`.github/relock.yml:12`: every provider: only versions `>= 6.0.0, < 6.1.0`": {Allow: &versions, Place: place},
		"`.github/relock.yml:12`: every provider: no versions `>= 6.0.0, < 6.1.0`":   {Except: &versions, Place: place},
		"`.github/relock.yml:12`: every provider: at least 36 hours old":             {MinimumAge: new(36 * time.Hour), Place: place},
		"`.github/relock.yml:12`: every provider: for linux&#95;amd64":               {Platforms: []provider.Platform{{OS: "linux", Arch: "amd64"}}, Place: place},
		"`a comment of octo`: every provider: ignored":                               {Ignore: new(true), By: "octo"},
	} {
		if got := r.Markdown().String(); got != want {
			t.Errorf("a rule reads\n%s\nwant\n%s", got, want)
		}
	}
}

// How people write ages, as the setting says.
func TestParseAge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"12h": 12 * time.Hour, "3d": 72 * time.Hour, "2w": 14 * 24 * time.Hour, "9999w": 9999 * 7 * 24 * time.Hour,
		"": -1, "3": -1, "3m": -1, "-3d": -1, "10000d": -1, "3d ": -1, "d": -1,
	} {
		got, err := policy.ParseAge(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("ParseAge(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}
