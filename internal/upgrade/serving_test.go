package upgrade

import (
	"testing"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// shrinking are the releases of a provider whose newest one lacks a platform of the earlier
// ones.
func shrinking() map[string]map[string][]string {
	return map[string]map[string][]string{"a": {
		"1.0.0": {"linux_amd64", "darwin_arm64"},
		"1.1.0": {"linux_amd64", "darwin_arm64"},
		"1.2.0": {"linux_amd64"},
		"2.0.0": {"linux_amd64"},
	}}
}

func TestReleaseThatServesAllPlatformsIsNamed(t *testing.T) {
	t.Parallel()
	for requirement, want := range map[string]string{"a": "1.1.0", "a < 1.1.0": "", "a > 1.1.0": ""} {
		opts := Options{Platforms: Platforms{List: []provider.Platform{platform("linux_amd64"), platform("darwin_arm64")}}}
		s := Plan(t.Context(), &offer{releases: shrinking()}, modules(module(t, []string{requirement}, nil)), opts)[0].Selections[0]
		got := ""
		if !s.Serving.IsZero() {
			got = s.Serving.String()
		}
		if got != want || s.Err != nil {
			t.Errorf("%s selects %s, without %v; serving = %q, %v; want %q", requirement, s.To, s.Missing, got, s.Err, want)
		}
	}
}

// A provider whose newer release fails keeps its entry, and the result says why.
func TestHeldByWhatItsPackagesAre(t *testing.T) {
	t.Parallel()
	for code, want := range map[problem.Code]policy.Reason{
		problem.CodeNoPackage:    HeldByPlatform,
		problem.CodeProtocol:     HeldByProtocol,
		problem.CodeBadSignature: "",
	} {
		src := &offer{releases: shrinking(), edit: func(want provider.Want, h *provider.Hashes) error {
			if want.Version.Major == 2 {
				return &problem.Error{Problem: problem.Problem{Code: code, Message: "no"}}
			}
			return nil
		}}
		opts := Options{Platforms: Platforms{List: []provider.Platform{platform("linux_amd64")}}}
		s := Plan(t.Context(), src, modules(module(t, []string{"a"}, []string{"a 1.1.0; h1:a-1.1.0-linux_amd64"})), opts)[0].Selections[0]
		var got policy.Reason
		if len(s.Held) > 0 {
			got = s.Held[0].By.Reason
		}
		if got != want || s.Err == nil || len(s.Held) > 0 && s.Held[0].Version != s.To {
			t.Errorf("%s: held %+v, error %v; want the reason %q", code, s.Held, s.Err, want)
		}
	}
}
