package policy

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
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
		if _, err := ParseDay(words[n-1]); err != nil {
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
		return i, errors.New("the provider must be followed by major, minor, patch or a version constraint like >= 6.0, < 6.1")
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

// Rule returns the rule that the ignore is in the group under whose pull request it was
// said. The error is a *problem.Error.
func (i Ignore) Rule(group string) (Rule, error) {
	yes := true
	r := Rule{Group: group, Ignore: &yes, By: i.By}
	pattern, err := provider.ParsePattern(i.Provider)
	if err != nil || !patternForm.MatchString(i.Provider) {
		return Rule{}, badIgnore("the pattern of providers is not like hashicorp/aws or hashicorp/*")
	}
	r.Where.Providers = []provider.Pattern{pattern}
	if update := i.Update(); update != provider.BumpNone {
		r.Updates = []provider.Bump{update}
	} else if i.What != "" {
		versions, err := provider.ParseConstraints(i.What)
		if err != nil || len(i.What) > longestWhat {
			return Rule{}, badIgnore("the ignored versions must be major, minor, patch or version constraints like >= 6.0.0")
		}
		r.Versions = &versions
	}
	if i.Until != "" {
		r.Until, err = ParseDay(i.Until)
		if err != nil {
			return Rule{}, badIgnore("the end is not a day like 2027-01-31")
		}
	}
	if _, err := ParseDay(i.When); err != nil || !loginForm.MatchString(i.By) {
		return Rule{}, badIgnore("the person or the day is missing")
	}
	return r, nil
}

// Check returns what is wrong with an ignore, as a *problem.Error.
func (i Ignore) Check() error {
	_, err := i.Rule("")
	return err
}

// OfComments are the rules that comments have made, by the keys of the groups under whose
// pull requests they stand. What is none is left out.
func OfComments(ignored map[string][]Ignore) []Rule {
	var rules []Rule
	for _, group := range slices.Sorted(maps.Keys(ignored)) {
		for _, i := range ignored[group] {
			if r, err := i.Rule(group); err == nil {
				rules = append(rules, r)
			}
		}
	}
	return rules
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

// Markdown says what somebody ignored on a day: a provider, what of it and until when.
func (i Ignore) Markdown() safe.Markdown {
	text := safe.Code(i.Provider)
	if i.What != "" {
		text = text.And(" %s", safe.Code(i.What))
	}
	if i.Until != "" {
		text = text.And(" until %s", safe.Text(i.Until))
	}
	return text.And(", by %s on %s", safe.Code(i.By), safe.Text(i.When))
}

func badIgnore(message string) error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeSettings, Message: message}}
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
