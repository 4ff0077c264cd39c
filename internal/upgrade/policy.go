package upgrade

import (
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/provider"
)

// Rule is one rule of a policy: which releases it is about, and what it says of
// them. Every rule that is about a release applies; of several that set the same
// property the last one counts.
//
// A policy holds newer releases back and does nothing else. It never moves a
// version down, and it never leaves a required provider without a version.
type Rule struct {
	// Providers, Scope, Updates and Versions say what the rule is about. What is
	// empty limits nothing.
	Providers []provider.Pattern
	// Scope reports whether the rule is about a provider of a root module.
	Scope func(dir string, addr provider.Addr) bool
	// Updates are the kinds of update, seen from the locked version. A change
	// behind the numbers, as between two prereleases, counts as a patch. Where no
	// locked version can stay there is no update, and the rule is about nothing.
	Updates []provider.Bump
	// Versions is the range of releases: those that meet each of its terms.
	Versions *provider.Constraints

	// Ignore holds every release back, and HoldUntil does so until that time.
	// Both keep a locked version: a provider that has none gets one.
	Ignore    *bool
	HoldUntil time.Time
	// Allow holds back the releases outside its range and Except those within.
	Allow, Except *provider.Constraints
	// MinimumAge holds a release back until it has been published for so long.
	MinimumAge *time.Duration
	// UnknownAge says whether MinimumAge holds a release whose date cannot be
	// had; empty: AllowUnknownAge.
	UnknownAge UnknownAge
	// Platforms are those that the entry must cover, in place of those of the
	// run, unless the run demands its own. They depend on no release, so that
	// Updates and Versions do not matter. Empty: not said.
	Platforms []provider.Platform
	// Place is where the rule stands, for people.
	Place string
}

// UnknownAge says what becomes of a release that must have some age and of which
// nobody knows when it was published.
type UnknownAge string

// The choices.
const (
	AllowUnknownAge UnknownAge = "allow"
	HoldUnknownAge  UnknownAge = "hold"
)

// rules are those about a provider of a root module, in their order.
func (o Options) rules(dir string, addr provider.Addr) []Rule {
	var found []Rule
	for _, r := range o.Rules {
		if selected(r.Providers, addr) && (r.Scope == nil || r.Scope(dir, addr)) {
			found = append(found, r)
		}
	}
	return found
}

// policy is what the rules about one provider of one root module say.
type policy struct {
	rules []Rule
	// locked is the version that can stay; zero if there is none.
	locked provider.Version
	now    time.Time
}

// judge says what holds a release back: nothing if the reason is empty. The
// version that is locked already is never held.
func (p policy) judge(r provider.Release) Held {
	ignore := p.last(r, func(r Rule) bool { return r.Ignore != nil })
	allow := p.last(r, func(r Rule) bool { return r.Allow != nil })
	except := p.last(r, func(r Rule) bool { return r.Except != nil })
	hold := p.last(r, func(r Rule) bool { return !r.HoldUntil.IsZero() })
	h := Held{Version: r.Version, Published: r.Published}
	switch stays := !p.locked.IsZero(); {
	case r.Version == p.locked:
		return Held{}
	case stays && ignore != nil && *ignore.Ignore:
		h.Reason, h.Rule = HeldByRule, ignore.Place
	case allow != nil && !within(*allow.Allow, r.Version):
		h.Reason, h.Rule = HeldByRule, allow.Place
	case except != nil && within(*except.Except, r.Version):
		h.Reason, h.Rule = HeldByRule, except.Place
	case stays && hold != nil && p.now.Before(hold.HoldUntil):
		h.Reason, h.Rule, h.Eligible = HeldByHold, hold.Place, hold.HoldUntil
	default:
		aging := p.aging(r)
		if aging == nil || r.Published.IsZero() && !p.holdsUnknown(r) {
			return Held{}
		}
		h.Reason, h.Rule = HeldByAge, aging.Place
		if r.Published.IsZero() {
			return h
		}
		if h.Eligible = r.Published.Add(*aging.MinimumAge); !p.now.Before(h.Eligible) {
			return Held{}
		}
	}
	return h
}

// aging is the rule that demands an age of a release; nil if there is none.
func (p policy) aging(r provider.Release) *Rule {
	rule := p.last(r, func(r Rule) bool { return r.MinimumAge != nil })
	if rule == nil || *rule.MinimumAge <= 0 {
		return nil
	}
	return rule
}

func (p policy) holdsUnknown(r provider.Release) bool {
	rule := p.last(r, func(r Rule) bool { return r.UnknownAge != "" })
	return rule != nil && rule.UnknownAge == HoldUnknownAge
}

// mostUndated is how many releases of a provider are asked about in vain. Where
// no dates can be had at all, the others need not be asked.
const mostUndated = 10

// last is the last rule about a release that sets a property; nil if none does.
func (p policy) last(r provider.Release, sets func(Rule) bool) *Rule {
	bump := provider.BumpBetween(p.locked, r.Version)
	if bump == provider.BumpPrerelease {
		bump = provider.BumpPatch // rules have three words
	}
	for _, rule := range slices.Backward(p.rules) {
		update := len(rule.Updates) == 0 || !p.locked.IsZero() && slices.Contains(rule.Updates, bump)
		if update && sets(rule) && (rule.Versions == nil || within(*rule.Versions, r.Version)) {
			return &rule
		}
	}
	return nil
}

// within reports whether a version meets every term. Unlike a selection by
// constraints it takes prereleases as they are: whether one may be selected at
// all, the configuration has decided.
func within(c provider.Constraints, v provider.Version) bool {
	return !slices.ContainsFunc(c.Terms(), func(t provider.Term) bool { return !t.Meets(v) })
}
