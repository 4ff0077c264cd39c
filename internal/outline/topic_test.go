package outline

import (
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/verbs"
)

// A rule that refuses is another concern than an unknown hash: people react to
// each differently.
func TestFindingsHaveTheirConcern(t *testing.T) {
	t.Parallel()
	for code, want := range map[problem.Code]Concern{
		problem.CodeHashUnknown:     ConcernHash,
		problem.CodeModuleMoved:     ConcernModule,
		problem.CodeReReleased:      ConcernReReleased,
		problem.CodeProviderRefused: ConcernRule,
		problem.CodeVersionRefused:  ConcernRule,
		problem.CodeTooYoung:        ConcernRule,
		problem.CodeSignerRefused:   ConcernRule,
		problem.CodeTamperedBoth:    ConcernRule,
	} {
		r := report.Report{Modules: []report.Module{{Findings: []problem.Problem{{Code: code, Message: "it is refused"}}}}}
		topics := reviewOf(r, Vocabulary{})
		if len(topics) != 1 || topics[0].Concern != want {
			t.Errorf("the concern of %s is %+v, want %q", code, topics, want)
		}
	}
}

// A module that has moved comes before all else that needs a reviewer. Its calls are one
// topic.
func TestMovedModulesComeFirst(t *testing.T) {
	t.Parallel()
	moved := func(call, about string, line int) problem.Problem {
		return problem.Problem{Code: problem.CodeModuleMoved, About: about, Message: call + " stays as it is locked", Place: problem.Place{Path: "main.tf", Line: line}}
	}
	r := report.Report{Modules: []report.Module{
		{Dir: "a", Diagnostics: []problem.Problem{{Code: problem.CodeUnreachable, Message: "it does not answer"}}},
		{Dir: "b", Findings: []problem.Problem{moved("module.x", "git::net v1", 2), moved("module.y", "git::net v1", 5), moved("module.z", "git::net v2", 8)}},
	}}
	var got []string
	for _, topic := range reviewOf(r, Vocabulary{}) {
		got = append(got, string(topic.Concern)+": "+topic.Said().Plain())
	}
	want := []string{
		"Moved module: module.x stays as it is locked, and 1 more like it (main.tf:2, main.tf:5)",
		"Moved module: main.tf:8: module.z stays as it is locked",
		"Failed: it does not answer",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the topics are %q, want %q", got, want)
	}
}

// What was pending on the base is a warning. It hides no version that the change
// forbids.
func TestWhatTheChangeForbidsIsAnError(t *testing.T) {
	t.Parallel()
	r := report.Report{Verb: verbs.Check, Mending: report.Mending{Verb: verbs.Upgrade}, Modules: []report.Module{{
		Dir: "live", Pending: true, OnBase: true, Changes: []report.Change{{Change: diff.Change{Kind: diff.Added}}},
		Diagnostics: []problem.Problem{{Code: problem.CodeLockedVersion, Message: "it is not allowed", Upgradable: true}},
	}}}
	const want = "run `relock upgrade live` and commit the result"
	if all := StaleLocks(r); len(all) != 1 || all[0].Code != problem.CodeLockedVersion || all[0].Severity != problem.SeverityError || all[0].Hint != want {
		t.Errorf("the lock files are %+v, want an error with the hint %q", all, want)
	}
}

func TestFailedRootModulesAreNamed(t *testing.T) {
	t.Parallel()
	all := []string{"r01", "r02", "r03", "r04", "r05", "r06", "r07", "r08", "r09", "r10", "r11", "r12"}
	for _, tt := range []struct {
		severity problem.Severity
		dirs     []string
		want     string
	}{
		{problem.SeverityError, all[:3], "r01, r02, r03"},
		{problem.SeverityError, all[:8], "r01, r02, r03, r04, r05, r06, r07, r08"},
		{problem.SeverityError, all[:10], "r01, r02, r03, r04, r05, r06, r07, r08, r09, r10"},
		{problem.SeverityError, all, "r01, r02, r03, r04, r05, r06, r07, r08, r09, r10 and 2 more"},
		{problem.SeverityWarning, all, "12 root modules"},
	} {
		r := report.Report{Modules: collect.Mapped(tt.dirs, func(dir string) report.Module {
			return report.Module{Dir: dir, Diagnostics: []problem.Problem{{Severity: tt.severity, Message: "it is so"}}}
		})}
		topics := reviewOf(r, Vocabulary{})
		if len(topics) != 1 || topics[0].Where(Vocabulary{}).Plain() != tt.want {
			t.Errorf("the root modules of %+v, want %q", topics, tt.want)
		}
	}
}

// What needs a reviewer is counted in words, whatever the concern is.
func TestEveryConcernIsCountedInWords(t *testing.T) {
	t.Parallel()
	for _, c := range concerns {
		one, two := tallyOf([]*Topic{{Concern: c}}).Plain(), tallyOf([]*Topic{{Concern: c}, {Concern: c}}).Plain()
		if !strings.HasPrefix(one, "1 ") || len(one) < len("1 word") || !strings.HasPrefix(two, "2 ") || two[2:] == one[2:] {
			t.Errorf("%s is counted as %q and %q", c, one, two)
		}
	}
}
