package render

import (
	"slices"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// changeCodes say what is wrong with a lock file that a change would mend.
var changeCodes = map[diff.Kind]problem.Code{
	diff.Added: problem.CodeEntryMissing, diff.Removed: problem.CodeEntryStale,
	diff.Upgraded: problem.CodeOutdated, diff.Downgraded: problem.CodeLockedVersion, diff.Moved: problem.CodeMoved,
	diff.Completed: problem.CodeIncomplete, diff.Constrained: problem.CodeConstraintsDiffer, diff.Normalised: problem.CodeNotNormal,
	diff.ReReleased: problem.CodeReReleased, diff.Signer: problem.CodeSignerChanged,
}

// outOfStep are findings of what a check says of a lock file besides what is wrong
// with its hashes: what would change in it, and what it cannot cover.
func outOfStep(r report.Report, m report.Module) []problem.Problem {
	d := outline.VocabularyOf(r)
	about := problem.Problem{Severity: problem.SeverityError}
	if !m.Pending || m.OnBase { // the check does not fail for it
		about.Severity = problem.SeverityWarning
	}
	var all []problem.Problem
	for _, c := range m.Changes {
		f := about
		f.Code, f.Subject.Addr, f.Subject.Version, f.Place.Line = changeCodes[c.Kind], c.Addr, c.From, c.Line
		f.Subject.Versioned = len(c.Olds()) > 0
		f.Message = safe.Format("%s %s: %s", d.Name(c.Addr), d.Move(c), safe.Join(", ", append([]safe.Markdown{safe.Text(d.Label(c))}, d.Details(c)...)...)).Plain()
		all = append(all, f)
	}
	if m.Pending && len(m.Changes) == 0 {
		f := about
		f.Code, f.Message = problem.CodeNotNormal, "the lock file is not in the form that its tool writes"
		all = append(all, f)
	}
	for _, k := range m.Facts() {
		if len(k.Missing) > 0 {
			f := about
			f.Severity, f.Code, f.Message = problem.SeverityNote, problem.CodePlatformMissing, d.Missing(k).Plain()
			f.Subject.Addr, f.Subject.Version, f.Subject.Versioned = k.Addr, k.Version, true
			all = append(all, f)
		}
	}
	return all
}

// unfollowed are findings of the module calls that were not followed and of which no
// problem of the root module tells.
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
