package report

import (
	"testing"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// A change has the place of the term that causes it. For a term of a fetched
// module this is the module call in the repository. A change that the
// configuration does not cause has no place.
func TestRequiredAt(t *testing.T) {
	t.Parallel()
	parsed := func(text string) provider.Constraints {
		c, err := provider.ParseConstraints(text)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	at := func(constraint, module, pkg string, line int) scan.Term {
		term := scan.Term{Module: module, Place: problem.Place{Path: "main.tf", Package: pkg, Line: line}}
		if constraint != "" {
			term.Constraint = parsed(constraint).Terms()[0]
		}
		return term
	}
	version := func(major int) provider.Version { return provider.Version{Major: int64(major)} }
	fetched := scan.RootModule{}
	fetched.Tree.Fetched = []scan.Fetched{
		{Module: "a", Place: problem.Place{Path: "live/main.tf", Line: 7}},
		{Module: "a.b", Place: problem.Place{Path: "main.tf", Package: "acme/a", Line: 8}},
	}
	fetched.Tests.Fetched = []scan.Fetched{{Module: "tested", Place: problem.Place{Path: "live/x.tftest.hcl", Line: 9}}}
	two := []scan.Term{at("", "", "", 1), at(">= 2", "", "", 2), at("< 4", "m", "", 3)}
	for name, tt := range map[string]struct {
		change diff.Change
		terms  []scan.Term
		want   string
	}{
		"an entry is missing":              {diff.Change{Kind: diff.Added}, two, "main.tf:1"},
		"of another registry":              {diff.Change{Kind: diff.Moved}, two, "main.tf:1"},
		"the version is not allowed":       {diff.Change{Kind: diff.Downgraded, From: version(5)}, two, "main.tf:3"},
		"the version is too old":           {diff.Change{Kind: diff.Upgraded, From: version(1)}, two, "main.tf:2"},
		"the version is allowed":           {diff.Change{Kind: diff.Upgraded, From: version(3)}, two, ""},
		"a constraint is new":              {diff.Change{Kind: diff.Constrained, ConstraintsFrom: parsed(">= 2"), ConstraintsTo: parsed(">= 2, < 4")}, two, "main.tf:3"},
		"a constraint is gone":             {diff.Change{Kind: diff.Constrained, ConstraintsFrom: parsed(">= 2, < 4, < 9")}, two, "main.tf:1"},
		"hashes are missing":               {diff.Change{Kind: diff.Completed}, two, ""},
		"nothing requires it":              {diff.Change{Kind: diff.Removed}, nil, ""},
		"a fetched module":                 {diff.Change{Kind: diff.Added}, []scan.Term{at("", "a", "acme/a", 4)}, "live/main.tf:7"},
		"a local module in its package":    {diff.Change{Kind: diff.Added}, []scan.Term{at("", "a.c", "acme/a", 4)}, "live/main.tf:7"},
		"a module that it fetches":         {diff.Change{Kind: diff.Added}, []scan.Term{at("", "a.b", "acme/b", 4)}, "live/main.tf:7"},
		"a module that a test file calls":  {diff.Change{Kind: diff.Added}, []scan.Term{at("", "tested", "acme/t", 4)}, "live/x.tftest.hcl:9"},
		"a call with such a name at front": {diff.Change{Kind: diff.Added}, []scan.Term{at("", "ab", "acme/ab", 4)}, ""},
	} {
		if got := requiredAt(tt.change, tt.terms, fetched).String(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
