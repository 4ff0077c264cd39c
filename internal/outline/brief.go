package outline

import (
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

// namedFindings bounds the findings about one entry that people are shown. The
// JSON report has more.
const namedFindings = 5

// Brief returns findings as people are shown them, the worst first: of each entry a
// few, the last of which counts the rest.
func Brief(all []problem.Problem) []problem.Problem {
	all = bySeverity(all)
	total := map[provider.Addr]int{}
	for _, f := range all {
		total[f.Subject.Addr]++
	}
	var shown []problem.Problem
	told := map[provider.Addr]int{}
	for _, f := range all {
		told[f.Subject.Addr]++
		if rest := total[f.Subject.Addr] - namedFindings; told[f.Subject.Addr] == namedFindings && rest > 0 {
			f.Message += fmt.Sprintf("; %s of the entry", report.Count(rest, "more finding", "more findings"))
		}
		if told[f.Subject.Addr] <= namedFindings {
			shown = append(shown, f)
		}
	}
	return shown
}

// bySeverity are findings with the errors first; of equal ones the order stays.
func bySeverity(findings []problem.Problem) []problem.Problem {
	return slices.SortedStableFunc(slices.Values(findings), func(f, g problem.Problem) int { return int(f.Severity) - int(g.Severity) })
}
