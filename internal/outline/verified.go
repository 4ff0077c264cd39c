package outline

import (
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
)

// Judged is what a verification found in all lock files.
type Judged struct {
	// Findings are those that people are shown, the worst first.
	Findings []FindingOf
	// Accepted are those that a baseline accepts.
	Accepted []AcceptedOf
	// Unchecked says what could not be judged at all. The same of several root modules
	// is there once.
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

// UncheckedIn says what could not be judged, and in which root modules, by index.
type UncheckedIn struct {
	What    string
	Modules []int
}

// JudgedIn collects what the verification of each root module found.
func JudgedIn(r report.Report) Judged {
	var v Judged
	var what collect.Set[string]
	unchecked := map[string][]int{}
	for i, m := range r.Modules {
		for _, f := range Brief(m.Findings) {
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
