package render

import (
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// verified writes the findings of a lock file. Verbose also writes notes and
// counts.
func (t *text) verified(m report.Module, findings []problem.Problem) {
	styles := map[problem.Severity]style{problem.SeverityError: red, problem.SeverityWarning: yellow, problem.SeverityNote: dim}
	for _, f := range findings {
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
func verification(r report.Report, o outline.Outline) []part {
	unchecked := part{rank: 3, what: safe.Const("item"), head: safe.Const("### Not checked\n\n")}
	v := outline.JudgedIn(r)
	rows := collect.Mapped(v.Findings, func(f outline.FoundRow) []safe.Markdown {
		return []safe.Markdown{safe.Text(f.Severity.String()), f.Code, f.Dir, f.Place, f.What}
	})
	for _, m := range v.Modules {
		if len(m.Unchecked) > 0 {
			unchecked.add(safe.Format("- %s: %s\n", safe.Code(m.Dir), safe.Text(strings.Join(m.Unchecked, "; "))))
		}
	}
	findings := tablePart(part{rank: 1, what: safe.Const("finding"), head: safe.Const("### Findings\n\n")},
		[]safe.Markdown{safe.Const("Severity"), safe.Const("Code"), safe.Const("Root module"), safe.Const("Place"), safe.Const("What")}, rows)
	return []part{{head: o.Headline.Line()}, findings, acceptedPart(v.Accepted), unchecked}
}

// proofsLine says what proves the hashes of the proposed lock files, and who
// signed the releases.
func proofsLine(o outline.Outline) safe.Markdown {
	return safe.Maybe("%s\n", safe.JoinSome("\n", o.Proofs, o.Signed))
}

// acceptedPart lists what a baseline accepts.
func acceptedPart(accepted []outline.FoundRow) part {
	rows := collect.Mapped(accepted, func(a outline.FoundRow) []safe.Markdown { return []safe.Markdown{a.Code, a.Place, a.Until, a.Reason} })
	return tablePart(part{rank: 2, what: safe.Const("accepted finding"), head: safe.Const("### Accepted\n\n")},
		[]safe.Markdown{safe.Const("Code"), safe.Const("Place"), safe.Const("Until"), safe.Const("Reason")}, rows)
}
