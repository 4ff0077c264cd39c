package report

import (
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verify"
)

// Verified is what a verification found of a lock file besides its findings.
type Verified struct {
	// Counts say how many of its hashes have which verdict.
	Counts verify.Counts
	// Unchecked says what could not be judged at all, and why.
	Unchecked []string
	// Accepted are findings that a baseline accepts; they are none of the module's.
	Accepted []verify.Acceptance
}

// FromVerification makes the report of a root module that was verified.
func FromVerification(v verify.Verification) Module {
	m := v.Module
	return Module{
		Dir: m.Dir, LockPath: lockPath(m), Tool: m.Tool, Assumed: m.Assumed, Unread: m.Tree.Unread, Diagnostics: m.Tree.Diagnostics,
		Findings: v.Findings, Verified: &Verified{Counts: v.Counts, Unchecked: v.Unchecked, Accepted: v.Accepted},
	}
}

// Tampered reports that a pull request changes a file that it is judged by. head names
// what the file is there: whoever accepts that has looked at no other.
func Tampered(name, what, head string) Module {
	meaning, _ := verify.MeaningOf(problem.CodeTamperedBoth)
	return Module{Dir: ".", Verified: &Verified{Counts: verify.Counts{}}, Findings: []problem.Finding{{
		Code: problem.CodeTamperedBoth, Severity: meaning.Severity, Place: problem.Place{Path: name, Line: 1}, Hint: meaning.Help, About: head,
		Message: "this pull request changes the " + what + ", and is judged by the base's",
	}}}
}

// bySeverity are findings with the errors first; of equal ones the order stays.
func bySeverity(findings []problem.Finding) []problem.Finding {
	return slices.SortedStableFunc(slices.Values(findings), func(f, g problem.Finding) int { return int(f.Severity) - int(g.Severity) })
}

// verified writes what was found in a lock file: for everybody what is wrong, and
// notes for those who ask for everything.
func (t *text) verified(m Module) {
	styles := map[problem.Severity]style{problem.SeverityError: red, problem.SeverityWarning: yellow, problem.SeverityNote: dim}
	for _, f := range Brief(m.Findings) {
		if f.Severity == problem.SeverityNote && !t.o.Verbose {
			continue
		}
		t.finding(cell{safe.Format("%s %s:", safe.Text(f.Severity.String()), safe.Text(string(f.Code))), styles[f.Severity]}, f)
	}
	for _, u := range m.Verified.Unchecked {
		t.paragraph(tableIndent, cell{safe.Const("not checked:"), yellow}, safe.Text(u))
	}
	if t.o.Verbose {
		t.paragraph(tableIndent, cell{}, safe.Text(m.Verified.Counts.String()))
	}
}

// verification is a report of verify in Markdown.
func verification(r Report) []part {
	var d vocabulary
	findings := part{rank: 1, what: safe.Const("finding"),
		head: safe.Const("### Findings\n\n| Severity | Code | Root module | Place | What |\n| --- | --- | --- | --- | --- |\n")}
	unchecked := part{rank: 3, what: safe.Const("item"), head: safe.Const("### Not checked\n\n")}
	for _, severity := range []problem.Severity{problem.SeverityError, problem.SeverityWarning, problem.SeverityNote} {
		for _, m := range r.Modules {
			for _, f := range Brief(m.Findings) {
				if f.Severity == severity {
					findings.add(safe.Format("| %s | %s | %s | %s | %s |\n", safe.Text(severity.String()), safe.Code(string(f.Code)), safe.Code(m.Dir),
						d.of(m).at(f.Place), safe.Text(f.Message)))
				}
			}
		}
	}
	for _, m := range r.Modules {
		if m.Verified != nil && len(m.Verified.Unchecked) > 0 {
			unchecked.add(safe.Format("- %s: %s\n", safe.Code(m.Dir), safe.Text(strings.Join(m.Verified.Unchecked, "; "))))
		}
	}
	return []part{{head: safe.Format("%s.\n", safe.Text(r.Counts().String()))}, findings, acceptedPart(r, d), unchecked}
}

// proofsLine says what proves the hashes of the lock files that are proposed.
func proofsLine(r Report) safe.Markdown {
	if r.Proofs == nil {
		return safe.Markdown{}
	}
	return safe.Format("\n%s.\n", safe.Text(r.Proofs.Lasting()))
}

// acceptedPart lists what a baseline accepts.
func acceptedPart(r Report, d vocabulary) part {
	p := part{rank: 2, what: safe.Const("accepted finding"),
		head: safe.Const("### Accepted\n\n| Code | Place | Until | Reason |\n| --- | --- | --- | --- |\n")}
	for _, m := range r.Modules {
		if m.Verified == nil {
			continue
		}
		for _, a := range m.Verified.Accepted {
			p.add(safe.Format("| %s | %s | %s | %s |\n", safe.Code(string(a.Code)), d.of(m).at(a.Place), safe.Text(day(a.Until)), safe.Text(a.Reason)))
		}
	}
	return p
}
