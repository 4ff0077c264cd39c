package run

import (
	"slices"

	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/policy"
)

// moduleRules are the rules of a run about locked modules.
type moduleRules struct {
	rulebook policy.Rulebook
	accepted []string // patterns of modules that may move, by a person's word
}

// Follows reports whether a person or a rule accepts what a tag or a version names now.
func (r moduleRules) Follows(dir string, k modulelock.Key) bool {
	return slices.ContainsFunc(r.accepted, func(p string) bool { return policy.MatchesModule(p, k.Address) }) ||
		r.rulebook.AboutModule(dir, k.Address).Moving()
}

// Holds returns the rule that holds a version or a commit.
func (r moduleRules) Holds(dir, address, from, to string) string {
	hold := r.rulebook.AboutModule(dir, address).Judge(from, to)
	if hold.Reason == "" {
		return ""
	}
	return "the rule at " + hold.Rule
}
