package render

import (
	"cmp"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verify"
)

// verifiedSections list the findings, the accepted findings, and what was not checked.
// They are empty if nothing was verified.
func verifiedSections(r report.Report) markup {
	v := outline.JudgedIn(r)
	if len(v.Modules) == 0 {
		return ""
	}
	totals := cmp.Or(outline.SeverityCounts(r), safe.Const("none"))
	return pageSection("findings", "Findings", `<p>`+prose(totals)+`</p>`+findingsTable(v.Findings)+"\n") + acceptedSection(v.Accepted) +
		onlyIf(len(v.Unchecked) > 0, pageSection("unchecked", "Not checked", causeList(markupOf(v.Unchecked, func(u outline.UncheckedIn) markup {
			return causeItem(safe.Text(u.What), "", u.Dirs, nil)
		}))))
}

var severityClass = map[problem.Severity]markup{problem.SeverityError: "bad", problem.SeverityWarning: "minor", problem.SeverityNote: "none"}

// findingsTable has the findings, the most severe first; empty if there are none.
func findingsTable(all []outline.FoundRow) markup {
	return onlyIf(len(all) > 0, table("Findings", "sorts findings", []markup{"Severity", "Code", "Root module", "Place", "What", "Next"},
		collect.Mapped(all, func(f outline.FoundRow) []markup {
			severity := `<td class="` + severityClass[f.Severity] + `" data-n="` + numeral(int(f.Severity)) + `">` + escaped(f.Severity.String()) + `</td>`
			return []markup{severity, td(prose(f.Code)), td(prose(f.Dir)), td(prose(f.Place)), td(prose(f.What)), td(prose(f.Next))}
		})))
}

// acceptedSection has the findings that a baseline accepts, and why.
func acceptedSection(all []outline.FoundRow) markup {
	return onlyIf(len(all) > 0, pageSection("accepted", "Accepted",
		table("Accepted", "sorts findings", []markup{"Code", "Root module", "Place", "What", "Reason", "By", "Until"},
			collect.Mapped(all, func(a outline.FoundRow) []markup {
				return []markup{td(prose(a.Code)), td(prose(a.Dir)), td(prose(a.Place)), td(prose(a.What)), td(prose(a.Reason)), td(prose(a.By)), td(prose(a.Until))}
			}))))
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
