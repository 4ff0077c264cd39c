package outline

import (
	"cmp"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// Judged is the result of a verification of all lock files.
type Judged struct {
	// Findings are the findings that people see, the worst first. Accepted are
	// those that a baseline accepts.
	Findings, Accepted []FoundRow
	// Unchecked lists what could not be judged. It has the same text of several
	// root modules once.
	Unchecked []UncheckedIn
	// Modules are the root modules that were verified, with what could not be
	// judged in each.
	Modules []VerifiedIn
}

// FoundRow is a row of a table of findings.
type FoundRow struct {
	Severity                     problem.Severity
	Code, Dir, Place, What, Next safe.Markdown
	Reason, By, Until            safe.Markdown // of an accepted finding
}

// UncheckedIn is a text about what could not be judged, and its root modules.
type UncheckedIn struct {
	What string
	Dirs []string
}

// VerifiedIn is the directory of a verified root module, and texts about what could
// not be judged in it.
type VerifiedIn struct {
	Dir       string
	Unchecked []string
}

// proven says what proves the hashes of the lock files in a pull request, and in
// which root modules relock looked if not in all. It is empty if relock did not look.
func proven(r report.Report) safe.Markdown {
	if r.Proofs == nil {
		return safe.Markdown{}
	}
	text := safe.Format("%s.", safe.Text(r.Proofs.Lasting()))
	unseen := collect.CountIf(r.Modules, func(m report.Module) bool { return m.Unseen })
	if all := collect.CountIf(r.Modules, hasChanges); unseen > 0 {
		text = text.And(" This line is about %s of %s.", safe.Int(all-unseen), safe.Count(all, "root module", "root modules"))
	}
	return text
}

// JudgedIn collects the results of all root modules.
func JudgedIn(r report.Report) Judged {
	var v Judged
	var unchecked collect.Groups[string, string]
	findings := Briefs(r)
	for i, m := range r.Modules {
		for _, f := range findings[i] {
			v.Findings = append(v.Findings, foundIn(m, f))
		}
		for _, a := range m.Accepted {
			row := foundIn(m, a.Problem)
			row.Reason, row.By, row.Until = safe.Text(a.Reason), safe.Text(a.By), safe.Text(provider.Day(a.Until).String())
			v.Accepted = append(v.Accepted, row)
		}
		if m.Verified == nil {
			continue
		}
		v.Modules = append(v.Modules, VerifiedIn{m.Dir, m.Verified.Unchecked})
		for _, text := range m.Verified.Unchecked {
			unchecked.Add(text, m.Dir)
		}
	}
	slices.SortStableFunc(v.Findings, func(a, b FoundRow) int { return cmp.Compare(a.Severity, b.Severity) })
	v.Unchecked = collect.Mapped(unchecked.Keys, func(text string) UncheckedIn { return UncheckedIn{text, unchecked.Of[text]} })
	return v
}

func foundIn(m report.Module, f problem.Problem) FoundRow {
	return FoundRow{
		Severity: f.Severity, Code: safe.Code(string(f.Code)), Dir: safe.Code(m.Dir), Place: Vocabulary{}.Of(m).At(f.Place),
		What: safe.Text(f.Message), Next: safe.Hint(f.Hint),
	}
}
