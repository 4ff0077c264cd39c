package run

import (
	"testing"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
)

func TestWhatMergesByItself(t *testing.T) {
	version := func(text string) provider.Version {
		v, err := provider.ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	change := func(kind diff.Kind, from, to string) report.Change {
		c := report.Change{Change: diff.Change{Kind: kind}}
		c.Addr, _ = provider.ParseFullAddr("registry.terraform.io/hashicorp/aws")
		if from != "" {
			c.From = version(from)
		}
		if to != "" {
			c.To = version(to)
		}
		return c
	}
	signed := change(diff.Upgraded, "1.0.0", "1.1.0")
	signed.Signer, signed.SignerFrom = provider.Signer{KeyID: "B"}, provider.Signer{KeyID: "A"}
	minor, major := change(diff.Upgraded, "1.0.0", "1.1.0"), change(diff.Upgraded, "1.0.0", "2.0.0")
	completed := change(diff.Completed, "1.0.0", "1.0.0")
	yes, no := true, false
	noMajor := []policy.Rule{{Updates: []provider.Bump{provider.BumpMajor}, AutoMerge: &no}}
	nothing := []policy.Rule{{AutoMerge: &no}}
	tests := map[string]struct {
		rules  []policy.Rule
		module report.Module
		want   bool
	}{
		"without_rules":        {nil, report.Module{Changes: []report.Change{minor, major}}, true},
		"all_may":              {noMajor, report.Module{Changes: []report.Change{minor, completed}}, true},
		"one_may_not":          {noMajor, report.Module{Changes: []report.Change{minor, major}}, false},
		"the_last_rule_counts": {append(nothing, policy.Rule{Updates: []provider.Bump{provider.BumpMinor}, AutoMerge: &yes}), report.Module{Changes: []report.Change{minor}}, true},
		"hashes_are_no_update": {append(nothing, policy.Rule{Updates: []provider.Bump{provider.BumpPatch}, AutoMerge: &yes}), report.Module{Changes: []report.Change{completed}}, false},
		"prereleases_are_patches": {
			[]policy.Rule{{Updates: []provider.Bump{provider.BumpPatch}, AutoMerge: &no}}, report.Module{Changes: []report.Change{change(diff.Upgraded, "1.0.0-beta1", "1.0.0-beta2")}}, false,
		},
		"a_prerelease_is_no_major": {noMajor, report.Module{Changes: []report.Change{change(diff.Upgraded, "1.0.0-beta1", "1.0.0")}}, true},
		"elsewhere":                {[]policy.Rule{{Where: policy.Where{Directories: []string{"prod/**"}}, AutoMerge: &no}}, report.Module{Dir: "stage", Changes: []report.Change{minor}}, true},
		"here":                     {[]policy.Rule{{Where: policy.Where{Directories: []string{"prod/**"}}, AutoMerge: &no}}, report.Module{Dir: "prod/a", Changes: []report.Change{minor}}, false},
		"a_downgrade":              {[]policy.Rule{{AutoMerge: &yes}}, report.Module{Changes: []report.Change{change(diff.Downgraded, "2.0.0", "1.0.0")}}, false},
		"a_move_down":              {nil, report.Module{Changes: []report.Change{change(diff.Moved, "2.0.0", "1.0.0")}}, false},
		"a_re-release":             {nil, report.Module{Changes: []report.Change{change(diff.ReReleased, "1.0.0", "1.0.0")}}, false},
		"another_signer":           {nil, report.Module{Changes: []report.Change{signed}}, false},
		"an_unaccounted_hash":      {nil, report.Module{Changes: []report.Change{minor}, Findings: []problem.Problem{{}}}, false},
		"a_module_unread":          {nil, report.Module{Changes: []report.Change{minor}, Unread: []scan.Unread{{}}}, false},
		"partial":                  {nil, report.Module{Changes: []report.Change{minor}, Partial: true}, false},
		"where_nothing_changes":    {nothing, report.Module{Partial: true}, true},
		"of_another_matter":        {[]policy.Rule{{}}, report.Module{Changes: []report.Change{minor}}, true},
		"of_others":                {[]policy.Rule{{Where: policy.Where{Providers: []provider.Pattern{pattern(t, "corp/*")}}, AutoMerge: &no}}, report.Module{Changes: []report.Change{minor}}, true},
	}
	for name, tt := range tests {
		if got := unattended(policy.Rulebook{Rules: tt.rules}, []report.Module{tt.module}); got != tt.want {
			t.Errorf("%s: unattended() = %v, want %v", name, got, tt.want)
		}
	}
}

func pattern(t *testing.T, text string) provider.Pattern {
	t.Helper()
	p, err := provider.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
