package outline

import (
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

// namedFindings is the highest number of findings per entry that people see. The
// JSON report has all of them.
const namedFindings = 5

// Brief returns the findings that people see, the worst first. It keeps a few for
// each entry; the last of these counts the others.
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

// bySeverity puts errors first. Findings of equal severity keep their order.
func bySeverity(findings []problem.Problem) []problem.Problem {
	return slices.SortedStableFunc(slices.Values(findings), func(f, g problem.Problem) int { return int(f.Severity) - int(g.Severity) })
}
