package render

import (
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verify"
)

// verifiedSections are what was found, what of it is accepted, and what was not checked;
// empty if nothing was verified.
func verifiedSections(r report.Report, d outline.Vocabulary) markup {
	v := outline.JudgedIn(r)
	if len(v.Modules) == 0 {
		return ""
	}
	totals := strings.Join(outline.SeverityCounts(r), ", ")
	if totals == "" {
		totals = "none"
	}
	all := pageSection("findings", "Findings", `<p>`+escaped(totals)+`</p>`+findingsTable(r, v.Findings, d)+"\n") + acceptedSection(r, v.Accepted, d)
	return all + onlyIf(len(v.Unchecked) > 0, pageSection("unchecked", "Not checked", causeList(markupOf(v.Unchecked, func(u outline.UncheckedIn) markup {
		return causeItem(safe.Text(u.What), safe.Markdown{}, collect.Mapped(u.Modules, func(i int) string { return r.Modules[i].Dir }), nil)
	}))))
}

var severityClass = map[problem.Severity]markup{problem.SeverityError: "bad", problem.SeverityWarning: "minor", problem.SeverityNote: "none"}

// findingsTable has the findings, the most severe first; empty if there are none.
func findingsTable(r report.Report, all []outline.FindingOf, d outline.Vocabulary) markup {
	return onlyIf(len(all) > 0, table("Findings", "sorts findings", []markup{"Severity", "Code", "Root module", "Place", "What", "Next"},
		collect.Mapped(all, func(of outline.FindingOf) []markup {
			f := of.Finding
			severity := `<td class="` + severityClass[f.Severity] + `" data-n="` + numeral(int(f.Severity)) + `">` + escaped(f.Severity.String()) + `</td>`
			return slices.Concat([]markup{severity}, foundCells(f, r.Modules[of.Module], d), []markup{td(prose(safe.Text(f.Hint)))})
		})))
}

// acceptedSection has the findings that a baseline accepts, and why.
func acceptedSection(r report.Report, all []outline.AcceptedOf, d outline.Vocabulary) markup {
	return onlyIf(len(all) > 0, pageSection("accepted", "Accepted",
		table("Accepted", "sorts findings", []markup{"Code", "Root module", "Place", "What", "Reason", "By", "Until"},
			collect.Mapped(all, func(of outline.AcceptedOf) []markup {
				a := of.Acceptance
				return append(foundCells(a.Problem, r.Modules[of.Module], d), td(prose(safe.Text(a.Reason))), td(prose(safe.Text(a.By))), td(escaped(provider.Day(a.Until).String())))
			}))))
}

// foundCells are the cells of a finding that each of the two tables has.
func foundCells(f problem.Problem, m report.Module, d outline.Vocabulary) []markup {
	return []markup{td(prose(safe.Code(string(f.Code)))), td(prose(safe.Code(m.Dir))), td(prose(d.Of(m).At(f.Place))), td(prose(safe.Text(f.Message)))}
}

// verdictClass colours a verdict by how strong its proof is.
var verdictClass = map[verify.Verdict]string{
	verify.ByList: "good", verify.ByPackage: "good", verify.ByCache: "patch", verify.Disproven: "bad", verify.Unproven: "major",
}

// verdictsOf charts the number of hashes of each verdict.
func verdictsOf(counts verify.Counts) outline.Chart {
	return outline.Charted(collect.Mapped(counts.Parts(), func(p verify.Part) outline.ChartPart {
		class := verdictClass[p.Verdict]
		if class == "" {
			class = "minor"
		}
		return outline.ChartPart{Label: p.Words, Class: class, N: p.N}
	})...)
}
