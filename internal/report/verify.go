package report

import (
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/verify"
)

// Verified is what a verification found of a lock file in addition to its findings.
type Verified struct {
	// Counts say how many of its hashes have which verdict.
	Counts verify.Counts
	// Unchecked says what could not be judged at all, and why.
	Unchecked []string
}

// FromVerification makes the report of a root module that was verified.
func FromVerification(v verify.Verification) Module {
	m := v.Module
	return Module{
		Dir: m.Dir, LockPath: lockPath(m), Tool: m.Tool, Assumed: m.Assumed, Unread: m.Tree.Unread, Diagnostics: m.Tree.Diagnostics,
		Findings: v.Findings, Accepted: v.Accepted, Verified: &Verified{Counts: v.Counts, Unchecked: v.Unchecked},
	}
}

// Tampered reports that a pull request changes a file that it is judged by. head names
// what the file is there: anyone who accepts that has looked at no other.
func Tampered(name, what, head string) Module {
	meaning, _ := problem.MeaningOf(problem.CodeTamperedBoth)
	return Module{Dir: ".", Verified: &Verified{Counts: verify.Counts{}}, Findings: []problem.Problem{{
		Code: problem.CodeTamperedBoth, Severity: meaning.Severity, Place: problem.Place{Path: name, Line: 1}, Hint: meaning.Help, About: head,
		Message: "this pull request changes the " + what + ", and is judged by the base's",
	}}}
}
