// Package policy decides which releases of a provider may be taken, and which
// changes share a pull request. It reads rules, applies them to releases, and
// writes entries that a person may copy into the configuration file.
//
// A Rule comes from the configuration file, or from a comment under a pull
// request, where an Ignore keeps it. A Rulebook holds all rules and groups of a
// repository. About selects the rules for one provider of one root module. Judge
// says what holds a release. It needs only the release's version and date, and
// the locked version: no plan and no server.
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

// Rulebook has the rules and groups of a repository.
//
// A policy only holds newer releases. It never moves a version down, and never
// leaves a required provider without a version.
type Rulebook struct {
	// Rules all apply to the releases that they match. If several set the same
	// property, the last one counts.
	Rules []Rule `key:"rules"`
	// GroupBy is for changes without a group: one pull request for all, or one
	// for each provider, directory or namespace.
	GroupBy GroupBy `key:"group-by" flag:"group-by" input:"group-by"`
	// Groups are tried in order.
	Groups []Group `key:"groups"`
	// Now is the time for comparisons with dates and ages. If it is zero, every
	// release is too young.
	Now time.Time
}

// Where selects providers and directories for an entry of the configuration file.
// The zero value selects everything.
type Where struct {
	Providers   []provider.Pattern `key:"providers"`   // empty: all
	Directories []string           `key:"directories"` // globs; empty: everywhere
}

// Names reports whether a provider is selected.
func (w Where) Names(addr provider.Addr) bool {
	return len(w.Providers) == 0 || slices.ContainsFunc(w.Providers, func(p provider.Pattern) bool { return p.Match(addr) })
}

// In reports whether a directory is selected.
func (w Where) In(dir string) bool { return len(w.Directories) == 0 || globs.InAny(w.Directories, dir) }

// Rule is one rule: the releases that it matches, and its properties. A property
// that is nil, empty or zero is not set.
type Rule struct {
	Where Where
	// Modules are patterns of module packages. A rule that has some is about these alone, and
	// a rule that has none is about providers alone.
	Modules []string `key:"modules"`
	// Moving says whether tags and versions of modules are followed where they move.
	Moving *bool `key:"moving"`
	// Group limits the rule to the changes of a group, by its key; empty means
	// all groups.
	Group string
	// Updates are the kinds of update from the locked version; empty means all. A
	// change after the numbers, as between two prereleases, counts as a patch.
	// Without a locked version that can stay there is no update, and a rule with
	// Updates matches nothing.
	Updates []provider.Bump `key:"update-types"`
	// Versions is the range of releases that meet all its terms.
	Versions *provider.Constraints
	// Until is the end of the rule.
	Until time.Time

	// Ignore holds every release; HoldUntil holds them until that time. Both keep
	// a locked version. A provider without one still gets a version.
	Ignore    *bool     `key:"ignore"`
	HoldUntil time.Time `key:"hold-until"`
	// Allow holds the releases outside its range, and Except those within.
	Allow  *provider.Constraints `key:"allow-versions"`
	Except *provider.Constraints `key:"ignore-versions"`
	// MinimumAge holds a release until it has been published for so long.
	MinimumAge *time.Duration `key:"minimum-age"`
	// UnknownAge says whether MinimumAge holds a release without a known date;
	// empty means AllowUnknownAge.
	UnknownAge UnknownAge `key:"age-unknown"`
	// Permitted says whether the provider may be locked. It does not depend on a
	// release.
	Permitted *bool `key:"permitted"`
	// Platforms are the platforms that the entry must cover. They replace those
	// of the run, unless the run demands its own. They do not depend on a
	// release, so Updates and Versions do not matter.
	Platforms []provider.Platform `key:"platforms"`
	// AutoMerge says whether a pull request with such an update may merge by
	// itself.
	AutoMerge *bool `key:"auto-merge"`

	// Place is the rule's place in a configuration file. By is the login of the
	// comment's author, if it is from a comment.
	Place problem.Place
	By    string
}

// Origin is the source of the rule, for people.
func (r Rule) Origin() string {
	if r.By != "" {
		return "a comment of " + r.By
	}
	return r.Place.String()
}

// isFor reports whether the rule matches a kind of update; BumpNone is no update.
func (r Rule) isFor(update provider.Bump) bool {
	return len(r.Updates) == 0 || slices.Contains(r.Updates, update)
}

// Markdown describes a rule: its place, its providers and its properties.
func (r Rule) Markdown() safe.Markdown {
	var who, what []safe.Markdown
	for _, p := range r.Where.Providers {
		who = append(who, safe.Code(p.String()))
	}
	for _, m := range r.Modules {
		who = append(who, safe.Code(m))
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
	if r.Moving != nil && *r.Moving {
		what = append(what, safe.Const("followed where it moves"))
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

// UnknownAge is the treatment of a release without a known date if a rule demands
// an age.
type UnknownAge string

// The choices.
const (
	AllowUnknownAge UnknownAge = "allow"
	HoldUnknownAge  UnknownAge = "hold"
)

// Updates are the kinds of update in rules, as people write them.
var Updates = []provider.Bump{provider.BumpMajor, provider.BumpMinor, provider.BumpPatch}

// ParseDay reads a day like 2027-01-31; it begins at midnight in UTC.
func ParseDay(s string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a date like 2027-01-31", s)
	}
	return day, nil
}

// ageForm limits the number, so that every age fits a time.Duration.
var ageForm = regexp.MustCompile(`^([0-9]{1,4})([hdw])$`)

// ageUnits are the meanings of the letters after the number.
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
