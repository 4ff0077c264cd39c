package run

import (
	"testing"

	"github.com/relock-dev/relock/internal/config"
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
	named := []config.Group{
		{Name: "aws-prod", Providers: pattern("hashicorp/aws"), Directories: []string{"prod/**"}},
		{Name: "aws", Providers: pattern("hashicorp/aws")},
		{Name: "prod", Directories: []string{"prod/**"}},
	}
	tests := []struct {
		name     string
		grouping Grouping
		dir, of  string
		want     string
	}{
		{"one for all", Grouping{}, "live", "hashicorp/null", "all"},
		{"by provider", Grouping{By: ByProvider}, "live", "hashicorp/null", "registry.terraform.io/hashicorp/null"},
		{"by directory", Grouping{By: ByDirectory}, "live/a", "hashicorp/null", "live/a"},
		{"by namespace", Grouping{By: ByNamespace}, "live", "hashicorp/null", "registry.terraform.io/hashicorp"},
		{"the first that matches", Grouping{Named: named}, "prod/a", "hashicorp/aws", "aws-prod"},
		{"both must match", Grouping{Named: named}, "live", "hashicorp/aws", "aws"},
		{"a directory alone", Grouping{Named: named}, "prod/a", "hashicorp/null", "prod"},
		{"the rest", Grouping{Named: named, By: ByDirectory}, "live", "hashicorp/null", "live"},
	}
	for _, tt := range tests {
		addr, err := provider.ParseFullAddr("registry.terraform.io/" + tt.of)
		if err != nil {
			t.Fatal(err)
		}
		if got := tt.grouping.of(tt.dir, addr); got != tt.want {
			t.Errorf("%s: the group of %s in %s is %q, want %q", tt.name, tt.of, tt.dir, got, tt.want)
		}
	}
}
