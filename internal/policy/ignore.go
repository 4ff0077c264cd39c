package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Ignore is what a person said in a comment under a pull request: that some versions are
// not wanted in its group. Its JSON is what the body of the pull request hides, where
// anybody may change it: Check says whether it holds.
type Ignore struct {
	// Provider is a pattern, as provider.ParsePattern reads it.
	Provider string `json:"provider"`
	// What is "major", "minor" or "patch", or constraints whose versions are
	// not wanted; empty: every version.
	What string `json:"what,omitempty"`
	// Until is the first day on which it no longer holds, 2006-01-02; empty: for
	// good.
	Until string `json:"until,omitempty"`
	// By is the login of who said it, and When the day.
	By   string `json:"by"`
	When string `json:"when"`
}

// ParseIgnore reads what follows the pattern of a provider in a comment:
// [major|minor|patch|CONSTRAINT] [until YYYY-MM-DD]. A constraint may have several
// words. Its errors are for the person who wrote them.
func ParseIgnore(pattern string, words []string) (Ignore, error) {
	i := Ignore{Provider: pattern}
	if n := len(words); n >= 2 && words[n-2] == "until" {
		if !isDay(words[n-1]) {
			return i, errors.New("the date is not one like 2027-01-31")
		}
		i.Until, words = words[n-1], words[:n-2]
	}
	i.What = strings.Join(words, " ")
	if i.What == "" || i.Update() != provider.BumpNone {
		return i, nil
	}
	constraints, err := provider.ParseConstraints(i.What)
	if err != nil {
		return i, errors.New("what follows the provider is neither major, minor, patch nor a version constraint like >= 6.0, < 6.1")
	}
	i.What = constraints.String()
	return i, nil
}

// Update is the kind of update that is ignored; BumpNone if it is no kind.
func (i Ignore) Update() provider.Bump {
	if bump := provider.Bump(i.What); slices.Contains(Updates, bump) {
		return bump
	}
	return provider.BumpNone
}

// The forms of an ignore's words, which are printed as they are.
var (
	patternForm = regexp.MustCompile(`^[A-Za-z0-9*?._:/-]{1,200}$`)
	loginForm   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}(\[bot\])?$`)
)

// longestWhat bounds constraints, in bytes.
const longestWhat = 200

// Check returns what is wrong with an ignore, as a *problem.Error.
func (i Ignore) Check() error {
	switch {
	case !patternForm.MatchString(i.Provider) || !parses(provider.ParsePattern, i.Provider):
		return badIgnore("the pattern of providers is not like hashicorp/aws or hashicorp/*")
	case i.What != "" && i.Update() == provider.BumpNone && (len(i.What) > longestWhat || !parses(provider.ParseConstraints, i.What)):
		return badIgnore("what is ignored is neither major, minor or patch nor version constraints like >= 6.0.0")
	case i.Until != "" && !isDay(i.Until):
		return badIgnore("the end is not a day like 2027-01-31")
	case !loginForm.MatchString(i.By) || !isDay(i.When):
		return badIgnore("nobody or no day is given")
	}
	return nil
}

// Entry returns the ignore as an entry of rules in the configuration file, with the lines
// that YAML wants, so that a person can move it there.
func (i Ignore) Entry() string {
	lines := []string{fmt.Sprintf("  - providers: [%q] # %s, %s", i.Provider, i.By, i.When)}
	ends := ""
	if i.Until != "" {
		ends = " # until " + i.Until
	}
	switch update := i.Update(); {
	case update != provider.BumpNone:
		lines = append(lines, "    update-types: ["+string(update)+"]")
	case i.What != "":
		return strings.Join(append(lines, fmt.Sprintf("    ignore-versions: %q", i.What)+ends), "\n")
	}
	if i.Until != "" {
		return strings.Join(append(lines, "    hold-until: "+i.Until), "\n")
	}
	return strings.Join(append(lines, "    ignore: true"), "\n")
}

// Over reports whether an ignore has ended.
func (i Ignore) Over(now time.Time) bool {
	until, err := time.Parse(time.DateOnly, i.Until)
	return i.Until != "" && (err != nil || !now.Before(until))
}

func badIgnore(message string) error {
	return &problem.Error{Code: problem.CodeSettings, Message: message}
}

func isDay(s string) bool { return parses(ParseDay, s) }

func parses[T any](parse func(string) (T, error), s string) bool {
	_, err := parse(s)
	return err == nil
}

// With returns the ignores with one more, in place of one that says the same of the same
// providers.
func With(now []Ignore, added Ignore) []Ignore {
	others := slices.DeleteFunc(slices.Clone(now), func(i Ignore) bool {
		return i.Provider == added.Provider && i.What == added.What
	})
	return append(others, added)
}

// Without returns the ignores but those of a pattern of providers.
func Without(now []Ignore, pattern string) []Ignore {
	return slices.DeleteFunc(slices.Clone(now), func(i Ignore) bool { return i.Provider == pattern })
}
