package policy

import (
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/provider"
)

// Applied are the rules about one provider of one root module, in order.
type Applied struct {
	Rules []Rule
	// From is the locked version that can stay; zero without one.
	From provider.Version
	Now  time.Time
}

// About returns the rules about a provider of a root module.
func (b Rulebook) About(dir string, addr provider.Addr) Applied {
	a := Applied{Now: b.Now}
	for _, r := range b.Rules {
		if b.holds(r, dir) && len(r.Modules) == 0 && r.Where.Names(addr) && (r.Group == "" || r.Group == b.GroupOf(dir, addr)) {
			a.Rules = append(a.Rules, r)
		}
	}
	return a
}

// AboutModule returns the rules about a module package, by its address in a lock file of
// modules. Rules about providers are none.
func (b Rulebook) AboutModule(dir, address string) AboutModules {
	a := Applied{Now: b.Now}
	for _, r := range b.Rules {
		if b.holds(r, dir) && MatchesAny(r.Modules, address) && (r.Group == "" || r.Group == b.GroupOfModule(dir, address)) {
			a.Rules = append(a.Rules, r)
		}
	}
	return AboutModules{a}
}

// holds reports whether a rule is in force now, and for a directory.
func (b Rulebook) holds(r Rule, dir string) bool {
	ended := !r.Until.IsZero() && !b.Now.Before(r.Until)
	return !ended && r.Where.In(dir)
}

// Reason says why a newer release was not locked. Package upgrade has further
// reasons.
type Reason string

// The reasons that are rules.
const (
	HeldByRule Reason = "rule" // a rule ignores it
	HeldByHold Reason = "hold" // a rule keeps the provider at its version until a day
	HeldByAge  Reason = "age"  // it is too young
)

// Hold is the reason why a release must not be taken now; zero if there is none.
type Hold struct {
	Reason Reason
	// Rule is the source of the rule, for people; it may be empty.
	Rule string
	// Eligible is the end of the hold; zero if unknown, or if the hold has no
	// end.
	Eligible time.Time
}

// Judge returns the hold of a release. The version that is locked already is
// never held.
func (a Applied) Judge(r provider.Release) Hold {
	ignore := a.last(r, func(r Rule) bool { return r.Ignore != nil })
	allow := a.last(r, func(r Rule) bool { return r.Allow != nil })
	except := a.last(r, func(r Rule) bool { return r.Except != nil })
	hold := a.last(r, func(r Rule) bool { return !r.HoldUntil.IsZero() })
	stays := !a.From.IsZero()
	switch {
	case r.Version == a.From:
		return Hold{}
	case stays && ignore != nil && *ignore.Ignore:
		return Hold{Reason: HeldByRule, Rule: ignore.Origin()}
	case allow != nil && !within(*allow.Allow, r.Version):
		return Hold{Reason: HeldByRule, Rule: allow.Origin()}
	case except != nil && within(*except.Except, r.Version):
		return Hold{Reason: HeldByRule, Rule: except.Origin()}
	case stays && hold != nil && a.Now.Before(hold.HoldUntil):
		return Hold{Reason: HeldByHold, Rule: hold.Origin(), Eligible: hold.HoldUntil}
	}
	return a.judgeAge(r)
}

// judgeAge holds back a release that is not old enough.
func (a Applied) judgeAge(r provider.Release) Hold {
	rule := a.aging(r)
	if rule == nil || r.Published.IsZero() && !a.HoldsUndated(r) {
		return Hold{}
	}
	if r.Published.IsZero() {
		return Hold{Reason: HeldByAge, Rule: rule.Origin()}
	}
	eligible := r.Published.Add(*rule.MinimumAge)
	if !a.Now.Before(eligible) {
		return Hold{}
	}
	return Hold{Reason: HeldByAge, Rule: rule.Origin(), Eligible: eligible}
}

// WantsAge reports whether a rule demands an age of a release that is not yet
// locked.
func (a Applied) WantsAge(r provider.Release) bool { return r.Version != a.From && a.aging(r) != nil }

// aging is the rule that demands an age of a release; nil without one.
func (a Applied) aging(r provider.Release) *Rule {
	rule := a.last(r, func(r Rule) bool { return r.MinimumAge != nil })
	if rule == nil || *rule.MinimumAge <= 0 {
		return nil
	}
	return rule
}

// HoldsUndated reports whether a rule demands an age and holds a release without
// a known date.
func (a Applied) HoldsUndated(r provider.Release) bool {
	rule := a.last(r, func(r Rule) bool { return r.UnknownAge != "" })
	return rule != nil && rule.UnknownAge == HoldUnknownAge
}

// last is the last rule about a release for which sets is true; nil without one.
func (a Applied) last(r provider.Release, sets func(Rule) bool) *Rule {
	update := updateBetween(a.From, r.Version)
	for _, rule := range slices.Backward(a.Rules) {
		if rule.isFor(update) && sets(rule) && (rule.Versions == nil || within(*rule.Versions, r.Version)) {
			return &rule
		}
	}
	return nil
}

// within reports whether a version meets every term. It treats prereleases like
// other versions: the configuration decides whether they may be selected.
func within(c provider.Constraints, v provider.Version) bool {
	return !slices.ContainsFunc(c.Terms(), func(t provider.Term) bool { return !t.Meets(v) })
}

// IgnoresAll reports whether the rules hold every release. The last rule with
// Ignore must ignore every release, and no later rule may undo it.
func (a Applied) IgnoresAll() bool {
	all := false
	for _, r := range a.Rules {
		everything := len(r.Updates) == 0 && r.Versions == nil
		if r.Ignore != nil && (everything || !*r.Ignore) {
			all = *r.Ignore && everything
		}
	}
	return all
}

// Platforms are those of the last rule with platforms; nil without one.
func (a Applied) Platforms() []provider.Platform {
	var named []provider.Platform
	for _, r := range a.Rules {
		if len(r.Platforms) > 0 {
			named = r.Platforms
		}
	}
	return named
}

// MayMerge reports whether a change between two versions may merge by itself. A
// change of hashes only, or of a new or removed entry, is no update: only rules
// for every kind of update apply to it.
func (a Applied) MayMerge(from, to provider.Version) bool {
	update := provider.BumpNone
	if !to.IsZero() {
		update = updateBetween(from, to)
	}
	may := true
	for _, r := range a.Rules {
		if r.AutoMerge != nil && r.isFor(update) {
			may = *r.AutoMerge
		}
	}
	return may
}

// updateBetween is the kind of an update in the words of rules. A change after
// the numbers, as between two prereleases, counts as a patch. Without a former
// version there is no update.
func updateBetween(from, to provider.Version) provider.Bump {
	if from.IsZero() {
		return provider.BumpNone
	}
	update := provider.BumpBetween(from, to)
	if update == provider.BumpPrerelease {
		return provider.BumpPatch
	}
	return update
}
