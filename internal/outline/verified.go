package outline

import (
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
)

// Judged is the result of a verification of all lock files.
type Judged struct {
	// Findings are the findings that people see, the worst first.
	Findings []FindingOf
	// Accepted are the findings that a baseline accepts.
	Accepted []AcceptedOf
	// Unchecked lists what could not be judged. It has the same text of several
	// root modules once.
	Unchecked []UncheckedIn
	// Modules are the root modules that were verified, by index.
	Modules []int
}

// FindingOf is a finding, and the index of its root module.
type FindingOf struct {
	Module  int
	Finding problem.Problem
}

// AcceptedOf is a finding that a baseline accepts, and the index of its root module.
type AcceptedOf struct {
	Module     int
	Acceptance ledger.Acceptance
}

// UncheckedIn is a text about what could not be judged, and its root modules, by
// index.
type UncheckedIn struct {
	What    string
	Modules []int
}

// JudgedIn collects the results of all root modules.
func JudgedIn(r report.Report) Judged {
	var v Judged
	var what collect.Set[string]
	unchecked := map[string][]int{}
	findings := Briefs(r)
	for i, m := range r.Modules {
		for _, f := range findings[i] {
			v.Findings = append(v.Findings, FindingOf{i, f})
		}
		for _, a := range m.Accepted {
			v.Accepted = append(v.Accepted, AcceptedOf{i, a})
		}
		if m.Verified == nil {
			continue
		}
		v.Modules = append(v.Modules, i)
		for _, text := range m.Verified.Unchecked {
			what.Add(text)
			unchecked[text] = append(unchecked[text], i)
		}
	}
	slices.SortStableFunc(v.Findings, func(a, b FindingOf) int { return int(a.Finding.Severity) - int(b.Finding.Severity) })
	for _, text := range what.List {
		v.Unchecked = append(v.Unchecked, UncheckedIn{text, unchecked[text]})
	}
	return v
}
