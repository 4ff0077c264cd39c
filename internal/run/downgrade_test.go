package run

import (
	"testing"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/upgrade"
)

// What the base has, too, is a warning, unless it is of the day or of an entry that
// the change has touched.
func TestForgive(t *testing.T) {
	t.Parallel()
	aws, null := addrOf(t, "hashicorp/aws"), addrOf(t, "hashicorp/null")
	entry := func(addr provider.Addr, version string) lockfile.Lock {
		v, err := provider.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		return lockfile.Lock{Addr: addr, Version: v}
	}
	planned := func(old, new string) found {
		return found{result: upgrade.Result{Old: []lockfile.Lock{entry(aws, old), entry(null, "3.2.2")}, New: []lockfile.Lock{entry(aws, new), entry(null, "3.2.2")}}}
	}
	bad := func(code problem.Code, addr provider.Addr) problem.Problem {
		return problem.Problem{Severity: problem.SeverityError, Code: code, Subject: problem.Subject{Addr: addr}, Message: "wrong"}
	}
	stale := []report.Change{{Change: diff.Change{Kind: diff.Upgraded, Addr: aws}}}
	for name, tt := range map[string]struct {
		now, before   found
		m, was        report.Module
		onBase        bool
		fails         bool
		anyIsForgiven bool
	}{
		"as_it_was": {
			now: planned("5.0.0", "5.1.0"), before: planned("5.0.0", "5.1.0"),
			m: report.Module{Pending: true, Changes: stale}, onBase: true, anyIsForgiven: true,
		},
		"changed_here": {
			now: planned("5.0.1", "5.1.0"), before: planned("5.0.0", "5.1.0"), m: report.Module{Pending: true, Changes: stale},
		},
		"should_be_something_else_now": {
			now: planned("5.0.0", "5.2.0"), before: planned("5.0.0", "5.1.0"), m: report.Module{Pending: true, Changes: stale},
		},
		"the_same_problem": {
			m:   report.Module{Diagnostics: []problem.Problem{bad(problem.CodeNoVersion, aws)}},
			was: report.Module{Diagnostics: []problem.Problem{bad(problem.CodeNoVersion, aws)}}, anyIsForgiven: true,
		},
		"another_problem": {
			m:   report.Module{Diagnostics: []problem.Problem{bad(problem.CodeNoVersion, aws)}},
			was: report.Module{Diagnostics: []problem.Problem{bad(problem.CodeNoVersion, null)}}, fails: true,
		},
		"an_outage_hides_what_is_new": {
			m:   report.Module{Diagnostics: []problem.Problem{bad(problem.CodeUnreachable, aws)}},
			was: report.Module{Diagnostics: []problem.Problem{bad(problem.CodeUnreachable, aws)}}, fails: true,
		},
		"a_problem_of_a_changed_entry": {
			now: planned("5.0.1", "5.1.0"), before: planned("5.0.0", "5.1.0"),
			m:   report.Module{Diagnostics: []problem.Problem{bad(problem.CodeNoVersion, aws)}},
			was: report.Module{Diagnostics: []problem.Problem{bad(problem.CodeNoVersion, aws)}}, fails: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			downgradeModule(&tt.m, tt.was, alike{tt.now, tt.before})
			if tt.m.OnBase != tt.onBase || tt.m.Failed() != tt.fails || tt.m.Forgiven != tt.anyIsForgiven {
				t.Errorf("on the base: %t, failed: %t, forgiven: %t; want %+v", tt.m.OnBase, tt.m.Failed(), tt.m.Forgiven, tt)
			}
		})
	}
}
