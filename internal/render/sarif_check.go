package render

import (
	"slices"

	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// outOfStep are findings of a check that are not about wrong hashes: pending
// changes of a lock file, and platforms that it cannot cover.
func outOfStep(r report.Report, m report.Module) []problem.Problem {
	d := outline.VocabularyOf(r).Of(m)
	var all []problem.Problem
	for _, s := range d.StaleIn(r, m) {
		if len(s.Details) > 0 {
			s.Message += " (" + safe.Join("; ", s.Details...).Plain() + ")"
		}
		all = append(all, s.Problem)
	}
	for _, k := range m.Facts() {
		if len(k.Missing) > 0 {
			f := problem.Problem{Severity: problem.SeverityNote, Code: problem.CodePlatformMissing, Message: d.Missing(k).Plain()}
			f.Subject.Addr, f.Subject.Version, f.Subject.Versioned = k.Addr, k.Version, true
			all = append(all, f)
		}
	}
	return all
}

// unfollowed are findings for the module calls that were not followed, unless a
// problem of the root module reports the call.
func unfollowed(r report.Report, m report.Module) []problem.Problem {
	d := outline.VocabularyOf(r).Of(m)
	var all []problem.Problem
	for _, u := range m.Unread {
		told := slices.ContainsFunc(m.Diagnostics, func(p problem.Problem) bool { return p.Place == u.Place })
		if told || u.Module == "" && !u.OfEntry() {
			continue
		}
		code := problem.CodeUnreadModule
		if u.OfEntry() {
			code = problem.CodeUnknownEntry
		}
		all = append(all, problem.Problem{
			Severity: problem.SeverityWarning, Code: code, Place: u.Place,
			Message: d.UnreadCall(u).Plain(), Hint: u.Hint, About: u.Module,
		})
	}
	return all
}
