package policy

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/problem"
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

// ModuleRules are the rules of a run about locked modules. Accepted are patterns of modules
// that may move, by a person's word.
type ModuleRules struct {
	Rulebook Rulebook
	Accepted []string
}

// Follows reports whether a person or a rule accepts what a tag or a version of a package
// names now.
func (r ModuleRules) Follows(dir, address string) bool {
	return MatchesAny(r.Accepted, address) || r.Rulebook.AboutModule(dir, address).Moving()
}

// Judge returns the hold of a change from one version or ref of the package to another, which
// was published at that time, if it is known. A change of a commit alone has no versions and
// no date, and counts as BumpCommit.
func (m AboutModules) Judge(from, to string, published time.Time) Hold {
	if a, r, ok := m.between(from, to); ok {
		r.Published = published
		return a.Judge(r)
	}
	ignore := m.last(func(r Rule) bool { return r.Ignore != nil })
	hold := m.last(func(r Rule) bool { return !r.HoldUntil.IsZero() })
	undated := m.last(func(r Rule) bool { return r.UnknownAge != "" })
	switch {
	case ignore.Ignore != nil && *ignore.Ignore:
		return Hold{Reason: HeldByRule, Rule: ignore.Origin()}
	case m.applied.Now.Before(hold.HoldUntil):
		return Hold{Reason: HeldByHold, Rule: hold.Origin(), Eligible: hold.HoldUntil}
	case undated.UnknownAge == HoldUnknownAge && m.WantsAge(from, to):
		return Hold{Reason: HeldByAge, Rule: undated.Origin()}
	}
	return Hold{}
}

// WantsAge reports whether a rule demands an age for a change.
func (m AboutModules) WantsAge(from, to string) bool {
	if a, r, ok := m.between(from, to); ok {
		return a.WantsAge(r)
	}
	aging := m.last(func(r Rule) bool { return r.MinimumAge != nil })
	return aging.MinimumAge != nil && *aging.MinimumAge > 0
}

// NeedsDate reports whether a rule demands an age of an entry of a lock file of modules, for
// Breaches.
func (m AboutModules) NeedsDate(from, to string) bool {
	a, r, ok := m.entry(from, to)
	return ok && a.NeedsDate(r)
}

// Binds reports whether any of the rules may refuse an entry.
func (m AboutModules) Binds() bool { return m.applied.Binds() }

// Forbids is the rule that forbids to lock the module; nil if none does.
func (m AboutModules) Forbids() *Rule { return m.applied.Forbids() }

// Breaches are the rules that an entry of a lock file of modules breaks, as for providers.
func (m AboutModules) Breaches(from, to string, published time.Time) []Breach {
	a, r, ok := m.entry(from, to)
	r.Published = published
	if rule := a.Forbids(); !ok && rule != nil {
		return []Breach{{Code: problem.CodeProviderRefused, Rule: *rule}}
	} else if !ok {
		return nil
	}
	return a.Breaches(r)
}

// entry is between for an entry, which stays in its version where nothing else is known.
func (m AboutModules) entry(from, to string) (Applied, provider.Release, bool) {
	if from == to {
		from = ""
	}
	return m.between(from, to)
}

// between are the rules and the release of a change of versions; false for any other change.
// Without a former version there is no update.
func (m AboutModules) between(from, to string) (Applied, provider.Release, bool) {
	old, wasVersion := provider.ParseVersion(from)
	now, isVersion := provider.ParseVersion(to)
	a := m.applied
	a.From = old
	return a, provider.Release{Version: now}, isVersion == nil && (from == "" || wasVersion == nil && from != to)
}

// last is the last rule about commits for which sets is true; zero without one.
func (m AboutModules) last(sets func(Rule) bool) Rule {
	for _, r := range slices.Backward(m.applied.Rules) {
		if r.Versions == nil && r.isFor(provider.BumpCommit) && sets(r) {
			return r
		}
	}
	return Rule{}
}
