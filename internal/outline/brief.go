package outline

import (
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
)

// namedFindings is the highest number of findings per entry that people see. The
// JSON report has all of them.
const namedFindings = 5

// Briefs returns for each root module the findings that people see, as Brief does. Hashes
// that nothing could prove are one finding for each server and reason. The first root
// module has it.
func Briefs(r report.Report) [][]problem.Problem {
	unproven := map[problem.Outage]int{}
	for _, m := range r.Modules {
		for _, f := range m.Findings {
			unproven[f.Outage]++
		}
	}
	shown, told := make([][]problem.Problem, len(r.Modules)), map[problem.Outage]bool{}
	for i, m := range r.Modules {
		var some []problem.Problem
		for _, f := range m.Findings {
			n := unproven[f.Outage]
			switch {
			case f.Outage == problem.Outage{} || n == 1:
			case told[f.Outage]:
				continue
			default:
				f.Message = fmt.Sprintf("%s of releases of %s, such as %s", collect.Count(n, "hash", "hashes"), f.Outage.Server, f.Message)
				told[f.Outage] = true
			}
			some = append(some, f)
		}
		shown[i] = Brief(some)
	}
	return shown
}

// WithoutSilent leaves out the findings that only say that a server did not answer, if a
// problem of the run says so of that server.
func WithoutSilent(findings, ofRun []problem.Problem) []problem.Problem {
	return slices.DeleteFunc(slices.Clone(findings), func(f problem.Problem) bool {
		return f.Outage.Server != "" && slices.ContainsFunc(ofRun, func(p problem.Problem) bool {
			return p.Code == problem.CodeUnreachable && p.Host.ForDisplay() == f.Outage.Server
		})
	})
}

// Brief returns the findings that people see, the worst first. It keeps a few for
// each entry; the last of these counts the others.
func Brief(all []problem.Problem) []problem.Problem {
	all = slices.SortedStableFunc(slices.Values(all), func(f, g problem.Problem) int { return int(f.Severity) - int(g.Severity) })
	type entry struct {
		provider provider.Addr
		module   string
	}
	of := func(f problem.Problem) entry {
		if f.Subject.Addr == (provider.Addr{}) {
			return entry{module: f.About}
		}
		return entry{provider: f.Subject.Addr}
	}
	total := map[entry]int{}
	for _, f := range all {
		total[of(f)]++
	}
	var shown []problem.Problem
	told := map[entry]int{}
	for _, f := range all {
		e := of(f)
		told[e]++
		if rest := total[e] - namedFindings; told[e] == namedFindings && rest > 0 {
			f.Message += fmt.Sprintf("; %s of the entry", collect.Count(rest, "more finding", "more findings"))
		}
		if told[e] <= namedFindings {
			shown = append(shown, f)
		}
	}
	return shown
}
