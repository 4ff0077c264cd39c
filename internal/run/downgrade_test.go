package run

import (
	"testing"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
)

// What the base has, too, is a warning, unless it is of the day or follows from an entry or a
// requirement that the change has touched.
func TestForgive(t *testing.T) {
	t.Parallel()
	aws, null := addrOf(t, "hashicorp/aws"), addrOf(t, "hashicorp/null")
	// module has an entry of aws, and requires it by a constraint.
	module := func(version, constraint string) scan.RootModule {
		v, err := provider.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		c, err := provider.ParseConstraints(constraint)
		if err != nil {
			t.Fatal(err)
		}
		m := scan.RootModule{Root: scan.Root{Tool: provider.Newest(provider.Terraform), Lock: &lockfile.File{Locks: []lockfile.Lock{{Addr: aws, Version: v}}}}}
		m.Tree.Requirements = []scan.Requirement{{Addr: aws, Terms: []scan.Term{{Constraint: c.Terms()[0]}}}}
		return m
	}
	wrong := func(code problem.Code, addr provider.Addr) []problem.Problem {
		return []problem.Problem{{Severity: problem.SeverityError, Code: code, Subject: problem.Subject{Addr: addr}, Message: "wrong"}}
	}
	withWrong := func(m scan.RootModule, code problem.Code) scan.RootModule {
		m.Tree.Diagnostics = wrong(code, provider.Addr{})
		return m
	}
	other := module("5.0.0", "~> 5.0")
	other.Tool = provider.Newest(provider.OpenTofu)
	stale := report.Module{Pending: true, Changes: []report.Change{{Change: diff.Change{Kind: diff.Upgraded, Addr: aws}}}}
	for name, tt := range map[string]struct {
		now, before   scan.RootModule
		m             report.Module
		onBase        bool
		fails         bool
		anyIsForgiven bool
	}{
		"as_it_was":              {now: module("5.0.0", "~> 5.0"), before: module("5.0.0", "~> 5.0"), m: stale, onBase: true, anyIsForgiven: true},
		"another_entry":          {now: module("5.0.1", "~> 5.0"), before: module("5.0.0", "~> 5.0"), m: stale},
		"another_requirement":    {now: module("5.0.0", "~> 5.1"), before: module("5.0.0", "~> 5.0"), m: stale},
		"another_tool":           {now: module("5.0.0", "~> 5.0"), before: other, m: stale},
		"a_problem_of_the_entry": {now: module("5.0.0", "~> 5.0"), before: module("5.0.0", "~> 5.0"), m: report.Module{Diagnostics: wrong(problem.CodeNoVersion, aws)}, anyIsForgiven: true},
		"a_problem_of_a_changed_entry": {
			now: module("5.0.1", "~> 5.0"), before: module("5.0.0", "~> 5.0"), m: report.Module{Diagnostics: wrong(problem.CodeNoVersion, aws)}, fails: true,
		},
		"an_outage_hides_what_is_new": {
			now: module("5.0.0", "~> 5.0"), before: module("5.0.0", "~> 5.0"), m: report.Module{Diagnostics: wrong(problem.CodeUnreachable, null)}, fails: true,
		},
		"the_same_problem_of_the_module": {
			now: module("5.0.0", "~> 5.0"), before: withWrong(module("5.0.0", "~> 5.0"), problem.CodeSyntax),
			m: report.Module{Diagnostics: wrong(problem.CodeSyntax, provider.Addr{})}, anyIsForgiven: true,
		},
		"another_problem_of_the_module": {
			now: module("5.0.0", "~> 5.0"), before: withWrong(module("5.0.0", "~> 5.0"), problem.CodeUnreadable),
			m: report.Module{Diagnostics: wrong(problem.CodeSyntax, provider.Addr{})}, fails: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			downgradeModule(&tt.m, tt.now, tt.before)
			if tt.m.OnBase != tt.onBase || tt.m.Failed() != tt.fails || tt.m.Forgiven != tt.anyIsForgiven {
				t.Errorf("on the base: %t, failed: %t, forgiven: %t; want %+v", tt.m.OnBase, tt.m.Failed(), tt.m.Forgiven, tt)
			}
		})
	}
}
