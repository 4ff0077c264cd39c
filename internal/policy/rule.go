// Package policy holds the rules of a repository: which releases may be taken, and of
// what. A rule of the configuration file and one of a comment under a pull request are
// the same Rule.
package policy

import (
	"fmt"
	"regexp"
	"strconv"
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
