package outline

import (
	"regexp"
	"slices"
	"testing"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// TestHeldNamesAPlaceOnce holds that what holds a provider and the advice about it name
// each place once between them.
func TestHeldNamesAPlaceOnce(t *testing.T) {
	t.Parallel()
	constraint := func(text string) provider.Term {
		all, err := provider.ParseConstraints(text)
		if err != nil {
			t.Fatal(err)
		}
		return all.Terms()[0]
	}
	version := func(text string) provider.Version {
		v, err := provider.ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	term := func(path string, line int) scan.Term {
		return scan.Term{Constraint: constraint("~> 1.0"), Place: problem.Place{Path: path, Line: line}}
	}
	edit := func(at scan.Term) upgrade.Measure {
		return upgrade.Measure{Kind: upgrade.MeasureEdit, Term: at, Becomes: constraint("~> 2.0")}
	}
	// held is a root module whose provider these terms hold, the deciding one first.
	held := func(dir, at string, measures []upgrade.Measure, terms ...scan.Term) report.Module {
		h := upgrade.Held{
			Version: version("2.0.0"), By: policy.Hold{Reason: upgrade.HeldByConstraint}, Term: terms[0], Others: terms[1:],
			Help: upgrade.Advice{Version: version("2.0.0"), Measures: measures},
		}
		return report.Module{Dir: dir, Kept: []report.Kept{{Version: version(at), Facts: upgrade.Facts{Held: []upgrade.Held{h}}}}}
	}
	own, shared, fetched := term("a/main.tf", 3), term("modules/x/main.tf", 4), term("main.tf", 5)
	shared.Module = "x"
	fetched.Module, fetched.Place.Package = "y", "acme/y/aws"
	call := upgrade.HoldingCall{Place: problem.Place{Path: "a/main.tf", Line: 9}, Source: "acme/y/aws", Version: "1.0.0", Constraint: "~> 1.0"}
	for name, tt := range map[string]struct {
		modules []report.Module
		want    []string // the places, in their order
	}{
		"a term": {
			[]report.Module{held("a", "1.0.0", []upgrade.Measure{edit(own)}, own)},
			[]string{"a/main.tf:3"},
		},
		"two terms, of which one changes": {
			[]report.Module{held("a", "1.0.0", []upgrade.Measure{edit(own)}, own, shared)},
			[]string{"modules/x/main.tf:4", "a/main.tf:3"},
		},
		"two terms that change": {
			[]report.Module{held("a", "1.0.0", []upgrade.Measure{edit(own), edit(shared)}, own, shared)},
			[]string{"a/main.tf:3", "modules/x/main.tf:4"},
		},
		"the call of a module": {
			[]report.Module{held("a", "1.0.0", []upgrade.Measure{{Kind: upgrade.MeasureListed, Term: fetched, Call: call, Release: "2.0.0", CallBecomes: "~> 2.0"}}, fetched)},
			[]string{"acme/y/aws//main.tf:5", "a/main.tf:9"},
		},
		"a term that cannot change": {
			[]report.Module{held("a", "1.0.0", []upgrade.Measure{{Kind: upgrade.MeasureFixed, Term: own}}, own)},
			[]string{"a/main.tf:3"},
		},
		"a module of two root modules": {
			[]report.Module{held("a", "1.0.0", []upgrade.Measure{edit(shared)}, shared), held("b", "1.0.0", []upgrade.Measure{edit(shared)}, shared)},
			[]string{"modules/x/main.tf:4"},
		},
		"a module of two root modules with different versions": {
			[]report.Module{held("a", "1.0.0", []upgrade.Measure{edit(shared)}, shared), held("b", "1.1.0", []upgrade.Measure{edit(shared)}, shared)},
			[]string{"modules/x/main.tf:4"},
		},
		"the same term in two root modules": {
			[]report.Module{held("a", "1.0.0", []upgrade.Measure{edit(own)}, own), held("b", "1.0.0", []upgrade.Measure{edit(term("b/main.tf", 3))}, term("b/main.tf", 3))},
			[]string{"a/main.tf:3", "b/main.tf:3"},
		},
		"a module of two root modules, of which one needs more": {
			[]report.Module{held("a", "1.0.0", []upgrade.Measure{edit(shared)}, shared), held("b", "1.0.0", []upgrade.Measure{edit(shared), edit(own)}, shared)},
			[]string{"modules/x/main.tf:4"},
		},
	} {
		for _, topic := range heldBack(report.Report{Modules: tt.modules}, Vocabulary{}) {
			text := topic.Said().Plain() + ". " + topic.Next.Plain()
			if got := regexp.MustCompile(`[a-z/]+\.tf:\d+`).FindAllString(text, -1); !slices.Equal(got, tt.want) {
				t.Errorf("%s: the places are %q, want %q, in: %s", name, got, tt.want, text)
			}
		}
	}
}
