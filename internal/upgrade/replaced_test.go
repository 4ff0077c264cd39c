package upgrade

import (
	"testing"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

func TestReplacedReleaseIsNoted(t *testing.T) {
	t.Parallel()
	replaced := map[string]map[string][]string{"a": {"1.0.0": {"linux_amd64"}}}
	m := func() scan.RootModule { return module(t, []string{"a"}, []string{"a 1.0.0; zh:gone"}) }
	accept, err := provider.ParseReleasePattern("hashicorp/a@1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string]Options{
		"accepted": {Platforms: linux, AcceptReReleased: []provider.ReleasePattern{accept}},
		"exact":    {Platforms: linux, Mode: Complete, Exact: true},
	} {
		r := Plan(t.Context(), &offer{releases: replaced}, []scan.RootModule{m()}, opts)[0]
		if s := r.Selections[0]; s.Err != nil || !s.Replaced {
			t.Errorf("%s: replaced %t, error %v, want it noted", name, s.Replaced, s.Err)
		}
	}
}
