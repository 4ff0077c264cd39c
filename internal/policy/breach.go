package policy

import (
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Breach is a rule that an entry of a lock file breaks. The author does not matter.
type Breach struct {
	// Code is CodeProviderRefused, CodeVersionRefused or CodeTooYoung.
	Code problem.Code
	Rule Rule
	// Eligible is when the release will be old enough; zero if unknown, or if the
	// rule is not about age.
	Eligible time.Time
}

// Breaches are the rules that a locked release breaks: at most one of each code.
// From is the entry's version before the change, for rules about kinds of update;
// zero if there was none. Ignore and HoldUntil refuse nothing: they only limit
// proposals, and a person may make such a change by hand.
//
// The age counts only if Published is known, or if the rules hold a release
// without a date. NeedsDate says whether the caller must find the date first.
func (a Applied) Breaches(r provider.Release) []Breach {
	var all []Breach
	if rule := a.Forbids(); rule != nil {
		all = append(all, Breach{Code: problem.CodeProviderRefused, Rule: *rule})
	}
	allow := a.last(r, func(r Rule) bool { return r.Allow != nil })
	except := a.last(r, func(r Rule) bool { return r.Except != nil })
	if allow != nil && !within(*allow.Allow, r.Version) {
		all = append(all, Breach{Code: problem.CodeVersionRefused, Rule: *allow})
	} else if except != nil && within(*except.Except, r.Version) {
		all = append(all, Breach{Code: problem.CodeVersionRefused, Rule: *except})
	}
	if hold := a.judgeAge(r); hold.Reason != "" {
		all = append(all, Breach{Code: problem.CodeTooYoung, Rule: *a.aging(r), Eligible: hold.Eligible})
	}
	return all
}

// NeedsDate reports whether a rule demands an age of a release without a date.
func (a Applied) NeedsDate(r provider.Release) bool {
	return r.Published.IsZero() && a.aging(r) != nil
}

// Binds reports whether any of the rules may refuse a locked release.
func (a Applied) Binds() bool {
	return slices.ContainsFunc(a.Rules, func(r Rule) bool {
		return r.Allow != nil || r.Except != nil || r.MinimumAge != nil || r.Permitted != nil
	})
}

// Forbids is the rule that forbids to lock the provider; nil if none does.
func (a Applied) Forbids() *Rule {
	var last *Rule
	for _, r := range a.Rules {
		if r.Permitted != nil {
			last = &r
		}
	}
	if last == nil || *last.Permitted {
		return nil
	}
	return last
}
