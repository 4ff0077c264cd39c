package policy

import (
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// AboutModules are the rules about one module package of a root module. Without Applied.From
// they judge changes of versions and commits.
type AboutModules struct{ applied Applied }

// MatchesModule reports whether a pattern names a module package. An asterisk is any text.
func MatchesModule(pattern, address string) bool {
	parts := strings.Split(pattern, "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	matched, err := regexp.MatchString("^"+strings.Join(parts, ".*")+"$", address)
	return err == nil && matched
}

// IsModule reports whether people mean a module package by a pattern, and no provider: it has
// a scheme, or more parts than a provider has.
func IsModule(pattern string) bool {
	return patternForm.MatchString(pattern) && (strings.Contains(pattern, "::") || strings.Count(pattern, "/") > 2)
}

// MatchesAny reports whether one of the patterns names a module package.
func MatchesAny(patterns []string, address string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return MatchesModule(p, address) })
}

// Moving reports whether a tag or a version of the package is followed where it moves.
func (m AboutModules) Moving() bool {
	for _, r := range slices.Backward(m.applied.Rules) {
		if r.Moving != nil {
			return *r.Moving
		}
	}
	return false
}

// Judge returns the hold of a change from one version or ref of the package to another. A
// change of a commit alone has no versions, and counts as BumpCommit.
func (m AboutModules) Judge(from, to string) Hold {
	old, wasVersion := provider.ParseVersion(from)
	now, isVersion := provider.ParseVersion(to)
	if wasVersion == nil && isVersion == nil && from != to {
		a := m.applied
		a.From = old
		return a.Judge(provider.Release{Version: now})
	}
	last := func(sets func(Rule) bool) Rule {
		for _, r := range slices.Backward(m.applied.Rules) {
			if r.Versions == nil && r.isFor(provider.BumpCommit) && sets(r) {
				return r
			}
		}
		return Rule{}
	}
	ignore := last(func(r Rule) bool { return r.Ignore != nil })
	hold := last(func(r Rule) bool { return !r.HoldUntil.IsZero() })
	switch {
	case ignore.Ignore != nil && *ignore.Ignore:
		return Hold{Reason: HeldByRule, Rule: ignore.Origin()}
	case m.applied.Now.Before(hold.HoldUntil):
		return Hold{Reason: HeldByHold, Rule: hold.Origin(), Eligible: hold.HoldUntil}
	}
	return Hold{}
}
