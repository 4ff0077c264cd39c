package upgrade

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// An entry of required_providers with unknown requirements keeps the lock entry that it may
// be about. Other lock entries are written.
func TestPlanOfOpenEntries(t *testing.T) {
	t.Parallel()
	releases := map[string]map[string][]string{"a": {"1.0.0": two, "1.1.0": two}, "b": {"3.0.0": two, "3.1.0": two}}
	const (
		oldA = "a 1.0.0 ~> 1.0; h1:own"
		newA = "a 1.1.0 ~> 1.0; h1:a-1.1.0-linux_amd64 zh:a-1.1.0-darwin_arm64 zh:a-1.1.0-linux_amd64"
		newB = "b 3.1.0 ~> 3.0; h1:b-3.1.0-linux_amd64 zh:b-3.1.0-darwin_arm64 zh:b-3.1.0-linux_amd64"
	)
	locked := []string{oldA, "b 3.0.0 ~> 3.0; h1:b-3.0.0-linux_amd64"}
	both, b := []string{"a", "b ~> 3.0"}, []string{"b ~> 3.0"}
	tests := []struct {
		name            string
		entry           tfconfig.OpenEntry
		required, locks []string
		options         Options
		want            []string
		told            string
	}{
		{"its version is open", tfconfig.OpenEntry{Addr: addr("a")}, both, locked, Options{}, []string{oldA, newB}, "error unknown-entry"},
		{"and it is required nowhere else", tfconfig.OpenEntry{Addr: addr("a")}, b, locked, Options{}, []string{oldA, newB}, "error unknown-entry"},
		{"it may be any provider", tfconfig.OpenEntry{}, both, locked, Options{}, nil, "error unknown-entry"},
		{"it has no entry", tfconfig.OpenEntry{Addr: addr("c")}, b, locked[1:], Options{}, nil, "error unknown-entry"},
		{"there is no lock file", tfconfig.OpenEntry{Addr: addr("a")}, both, nil, Options{}, nil, "error unknown-entry"},
		{"under strict", tfconfig.OpenEntry{Addr: addr("a")}, both, locked, Options{Strict: true}, nil, "error unknown-entry"},
		{"what is recorded stands in", tfconfig.OpenEntry{Addr: addr("a")}, both, locked, Options{Preserve: true}, []string{newA, newB}, "warning unknown-entry"},
		{"for no other", tfconfig.OpenEntry{Addr: addr("b")}, b, locked, Options{Preserve: true}, []string{newB}, "warning unknown-entry"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			m := module(t, tt.required, tt.locks)
			tt.entry.Name = "local"
			m.Tree.Unread = []scan.Unread{{Entry: &tt.entry, Code: problem.CodeUnknownEntry, Reason: "it has no value", Place: problem.Place{Path: "main.tf", Line: 7}}}
			tt.options.Platforms = linux
			r := Plan(t.Context(), &offer{releases: releases}, []scan.RootModule{m}, tt.options)[0]
			if diff := cmp.Diff(tt.want, summary(r)); diff != "" {
				t.Errorf("new lock file (-want +got):\n%s", diff)
			}
			var told []string
			for _, d := range r.Diagnostics {
				told = append(told, fmt.Sprint(d.Severity, " ", d.Code))
			}
			if got := strings.Join(told, ", "); got != tt.told {
				t.Errorf("told %q, want %q", got, tt.told)
			}
		})
	}
}
