package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Unbegun counts what an interrupted run has not come to.
type Unbegun struct{ PullRequests, Repositories int }

// fewUnfinished is up to how many providers and modules an interrupted run names that it
// has not finished. They say no more of many than the line that counts them.
const fewUnfinished = 3

// Interruption is what each part of an interrupted run says of that, until Interrupted
// counts for all of them.
var Interruption = problem.Problem{
	Code: problem.CodeCancelled, Message: "the run was interrupted, and what was not finished stays as it is",
	Hint: "run again: relock remembers the hashes of the packages that have arrived",
}

// Interrupted is the report of a run that was interrupted: one line counts what was not
// finished. Where that is much it is no error of its own, and its root modules are left
// alone.
func Interrupted(r Report, rest Unbegun) Report {
	finished := collect.CountIf(r.Modules, func(m Module) bool { return !unfinished(m) })
	if cutShort(r) > fewUnfinished {
		r.Modules = collect.Mapped(r.Modules, withoutUnfinished)
	}
	r.Diagnostics = slices.DeleteFunc(slices.Clone(r.Diagnostics), func(d problem.Problem) bool { return d == Interruption })
	counted := Interruption
	counted.Message = interruptedAt(finished, len(r.Modules), rest)
	r.Diagnostics = append(r.Diagnostics, counted)
	return r
}

// interruptedAt says how far a run has come.
func interruptedAt(finished, modules int, rest Unbegun) string {
	var parts []string
	if modules > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s finished", finished, Count(modules, "root module is", "root modules are")))
	}
	if n := rest.Repositories; n > 0 {
		parts = append(parts, Count(n, "repository was", "repositories were")+" not looked at")
	}
	if n := rest.PullRequests; n > 0 {
		parts = append(parts, Count(n, "pull request was", "pull requests were")+" not begun")
	}
	if len(parts) == 0 {
		return "the run was interrupted before its root modules were known, and nothing was changed"
	}
	return "the run was interrupted: " + strings.Join(parts, ", ") + "; what was not finished stays as it is"
}

// cutShort counts the providers and modules that an interrupt has cut short.
func cutShort(r Report) int {
	distinct := map[any]bool{}
	for _, m := range r.Modules {
		for _, d := range m.Diagnostics {
			if d.Code == problem.CodeCancelled && d.Subject.Addr != (provider.Addr{}) {
				distinct[d.Subject.Addr] = true
			} else if d.Code == problem.CodeCancelled {
				distinct[d.Message] = true
			}
		}
		for _, u := range m.Unread {
			if isUnfetched(u) {
				distinct[u.Source] = true
			}
		}
	}
	return len(distinct)
}

// unfinished reports whether an interrupt has left anything of a root module undone.
func unfinished(m Module) bool {
	cut := func(d problem.Problem) bool { return d.Code == problem.CodeCancelled }
	return slices.ContainsFunc(m.Diagnostics, cut) || slices.ContainsFunc(m.Unread, isUnfetched)
}

// withoutUnfinished is a root module that does not say what is not finished of it.
func withoutUnfinished(m Module) Module {
	if !unfinished(m) {
		return m
	}
	m.Diagnostics = slices.DeleteFunc(slices.Clone(m.Diagnostics), func(d problem.Problem) bool {
		return d.Code == problem.CodeCancelled || isOfUnfetched(d, m.Unread)
	})
	m.Unread = slices.DeleteFunc(slices.Clone(m.Unread), isUnfetched)
	m.Left = true
	return m
}

// isUnfetched reports whether a module was not read since the run was interrupted.
func isUnfetched(u scan.Unread) bool { return u.Code == problem.CodeCancelled }

// isOfUnfetched reports whether a problem is that such a module was not read.
func isOfUnfetched(d problem.Problem, calls []scan.Unread) bool {
	return d.Code == problem.CodeUnreadModule && slices.ContainsFunc(calls, func(u scan.Unread) bool {
		return isUnfetched(u) && u.Place == d.Place
	})
}
