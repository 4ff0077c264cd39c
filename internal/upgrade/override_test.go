package upgrade

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// A provider that the CLI configuration overrides is locked as usual. Tool releases that do
// not install it differ: their init leaves its entry alone, byte for byte, and adds none
// [cases dev-override-all, dev-override-lock-upgrade, dev-override-no-lock,
// dev-override-unneeded].
func TestPlanOfOverriddenProviders(t *testing.T) {
	t.Parallel()
	releases := map[string]map[string][]string{"a": {"1.0.0": two, "1.1.0": two}, "b": {"3.0.0": two, "3.1.0": two}}
	const (
		oldA = "a 1.0.0 ~> 1.0; h1:own"
		newA = "a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 zh:a-1.1.0-darwin_arm64 zh:a-1.1.0-linux_amd64"
		newB = "b 3.1.0 ~> 3.0; h1:b-3.1.0-linux_amd64 zh:b-3.1.0-darwin_arm64 zh:b-3.1.0-linux_amd64"
		oldB = "b 3.0.0 ~> 3.0; h1:b-3.0.0-linux_amd64 zh:b-3.0.0-darwin_arm64 zh:b-3.0.0-linux_amd64"
	)
	locked := []string{"a 1.0.0 ~> 1.0; h1:own", "b 3.0.0 ~> 3.0; h1:b-3.0.0-linux_amd64 zh:b-3.0.0-darwin_arm64 zh:b-3.0.0-linux_amd64"}
	both := []string{"a ~> 1.0", "b ~> 3.0"}
	tests := []struct {
		name            string
		release         string
		required, locks []string
		options         Options
		want            []string
	}{
		{"an older release", "1.14.9", both, locked, Options{}, []string{newA, newB}},
		{"its entry stays", "1.16.0", both, locked, Options{}, []string{oldA, newB}},
		{"it is the only one", "1.16.0", both[:1], locked[:1], Options{}, nil},
		{"no entry is added", "1.16.0", both, locked[1:], Options{}, []string{newB}},
		{"there is no lock file", "1.16.0", both, nil, Options{}, []string{newB}},
		{"it is required no more", "1.16.0", both[1:], locked, Options{}, []string{newB}},
		{"providers lock adds it", "1.16.0", both, locked[1:], Options{Mode: Complete}, []string{newA, oldB}},
		{"providers lock comes after init", "1.16.0", both, locked[1:], Options{Exact: true}, []string{newA, newB}},
		{
			"providers lock keeps its version", "1.16.0", both, locked, Options{Exact: true},
			[]string{"a 1.0.0 ~> 1.0; h1:a-1.0.0-linux_amd64 h1:own zh:a-1.0.0-darwin_arm64 zh:a-1.0.0-linux_amd64", newB},
		},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			m := module(t, tt.required, tt.locks)
			m.Tool = provider.Tool{Name: provider.Terraform, Version: version(tt.release)}
			tt.options.Platforms = linux
			tt.options.Overridden = map[provider.ToolName][]provider.Addr{provider.Terraform: {addr("a")}}
			r := Plan(t.Context(), &offer{releases: releases}, []scan.RootModule{m}, tt.options)[0]
			if problem.AnyError(r.Diagnostics) {
				t.Errorf("diagnostics: %v", r.Diagnostics)
			}
			if diff := cmp.Diff(tt.want, summary(r)); diff != "" {
				t.Errorf("new lock file (-want +got):\n%s", diff)
			}
		})
	}
}
