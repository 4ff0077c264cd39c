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
