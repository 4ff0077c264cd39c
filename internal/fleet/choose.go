// Package fleet decides about the repositories of an organisation before any of
// them is read: which of them a run is about. It asks nobody; what it is told comes
// from a list, as package github makes one.
package fleet

import (
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/github"
)

// The reasons for which a repository is left out.
const (
	Archived = "archived"
	Disabled = "disabled by GitHub"
	Empty    = "without a commit"
	Fork     = "a fork"
	Unwanted = "not chosen"
)

// Pick returns the repositories that a run is about, in their order, and how many
// are left out, by reason. Conditions on one key are alternatives, and one that
// excludes outranks them; those on several keys must all hold. What cannot have pull
// requests is left out always, and forks unless a condition is about them.
func Pick(all []github.Listed, where []config.Condition) (chosen []github.Listed, left map[string]int) {
	left = map[string]int{}
	for _, r := range all {
		if reason := unfit(r, where); reason != "" {
			left[reason]++
			continue
		}
		chosen = append(chosen, r)
	}
	return chosen, left
}

// unfit is why a repository is left out; empty if it is not.
func unfit(r github.Listed, where []config.Condition) string {
	forks := slices.ContainsFunc(where, func(c config.Condition) bool { return c.Key == "fork" })
	switch {
	case r.Archived:
		return Archived
	case r.Disabled:
		return Disabled
	case r.Head == "" || r.Tree == "":
		return Empty
	case r.Fork && !forks:
		return Fork
	}
	wanted := map[string]bool{}
	for _, c := range where {
		is := meets(r, c)
		if c.Not && is {
			return Unwanted
		}
		if !c.Not {
			wanted[c.Key] = wanted[c.Key] || is
		}
	}
	for _, is := range wanted {
		if !is {
			return Unwanted
		}
	}
	return ""
}

// meets reports whether a repository has what a condition names.
func meets(r github.Listed, c config.Condition) bool {
	switch c.Key {
	case "name":
		_, name, _ := strings.Cut(r.Name, "/")
		is, _ := path.Match(strings.ToLower(c.Value), strings.ToLower(name)) // it was checked
		return is
	case "topic":
		return slices.Contains(r.Topics, strings.ToLower(c.Value))
	case "visibility":
		return r.Visibility == c.Value
	case "fork":
		return c.Value == "any" || r.Fork == (c.Value == "true")
	case "file":
		return slices.Contains(r.Files, c.Value)
	}
	return slices.Contains(r.Properties[c.Property()], c.Value)
}

// Asks is what a list must say for these conditions, with the branches of a prefix.
func Asks(where []config.Condition, prefix string) github.ListOptions {
	o := github.ListOptions{Prefix: prefix}
	for _, c := range where {
		o.Properties = o.Properties || c.Property() != ""
		if c.Key == "file" && !slices.Contains(o.Files, c.Value) {
			o.Files = append(o.Files, c.Value)
		}
	}
	return o
}
