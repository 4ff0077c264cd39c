package policy_test

import (
	"testing"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/provider"
)

func TestGroupOfAChange(t *testing.T) {
	t.Parallel()
	pattern := func(text string) []provider.Pattern {
		p, err := provider.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		return []provider.Pattern{p}
	}
	named := []policy.Group{
		{Name: "modules", Modules: []string{"*"}}, // of no provider
		{Name: "aws-prod", Where: policy.Where{Providers: pattern("hashicorp/aws"), Directories: []string{"prod/**"}}},
		{Name: "aws", Where: policy.Where{Providers: pattern("hashicorp/aws")}},
		{Name: "prod", Where: policy.Where{Directories: []string{"prod/**"}}},
	}
	tests := []struct {
		name    string
		book    policy.Rulebook
		dir, of string
		want    string
	}{
		{"one for all", policy.Rulebook{}, "live", "hashicorp/null", "all"},
		{"by provider", policy.Rulebook{GroupBy: policy.ByProvider}, "live", "hashicorp/null", "registry.terraform.io/hashicorp/null"},
		{"by directory", policy.Rulebook{GroupBy: policy.ByDirectory}, "live/a", "hashicorp/null", "live/a"},
		{"by namespace", policy.Rulebook{GroupBy: policy.ByNamespace}, "live", "hashicorp/null", "registry.terraform.io/hashicorp"},
		{"the first that matches", policy.Rulebook{Groups: named}, "prod/a", "hashicorp/aws", "aws-prod"},
		{"both must match", policy.Rulebook{Groups: named}, "live", "hashicorp/aws", "aws"},
		{"a directory alone", policy.Rulebook{Groups: named}, "prod/a", "hashicorp/null", "prod"},
		{"the rest", policy.Rulebook{Groups: named, GroupBy: policy.ByDirectory}, "live", "hashicorp/null", "live"},
	}
	for _, tt := range tests {
		addr, err := provider.ParseFullAddr("registry.terraform.io/" + tt.of)
		if err != nil {
			t.Fatal(err)
		}
		if got := tt.book.GroupOf(tt.dir, addr); got != tt.want {
			t.Errorf("%s: the group of %s in %s is %q, want %q", tt.name, tt.of, tt.dir, got, tt.want)
		}
	}
}

func TestGroupsOfARootModuleThatCannotBeRead(t *testing.T) {
	t.Parallel()
	aws, err := provider.ParsePattern("hashicorp/aws")
	if err != nil {
		t.Fatal(err)
	}
	only := policy.Group{Name: "aws", Where: policy.Where{Providers: []provider.Pattern{aws}, Directories: []string{"prod/**"}}}
	prod := policy.Group{Name: "prod", Where: policy.Where{Directories: []string{"prod/**"}}}
	late := policy.Group{Name: "late"}
	network := policy.Group{Name: "network", Modules: []string{"*"}}
	for _, tt := range []struct {
		book     policy.Rulebook
		key, dir string
		want     bool
	}{
		{policy.Rulebook{}, "all", "live", true},
		{policy.Rulebook{GroupBy: policy.ByProvider}, "registry.terraform.io/hashicorp/null", "live", true},
		{policy.Rulebook{GroupBy: policy.ByNamespace}, "registry.terraform.io/hashicorp", "live", true},
		{policy.Rulebook{GroupBy: policy.ByDirectory}, "live", "live", true},
		{policy.Rulebook{GroupBy: policy.ByDirectory}, "live", "other", false},
		{policy.Rulebook{Groups: []policy.Group{network, only}}, "aws", "prod/a", true},
		{policy.Rulebook{Groups: []policy.Group{network, prod}}, "network", "prod/a", true},
		{policy.Rulebook{Groups: []policy.Group{only}}, "aws", "live", false},
		{policy.Rulebook{Groups: []policy.Group{only}}, "all", "prod/a", true},
		{policy.Rulebook{Groups: []policy.Group{only, prod, late}}, "prod", "prod/a", true},
		{policy.Rulebook{Groups: []policy.Group{only, prod, late}}, "late", "prod/a", false},
		{policy.Rulebook{Groups: []policy.Group{only, prod, late}}, "late", "live", true},
		{policy.Rulebook{Groups: []policy.Group{prod}, GroupBy: policy.ByProvider}, "registry.terraform.io/hashicorp/null", "prod/a", false},
	} {
		if got := tt.book.MayTake(tt.key, tt.dir); got != tt.want {
			t.Errorf("MayTake(%q, %q) of %v = %t, want %t", tt.key, tt.dir, tt.book.Groups, got, tt.want)
		}
	}
}
