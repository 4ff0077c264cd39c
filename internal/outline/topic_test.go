package outline

import (
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
)

// A rule that refuses is another concern than an unknown hash: people react to
// each differently.
func TestFindingsHaveTheirConcern(t *testing.T) {
	t.Parallel()
	for code, want := range map[problem.Code]Concern{
		problem.CodeHashUnknown:     ConcernHash,
		problem.CodeReReleased:      ConcernReReleased,
		problem.CodeProviderRefused: ConcernRule,
		problem.CodeVersionRefused:  ConcernRule,
		problem.CodeTooYoung:        ConcernRule,
		problem.CodeSignerRefused:   ConcernRule,
		problem.CodeTamperedBoth:    ConcernRule,
	} {
		r := report.Report{Modules: []report.Module{{Findings: []problem.Problem{{Code: code, Message: "it is refused"}}}}}
		topics := reviewOf(r, Vocabulary{}, true)
		if len(topics) != 1 || topics[0].Concern != want {
			t.Errorf("the concern of %s is %+v, want %q", code, topics, want)
		}
	}
}
