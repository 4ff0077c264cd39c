package render

import (
	"slices"

	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verify"
)

// pageVerified is what a verification found, as the page shows it.
type pageVerified struct {
	Verdicts  outline.Chart
	Totals    []string
	Findings  []pageFinding
	Accepted  []pageAccepted
	Unchecked []pageCause
}

// pageFinding is a row of the table of findings. The most severe has the rank 0.
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

// pageVerifiedOf is nil where nothing was verified.
func pageVerifiedOf(r report.Report, d outline.Vocabulary) *pageVerified {
	p := &pageVerified{Verdicts: verdictsOf(r.Counts()), Totals: outline.SeverityCounts(r)}
	verified, unchecked := false, map[string]*collect.Set[string]{}
	var reasons collect.Set[string]
	for _, m := range r.Modules {
		if m.Verified == nil {
			continue
		}
		verified = true
		p.Findings = append(p.Findings, collect.Mapped(outline.Brief(m.Findings), func(f problem.Problem) pageFinding { return pageFindingOf(f, m.Dir, d.Of(m)) })...)
		for _, a := range m.Verified.Accepted {
			p.Accepted = append(p.Accepted, pageAccepted{pageFindingOf(a.Problem, m.Dir, d.Of(m)), safe.Text(a.Reason), safe.Text(a.By), provider.Day(a.Until).String()})
		}
		for _, what := range m.Verified.Unchecked {
			if reasons.Add(what); unchecked[what] == nil {
				unchecked[what] = &collect.Set[string]{}
			}
			unchecked[what].Add(m.Dir)
		}
	}
	if !verified {
		return nil
	}
	slices.SortStableFunc(p.Findings, func(a, b pageFinding) int { return a.Rank - b.Rank })
	p.Unchecked = collect.Mapped(reasons.List, func(what string) pageCause { return pageCause{Text: safe.Text(what), Dirs: unchecked[what].List} })
	return p
}

// withoutVerified is the report without the findings that have a table of their own.
func withoutVerified(r report.Report) report.Report {
	r.Modules = collect.Mapped(r.Modules, func(m report.Module) report.Module {
		if m.Verified != nil {
			m.Findings = nil
		}
		return m
	})
	return r
}

var severityClass = map[problem.Severity]string{problem.SeverityError: "bad", problem.SeverityWarning: "minor", problem.SeverityNote: "none"}

func pageFindingOf(f problem.Problem, dir string, d outline.Vocabulary) pageFinding {
	return pageFinding{
		Rank: int(f.Severity), Severity: f.Severity.String(), Class: severityClass[f.Severity],
		Code: safe.Code(string(f.Code)), Dir: safe.Code(dir), Place: d.At(f.Place), Text: safe.Text(f.Message), Hint: safe.Text(f.Hint),
	}
}

// verdictClass colours a verdict by what the hash is worth.
var verdictClass = map[verify.Verdict]string{
	verify.ByList: "good", verify.ByPackage: "good", verify.ByCache: "patch", verify.Disproven: "bad", verify.Unproven: "major",
}

// verdictsOf charts how many hashes have which verdict.
func verdictsOf(counts verify.Counts) outline.Chart {
	return outline.Charted(collect.Mapped(counts.Parts(), func(p verify.Part) outline.ChartPart {
		class := verdictClass[p.Verdict]
		if class == "" {
			class = "minor"
		}
		return outline.ChartPart{Label: p.Words, Class: class, N: p.N}
	})...)
}
