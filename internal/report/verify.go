package report

import (
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/verify"
)

// Verified is the result of a verification without its findings.
type Verified struct {
	// Counts count the hashes by verdict.
	Counts verify.Counts `json:"counts"`
	// Unchecked says what could not be judged at all, and why.
	Unchecked []string `json:"unchecked"`
}

// FromVerification makes the report of a root module that was verified.
func FromVerification(v verify.Verification) Module {
	m := moduleOf(v.Module)
	m.Findings, m.Accepted, m.Verified = v.Findings, v.Accepted, &Verified{Counts: v.Counts, Unchecked: v.Unchecked}
	return m
}

// Tampered reports a pull request that changes a file that relock judges it by.
// head is the name of the pull request's version of the file: to accept it means
// to have looked at that version.
func Tampered(name, what, head string) Module {
	meaning, _ := problem.MeaningOf(problem.CodeTamperedBoth)
	return Module{Dir: ".", Verified: &Verified{Counts: verify.Counts{}}, Findings: []problem.Problem{{
		Code: problem.CodeTamperedBoth, Severity: meaning.Severity, Place: problem.Place{Path: name, Line: 1}, Hint: meaning.Help, About: head,
		Message: "this pull request changes the " + what + ", and is judged by the base's",
	}}}
}
