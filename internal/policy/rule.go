// Package policy says which releases of a provider may be taken, and which changes share
// a pull request. It reads a rule, says what it is about, judges releases by it, and writes
// what a person may copy into the configuration file.
//
// A Rule comes from the configuration file, or from a comment under a pull request, where
// an Ignore keeps it. A Rulebook holds all rules and groups of a repository. About applies
// them to one provider of one root module, and Judge says what holds a release back: its
// version, its date and the version that is locked are all it takes. No plan is needed, and
// no server is asked.
package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
)

// Rulebook is what a repository is maintained by.
//
// A policy holds newer releases back and does nothing else. It never moves a
// version down, and it never leaves a required provider without a version.
type Rulebook struct {
	// Rules all apply where they are about a release. Of several that set the same
	// property the last one counts.
	Rules []Rule
	// GroupBy is what happens to a change that no group takes: one pull request for
	// all, or one for each provider, directory or namespace.
	GroupBy GroupBy
	// Groups are tried in order.
	Groups []Group
	// Now is the time that dates and ages are compared with: without it every release
	// is too young.
	Now time.Time
}

// Where says what an entry of the configuration file is about. The zero value is
// everything.
type Where struct {
	Providers   []provider.Pattern // empty: all
	Directories []string           // globs; empty: everywhere
}

// Names reports whether a provider is one of those that are named.
func (w Where) Names(addr provider.Addr) bool {
	return len(w.Providers) == 0 || slices.ContainsFunc(w.Providers, func(p provider.Pattern) bool { return p.Match(addr) })
}

// In reports whether a directory is one of those that are named.
func (w Where) In(dir string) bool { return len(w.Directories) == 0 || globs.InAny(w.Directories, dir) }

// Rule is one rule: which releases it is about, and what it says of them. What is nil,
// empty or zero says nothing.
type Rule struct {
	Where Where
	// Group limits the rule to the changes of a group, by its key. Empty: it does not.
	Group string
	// Updates are the kinds of update, seen from the locked version. A change
	// behind the numbers, as between two prereleases, counts as a patch. Where no
	// locked version can stay there is no update, and the rule is about nothing.
	// Empty: all.
	Updates []provider.Bump
	// Versions is the range of releases: those that meet each of its terms.
	Versions *provider.Constraints
	// Until is the time from which on the rule does not hold any more.
	Until time.Time

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
	// Permitted says whether the provider may be locked at all. It depends on no release.
	Permitted *bool
	// Platforms are those that the entry must cover, in place of those of the
	// run, unless the run demands its own. They depend on no release, so that
	// Updates and Versions do not matter.
	Platforms []provider.Platform
	// AutoMerge says whether a pull request with such an update may merge by itself.
	AutoMerge *bool

	// Place is where the rule is in a configuration file. By is the login of the
	// person whose comment it is, if it is in none.
	Place problem.Place
	By    string
}

// Origin says where the rule comes from, for people.
func (r Rule) Origin() string {
	if r.By != "" {
		return "a comment of " + r.By
	}
	return r.Place.String()
}

// isFor reports whether the rule is for a kind of update; BumpNone is none.
func (r Rule) isFor(update provider.Bump) bool {
	return len(r.Updates) == 0 || slices.Contains(r.Updates, update)
}

// Markdown says where a rule stands, which providers it is about, and what it says.
func (r Rule) Markdown() safe.Markdown {
	var who, what []safe.Markdown
	for _, p := range r.Where.Providers {
		who = append(who, safe.Code(p.String()))
	}
	for _, u := range r.Updates {
		who = append(who, safe.Format("%s updates", safe.Text(string(u))))
	}
	if r.Ignore != nil && *r.Ignore {
		what = append(what, safe.Const("ignored"))
	} else if r.Ignore != nil {
		what = append(what, safe.Const("not ignored"))
	}
	if !r.HoldUntil.IsZero() {
		what = append(what, safe.Format("held until %s", safe.Text(r.HoldUntil.Format(time.DateOnly))))
	}
	if r.Allow != nil {
		what = append(what, safe.Format("only versions %s", safe.Code(r.Allow.String())))
	}
	if r.Except != nil {
		what = append(what, safe.Format("no versions %s", safe.Code(r.Except.String())))
	}
	if r.MinimumAge != nil {
		what = append(what, safe.Format("at least %s hours old", safe.Text(fmt.Sprintf("%g", r.MinimumAge.Hours()))))
	}
	if r.Permitted != nil && *r.Permitted {
		what = append(what, safe.Const("permitted"))
	} else if r.Permitted != nil {
		what = append(what, safe.Const("not permitted"))
	}
	for _, p := range r.Platforms {
		what = append(what, safe.Format("for %s", safe.Text(p.String())))
	}
	if len(who) == 0 {
		who = []safe.Markdown{safe.Const("every provider")}
	}
	return safe.Format("%s: %s: %s", safe.Code(r.Origin()), safe.Join(", ", who...), safe.Join(", ", what...))
}

// UnknownAge says what happens to a release that must have some age and of which
// nobody knows when it was published.
type UnknownAge string

// The choices.
const (
	AllowUnknownAge UnknownAge = "allow"
	HoldUnknownAge  UnknownAge = "hold"
)

// Updates are the kinds of update that rules tell apart, as people write them.
var Updates = []provider.Bump{provider.BumpMajor, provider.BumpMinor, provider.BumpPatch}

// ParseDay reads a day like 2027-01-31; it begins at midnight in UTC.
func ParseDay(s string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a date like 2027-01-31", s)
	}
	return day, nil
}

// ageForm bounds the number, so that every age is a time.Duration.
var ageForm = regexp.MustCompile(`^([0-9]{1,4})([hdw])$`)

// ageUnits are what the letters behind the number stand for.
var ageUnits = map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}

// ParseAge reads an age like 12h, 3d or 2w.
func ParseAge(s string) (time.Duration, error) {
	m := ageForm.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is not an age like 12h, 3d or 2w", s)
	}
	n, err := strconv.Atoi(m[1])
	return time.Duration(n) * ageUnits[m[2]], err
}
