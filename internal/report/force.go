package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
)

// InForce is what decides what is proposed, for a person who asks in a comment.
type InForce struct {
	// Group is that of a pull request of relock, and Ignores what comments under it
	// have made. Both are empty if it is another's.
	Group   string
	Ignores []policy.Ignore
	Rules   []policy.Rule
	Groups  []string // by their names
	By      string   // how the rest is grouped
}

// Markdown lists it.
func (f InForce) Markdown() string {
	var b strings.Builder
	list := func(title string, items []string) {
		if len(items) == 0 {
			items = []string{"none"}
		}
		fmt.Fprintf(&b, "**%s**\n\n- %s\n\n", title, strings.Join(items, "\n- "))
	}
	var ignored, rules, groups []string
	if f.Group != "" {
		for _, i := range f.Ignores {
			ignored = append(ignored, ignoredBy(i))
		}
		list("Ignored in the group "+safe.Code(f.Group).String(), ignored)
	}
	for _, r := range f.Rules {
		rules = append(rules, ruleText(r))
	}
	list("Rules", rules)
	for _, name := range f.Groups {
		groups = append(groups, safe.Code(name).String())
	}
	list("Groups, and the rest by "+f.By, groups)
	return b.String()
}

// ignoredBy says what somebody ignored on a day: a provider, what of it and until when.
func ignoredBy(i policy.Ignore) string {
	text := safe.Code(i.Provider).String()
	if i.What != "" {
		text += " " + safe.Code(i.What).String()
	}
	if i.Until != "" {
		text += " until " + i.Until
	}
	return text + ", by " + safe.Code(i.By).String() + " on " + i.When
}

// ruleText says where a rule stands, whom it is about, and what it says.
func ruleText(r policy.Rule) string {
	var who, what []string
	for _, p := range r.Providers {
		who = append(who, safe.Code(p.String()).String())
	}
	for _, u := range r.Updates {
		who = append(who, string(u)+" updates")
	}
	if r.Ignore != nil && *r.Ignore {
		what = append(what, "ignored")
	} else if r.Ignore != nil {
		what = append(what, "not ignored")
	}
	if !r.HoldUntil.IsZero() {
		what = append(what, "held until "+r.HoldUntil.Format(time.DateOnly))
	}
	if r.Allow != nil {
		what = append(what, "only versions "+safe.Code(r.Allow.String()).String())
	}
	if r.Except != nil {
		what = append(what, "no versions "+safe.Code(r.Except.String()).String())
	}
	if r.MinimumAge != nil {
		what = append(what, fmt.Sprintf("at least %g hours old", r.MinimumAge.Hours()))
	}
	for _, p := range r.Platforms {
		what = append(what, "for "+p.String())
	}
	if len(who) == 0 {
		who = []string{"every provider"}
	}
	return fmt.Sprintf("%s: %s: %s", safe.Code(r.Place).String(), strings.Join(who, ", "), strings.Join(what, ", "))
}

// IgnoreNoted is the answer to a command that ignores a provider.
func IgnoreNoted(i policy.Ignore) string {
	text := "Noted: " + safe.Code(i.Provider).String() + " is left alone here"
	if update := i.Update(); update != provider.BumpNone {
		text += " for " + string(update) + " updates"
	} else if i.What != "" {
		text += " for versions " + safe.Code(i.What).String()
	}
	if i.Until != "" {
		text += " until " + i.Until
	}
	return text + "."
}

// IgnoreEnded is the answer to a command that takes that back.
func IgnoreEnded(provider string) string {
	return "Noted: " + safe.Code(provider).String() + " is not ignored any more."
}

// NotIgnored is the answer to a command that takes back what nobody said.
func NotIgnored(provider string) string {
	return safe.Code(provider).String() + " is not ignored here."
}
