package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verify"
)

// Unbegun counts the work that an interrupted run has not begun.
type Unbegun struct{ PullRequests, Repositories int }

// fewUnfinished is the highest number of unfinished providers and modules that an
// interrupted run names. More of them are only counted.
const fewUnfinished = 3

// Interruption is the problem of each unfinished part, until Interrupted replaces
// them all by a count.
var Interruption = problem.Problem{
	Code: problem.CodeCancelled, Message: "the run was interrupted, and what was not finished stays as it is",
	Hint: "run again: relock remembers the hashes of the packages that have arrived",
}

// Interrupted is the report of an interrupted run: one line counts the unfinished
// work. If there is much of it, its single errors are dropped, and its root
// modules count as left alone.
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

// interruptedAt says how much of a run is done.
func interruptedAt(finished, modules int, rest Unbegun) string {
	var parts []string
	if modules > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s finished", finished, collect.Count(modules, "root module is", "root modules are")))
	}
	if n := rest.Repositories; n > 0 {
		parts = append(parts, collect.Count(n, "repository was", "repositories were")+" not looked at")
	}
	if n := rest.PullRequests; n > 0 {
		parts = append(parts, collect.Count(n, "pull request was", "pull requests were")+" not begun")
	}
	if len(parts) == 0 {
		return "the run was interrupted before its root modules were known, and nothing was changed"
	}
	return "the run was interrupted: " + strings.Join(parts, ", ") + "; what was not finished stays as it is"
}

// cutShort counts the providers and modules that the interrupt left unfinished.
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
		for _, f := range m.Findings {
			if verify.IsInterrupted(f) {
				distinct[f.Subject.Addr] = true
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

// unfinished reports whether the interrupt left a part of a root module undone.
func unfinished(m Module) bool {
	cut := func(d problem.Problem) bool { return d.Code == problem.CodeCancelled }
	return slices.ContainsFunc(m.Diagnostics, cut) || slices.ContainsFunc(m.Findings, verify.IsInterrupted) || slices.ContainsFunc(m.Unread, isUnfetched)
}

// withoutUnfinished is a root module without the problems of its unfinished
// parts.
func withoutUnfinished(m Module) Module {
	if !unfinished(m) {
		return m
	}
	m.Diagnostics = slices.DeleteFunc(slices.Clone(m.Diagnostics), func(d problem.Problem) bool {
		return d.Code == problem.CodeCancelled || isOfUnfetched(d, m.Unread)
	})
	m.Findings = slices.DeleteFunc(slices.Clone(m.Findings), verify.IsInterrupted)
	m.Unread = slices.DeleteFunc(slices.Clone(m.Unread), isUnfetched)
	m.Left = true
	return m
}

// isUnfetched reports whether a module was not read because of the interrupt.
func isUnfetched(u scan.Unread) bool { return u.Code == problem.CodeCancelled }

// isOfUnfetched reports whether a problem is about such a module.
func isOfUnfetched(d problem.Problem, calls []scan.Unread) bool {
	return d.Code == problem.CodeUnreadModule && slices.ContainsFunc(calls, func(u scan.Unread) bool {
		return isUnfetched(u) && u.Place == d.Place
	})
}
