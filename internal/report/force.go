package report

import (
	"cmp"
	"fmt"
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
	Policy  policy.Rulebook
}

// Markdown lists it.
func (f InForce) Markdown() safe.Markdown {
	var all safe.Markdown
	section := func(title safe.Markdown, items []safe.Markdown) {
		if len(items) == 0 {
			items = []safe.Markdown{safe.Const("none")}
		}
		all = all.And("**%s**\n\n- %s\n\n", title, safe.Join("\n- ", items...))
	}
	if f.Group != "" {
		section(safe.Format("Ignored in the group %s", safe.Code(f.Group)), list(f.Ignores, ignoredBy))
	}
	section(safe.Const("Rules"), list(f.Policy.Rules, ruleText))
	section(safe.Format("Groups, and the rest by %s", safe.Text(string(cmp.Or(f.Policy.GroupBy, policy.ByAll)))),
		list(f.Policy.Groups, func(g policy.Group) safe.Markdown { return safe.Code(g.Name) }))
	return all
}

// ignoredBy says what somebody ignored on a day: a provider, what of it and until when.
func ignoredBy(i policy.Ignore) safe.Markdown {
	text := safe.Code(i.Provider)
	if i.What != "" {
		text = text.And(" %s", safe.Code(i.What))
	}
	if i.Until != "" {
		text = text.And(" until %s", safe.Text(i.Until))
	}
	return text.And(", by %s on %s", safe.Code(i.By), safe.Text(i.When))
}

// ruleText says where a rule stands, whom it is about, and what it says.
func ruleText(r policy.Rule) safe.Markdown {
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
	for _, p := range r.Platforms {
		what = append(what, safe.Format("for %s", safe.Text(p.String())))
	}
	if len(who) == 0 {
		who = []safe.Markdown{safe.Const("every provider")}
	}
	return safe.Format("%s: %s: %s", safe.Code(r.Origin()), safe.Join(", ", who...), safe.Join(", ", what...))
}

// IgnoreNoted is the answer to a command that ignores a provider.
func IgnoreNoted(i policy.Ignore) safe.Markdown {
	text := safe.Format("Noted: %s is left alone here", safe.Code(i.Provider))
	if update := i.Update(); update != provider.BumpNone {
		text = text.And(" for %s updates", safe.Text(string(update)))
	} else if i.What != "" {
		text = text.And(" for versions %s", safe.Code(i.What))
	}
	if i.Until != "" {
		text = text.And(" until %s", safe.Text(i.Until))
	}
	return text.And(".")
}

// IgnoreEnded is the answer to a command that takes that back.
func IgnoreEnded(provider string) safe.Markdown {
	return safe.Format("Noted: %s is not ignored any more.", safe.Code(provider))
}

// NotIgnored is the answer to a command that takes back what nobody said.
func NotIgnored(provider string) safe.Markdown {
	return safe.Format("%s is not ignored here.", safe.Code(provider))
}
