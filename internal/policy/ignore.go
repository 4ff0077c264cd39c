package policy

import (
	"cmp"
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

// Ignore is a person's command in a comment under a pull request: its group must
// not get some versions. Its JSON is hidden in the pull request's body, where
// anybody may change it; Check says whether it is valid.
type Ignore struct {
	// Provider is a pattern for provider.ParsePattern. If Module is set, it is empty.
	Provider string `json:"provider,omitempty"`
	// Module is a pattern of module packages, for MatchesModule.
	Module string `json:"module,omitempty"`
	// What is "major", "minor", "patch" or, of a module, "commit", or constraints for the
	// unwanted versions; empty means every version.
	What string `json:"what,omitempty"`
	// Until is the first day on which it no longer holds, 2006-01-02; empty means
	// for ever.
	Until string `json:"until,omitempty"`
	// By is the login of its author, and When the day.
	By   string `json:"by"`
	When string `json:"when"`
}

// ParseIgnore reads the rest of a comment after the pattern:
// [major|minor|patch|CONSTRAINT] [until YYYY-MM-DD]. A constraint may have
// several words. Its errors are for the author.
func ParseIgnore(pattern string, words []string) (Ignore, error) {
	i := Ignore{Provider: pattern}
	if IsModule(pattern) {
		i = Ignore{Module: pattern}
	}
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
		name, words := "provider", "major, minor, patch"
		if i.Module != "" {
			name, words = "module", words+", commit"
		}
		return i, fmt.Errorf("the %s must be followed by %s or a version constraint like >= 6.0, < 6.1", name, words)
	}
	i.What = constraints.String()
	return i, nil
}

// Update is the ignored kind of update; BumpNone if What is not a kind.
func (i Ignore) Update() provider.Bump {
	if bump := provider.Bump(i.What); slices.Contains(Updates, bump) || i.Module != "" && bump == provider.BumpCommit {
		return bump
	}
	return provider.BumpNone
}

// The forms of an ignore's words, which are printed unchanged.
var (
	patternForm = regexp.MustCompile(`^[A-Za-z0-9*?._:/-]{1,200}$`)
	loginForm   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}(\[bot\])?$`)
)

// longestWhat bounds constraints, in bytes.
const longestWhat = 200

// Rule returns the rule of the ignore for the group of its pull request. The
// error is a *problem.Error.
func (i Ignore) Rule(group string) (Rule, error) {
	yes := true
	r := Rule{Group: group, Ignore: &yes, By: i.By}
	pattern, err := provider.ParsePattern(i.Provider)
	switch {
	case i.Module != "" && (i.Provider != "" || !IsModule(i.Module)):
		return Rule{}, badIgnore("the pattern of modules is not like git::https://example.com/*")
	case i.Module != "":
		r.Modules = []string{i.Module}
	case err != nil || !patternForm.MatchString(i.Provider):
		return Rule{}, badIgnore("the pattern of providers is not like hashicorp/aws or hashicorp/*")
	default:
		r.Where.Providers = []provider.Pattern{pattern}
	}
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

// Check returns the error of an invalid ignore, as a *problem.Error.
func (i Ignore) Check() error {
	_, err := i.Rule("")
	return err
}

// OfComments are the rules from comments, by the keys of their pull requests'
// groups. Invalid ignores are left out.
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

// Entry returns the ignore as an entry of rules in the configuration file, in
// YAML lines, so that a person can move it there.
func (i Ignore) Entry() string {
	key := "providers"
	if i.Module != "" {
		key = "modules"
	}
	lines := []string{fmt.Sprintf("  - %s: [%q] # %s, %s", key, i.Name(), i.By, i.When)}
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

// Name is the pattern of what is ignored.
func (i Ignore) Name() string { return cmp.Or(i.Module, i.Provider) }

// Markdown describes an ignore: who ignored on which day which provider or module, which
// versions and until when.
func (i Ignore) Markdown() safe.Markdown {
	text := safe.Code(i.Name())
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

// With adds an ignore, and replaces one about the same versions of the same
// providers.
func With(now []Ignore, added Ignore) []Ignore {
	others := slices.DeleteFunc(slices.Clone(now), func(i Ignore) bool {
		return i.Name() == added.Name() && i.What == added.What
	})
	return append(others, added)
}

// Without removes the ignores of a pattern.
func Without(now []Ignore, pattern string) []Ignore {
	return slices.DeleteFunc(slices.Clone(now), func(i Ignore) bool { return i.Name() == pattern })
}
