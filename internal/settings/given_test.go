package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/verbs"
)

// What flags and inputs say of one run is said by flags elsewhere; what files and defaults
// say is not, nor what a verb has no flag for or what others may not have.
func TestGivenFlags(t *testing.T) {
	t.Parallel()
	by := func(how GivenBy, items ...string) Value { return Value{Items: itemsOf(items), By: how} }
	for name, tt := range map[string]struct {
		values Values
		verb   verbs.Verb
		want   []GivenFlag
	}{
		"defaults": {Merge(), verbs.Lock, nil},
		"a flag, and a file beside it": {
			Values{"tool": by(ByRepository, "terraform"), "platforms": by(ByFlag, "linux_amd64", "darwin_arm64", "linux_amd64")},
			verbs.Lock, []GivenFlag{{"platform", "linux_amd64"}, {"platform", "darwin_arm64"}},
		},
		"inputs":                      {Values{"tool-version": by(ByInput, "1.11.4"), "strict": by(ByInput, "true")}, verbs.Lock, []GivenFlag{{"tool-version", "1.11.4"}, {Name: "strict"}}},
		"a switch that is turned off": {Values{"create": by(ByFlag, "false")}, verbs.Lock, []GivenFlag{{Name: "create=false"}}},
		"what changes no lock file":   {Values{"jobs": by(ByFlag, "3"), "format": by(ByFlag, "json"), "lock": by(ByFlag, "true")}, verbs.Lock, nil},
		"what lock has no flag for":   {Values{"keep-unreferenced": by(ByFlag, "true")}, verbs.Lock, nil},
		"and upgrade has":             {Values{"keep-unreferenced": by(ByFlag, "true")}, verbs.Upgrade, []GivenFlag{{Name: "keep-unreferenced"}}},
		"an input that is no flag":    {Values{"downgrades": by(ByInput, "allow")}, verbs.Upgrade, []GivenFlag{{Name: "allow-downgrade"}}},
		"the input says the default":  {Values{"downgrades": by(ByInput, "keep")}, verbs.Upgrade, nil},
		"the file allows it":          {Values{"downgrades": by(ByRepository, "allow")}, verbs.Upgrade, nil},
		"a switch with values":        {Values{"module-lock": by(ByFlag, "write")}, verbs.Lock, []GivenFlag{{Name: "module-lock"}}},
		"another of its values":       {Values{"module-lock": by(ByInput, "keep")}, verbs.Lock, []GivenFlag{{Name: "module-lock=keep"}}},
		"a file of the repository":    {Values{"config": by(ByFlag, "ci/relock.yml")}, verbs.Lock, []GivenFlag{{"config", "ci/relock.yml"}}},
		"a file of the operator":      {Values{"config": by(ByInput, "../operator.yml")}, verbs.Lock, nil},
	} {
		if diff := cmp.Diff(tt.want, GivenFlags(tt.values, tt.verb)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range shaping {
		s, ok := lookup(flag, name)
		if !ok || !s.HasVerb(verbs.Upgrade) || !s.HasVerb(verbs.Check) {
			t.Errorf("%s is no flag of check and upgrade", name)
		}
	}
}
