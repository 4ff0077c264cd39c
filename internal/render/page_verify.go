package render

import (
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verify"
)

// pageVerified is the result of a verification, as the page shows it.
type pageVerified struct {
	Verdicts  outline.Chart
	Totals    []string
	Findings  []pageFinding
	Accepted  []pageAccepted
	Unchecked []pageCause
}

// pageFinding is a row of the table of findings. Rank 0 is the most severe.
type pageFinding struct {
	Rank                         int
	Severity, Class              string
	Code, Dir, Place, Text, Hint safe.Markdown
}

// pageAccepted is a finding that a baseline accepts, and why.
type pageAccepted struct {
	pageFinding
	Reason, By safe.Markdown
	Until      string
}

// pageVerifiedOf is nil if nothing was verified.
func pageVerifiedOf(r report.Report, d outline.Vocabulary) *pageVerified {
	v := outline.JudgedIn(r)
	if len(v.Modules) == 0 {
		return nil
	}
	p := &pageVerified{Verdicts: verdictsOf(r.Counts()), Totals: outline.SeverityCounts(r)}
	for _, f := range v.Findings {
		p.Findings = append(p.Findings, pageFindingOf(f.Finding, r.Modules[f.Module], d))
	}
	for _, of := range v.Accepted {
		a := of.Acceptance
		p.Accepted = append(p.Accepted, pageAccepted{pageFindingOf(a.Problem, r.Modules[of.Module], d), safe.Text(a.Reason), safe.Text(a.By), provider.Day(a.Until).String()})
	}
	for _, u := range v.Unchecked {
		dirs := collect.Mapped(u.Modules, func(i int) string { return r.Modules[i].Dir })
		p.Unchecked = append(p.Unchecked, pageCause{Text: safe.Text(u.What), Dirs: dirs})
	}
	return p
}

var severityClass = map[problem.Severity]string{problem.SeverityError: "bad", problem.SeverityWarning: "minor", problem.SeverityNote: "none"}

func pageFindingOf(f problem.Problem, m report.Module, d outline.Vocabulary) pageFinding {
	return pageFinding{
		Rank: int(f.Severity), Severity: f.Severity.String(), Class: severityClass[f.Severity],
		Code: safe.Code(string(f.Code)), Dir: safe.Code(m.Dir), Place: d.Of(m).At(f.Place), Text: safe.Text(f.Message), Hint: safe.Text(f.Hint),
	}
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
