package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/upgrade"
)

// ignoresAfter are the ignores of a group as a command wants them, and what is said of
// that. Somebody gives it on a day.
func ignoresAfter(command comment.Command, now []pr.Ignore, by string, day time.Time) (ignores []pr.Ignore, said string) {
	asked := command.Ignored
	what := asked.Update + asked.Versions // one of them is empty
	others := slices.DeleteFunc(slices.Clone(now), func(i pr.Ignore) bool {
		return i.Provider == asked.Provider && (command.Verb == comment.Unignore || i.What == what)
	})
	name := report.Code(asked.Provider)
	if command.Verb == comment.Unignore {
		if len(others) == len(now) {
			return now, name + " is not ignored here."
		}
		return others, "Noted: " + name + " is not ignored any more."
	}
	added := pr.Ignore{Provider: asked.Provider, What: what, By: by, When: day.UTC().Format(time.DateOnly)}
	if !asked.Until.IsZero() {
		added.Until = asked.Until.Format(time.DateOnly)
	}
	return append(others, added), "Noted: " + name + " is left alone here" + limits(asked) + "."
}

func limits(i comment.Ignored) string {
	text := ""
	if i.Update != "" {
		text = " for " + i.Update + " updates"
	} else if i.Versions != "" {
		text = " for versions " + report.Code(i.Versions)
	}
	if !i.Until.IsZero() {
		text += " until " + i.Until.Format(time.DateOnly)
	}
	return text
}

// inForce lists what decides what is proposed, under a pull request of ours or, with
// nil, another.
func inForce(owned *pr.Owned, req Request) string {
	var b strings.Builder
	list := func(title string, items []string) {
		if len(items) == 0 {
			items = []string{"none"}
		}
		fmt.Fprintf(&b, "**%s**\n\n- %s\n\n", title, strings.Join(items, "\n- "))
	}
	if owned != nil {
		var ignores []string
		for _, i := range owned.Marker.Ignores {
			ignores = append(ignores, ignoreText(i))
		}
		list("Ignored in the group "+report.Code(owned.Group), ignores)
	}
	var rules []string
	for _, r := range req.Plan.Rules {
		rules = append(rules, ruleText(r))
	}
	list("Rules", rules)
	var groups []string
	for _, g := range req.Pull.Grouping.Named {
		groups = append(groups, report.Code(g.Name))
	}
	list("Groups, and the rest by "+string(cmp.Or(req.Pull.Grouping.By, ByAll)), groups)
	return b.String()
}

func ignoreText(i pr.Ignore) string {
	text := report.Code(i.Provider)
	if i.What != "" {
		text += " " + report.Code(i.What)
	}
	if i.Until != "" {
		text += " until " + i.Until
	}
	return text + ", by " + report.Code(i.By) + " on " + i.When
}

// ruleText says where a rule stands, whom it is about, and what it says.
func ruleText(r upgrade.Rule) string {
	var who, what []string
	for _, p := range r.Providers {
		who = append(who, report.Code(p.String()))
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
		what = append(what, "only versions "+report.Code(r.Allow.String()))
	}
	if r.Except != nil {
		what = append(what, "no versions "+report.Code(r.Except.String()))
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
	return fmt.Sprintf("%s: %s: %s", report.Code(r.Place), strings.Join(who, ", "), strings.Join(what, ", "))
}
