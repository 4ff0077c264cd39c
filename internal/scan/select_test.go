package scan

import (
	"strings"
	"testing"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/provider"
)

// TestSelectModule holds the rules that were recorded from the tools. The versions are those of
// the registry in the recorded cases, in its order.
func TestSelectModule(t *testing.T) {
	t.Parallel()
	const (
		net  = "1.0.0 1.1.0 1.2.0-beta1 2.0.0-rc1 2.0.0 2.1.0-alpha"
		pre  = "1.0.0-beta1 1.0.0-beta2"
		plus = "1.0.0 1.0.0+build2 1.0.0+build1"
	)
	tofu := provider.Tool{Name: provider.OpenTofu, Version: provider.Version{Major: 1, Minor: 12, Patch: 6}}
	old := provider.Tool{Name: provider.OpenTofu, Version: provider.Version{Major: 1, Minor: 8}}
	tests := []struct {
		name, listed, constraint string
		terraform, tofu          string
	}{
		{"newest_release_without_constraint", net, "", "2.0.0", "2.0.0"},
		{"exact_prerelease", net, "2.0.0-rc1", "2.0.0-rc1", "2.0.0-rc1"},
		{"exact_prerelease_with_operator", net, "=2.0.0-rc1", "2.0.0-rc1", "2.0.0-rc1"},
		{"exact_prerelease_behind_a_space", net, "= 2.0.0-rc1", "", ""},
		{"exact_prerelease_between_spaces", net, "  2.0.0-rc1 ", "2.0.0-rc1", "2.0.0-rc1"},
		{"exact_prerelease_with_prefix", net, "v2.0.0-rc1", "", "2.0.0-rc1"},
		{"exact_prerelease_with_operator_and_prefix", net, "=v2.0.0-rc1", "", "2.0.0-rc1"},
		{"prerelease_with_another_term", net, "2.0.0-rc1, >= 1.0", "", ""},
		{"range_from_a_prerelease", net, ">= 2.0.0-rc1", "2.0.0", "2.0.0"},
		{"range_within_prereleases", net, "~> 2.1.0-alpha", "", ""},
		{"tilde_major_has_no_upper_bound", net, "~> 1", "2.0.0", "2.0.0"},
		{"tilde_minor", net, "~> 1.0", "1.1.0", "1.1.0"},
		{"prefix", net, "v1.0.0", "1.0.0", "1.0.0"},
		{"four_numbers", net, ">= 1.0.0.0", "2.0.0", "2.0.0"},
		{"two_spaces", net, "~>  1.0", "1.1.0", "1.1.0"},
		{"nothing_matches", net, ">= 9", "", ""},
		{"not_equal", net, "!= 2.0.0", "1.1.0", "1.1.0"},
		{"prereleases_only", pre, "", "", ""},
		{"prereleases_only_exact", pre, "1.0.0-beta1", "1.0.0-beta1", "1.0.0-beta1"},
		{"first_of_equals", plus, "", "1.0.0", "1.0.0"},
		{"first_of_equals_exact", "1.0.0+build2 1.0.0+build1", "1.0.0", "1.0.0+build2", "1.0.0+build2"},
		{"spelling_of_the_registry", "v1.2 1.1", "", "1.2.0", "1.2.0"},
		{"invalid_strings_are_passed_over", "latest 1.x 1.0.0", "", "1.0.0", "1.0.0"},
		{"prerelease_with_metadata", "1.0.0-rc1+b", "1.0.0-rc1", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var allowed goversion.Constraints
			if tt.constraint != "" {
				allowed = goversion.MustConstraints(goversion.NewConstraint(tt.constraint))
			}
			for tool, want := range map[provider.Tool]string{terraform1_11: tt.terraform, tofu: tt.tofu} {
				if got, _ := SelectModule(strings.Fields(tt.listed), allowed, tool); got != want {
					t.Errorf("SelectModule(%s, %q) for %s = %q, want %q", tt.listed, tt.constraint, tool, got, want)
				}
			}
			if got, _ := SelectModule(strings.Fields(tt.listed), allowed, old); got != tt.terraform {
				t.Errorf("SelectModule(%s, %q) for %s = %q, want %q", tt.listed, tt.constraint, old, got, tt.terraform)
			}
		})
	}
}

func TestChooseNamesNewest(t *testing.T) {
	t.Parallel()
	allowed := goversion.MustConstraints(goversion.NewConstraint(">= 9"))
	if _, newest := SelectModule([]string{"1.0.0", "2.0.0", "3.0.0-rc1"}, allowed, terraform1_11); newest != "2.0.0" {
		t.Errorf("newest = %q, want 2.0.0", newest)
	}
	if _, newest := SelectModule([]string{"3.0.0-rc1"}, allowed, terraform1_11); newest != "" {
		t.Errorf("newest = %q, want none", newest)
	}
}
