package run

import (
	"cmp"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/report"
)

// ignoresAfter are the ignores of a group as a command wants them, and what is said of
// that. Somebody gives it on a day.
func ignoresAfter(command comment.Command, now []pr.Ignore, by string, day time.Time) (ignores []pr.Ignore, said string) {
	asked := command.Ignored
	what := asked.Update + asked.Versions // one of them is empty
	others := slices.DeleteFunc(slices.Clone(now), func(i pr.Ignore) bool {
		return i.Provider == asked.Provider && (command.Verb == comment.Unignore || i.What == what)
	})
	if command.Verb == comment.Unignore {
		if len(others) == len(now) {
			return now, report.NotIgnored(asked.Provider)
		}
		return others, report.IgnoreEnded(asked.Provider)
	}
	added := pr.Ignore{Provider: asked.Provider, What: what, By: by, When: day.UTC().Format(time.DateOnly)}
	if !asked.Until.IsZero() {
		added.Until = asked.Until.Format(time.DateOnly)
	}
	return append(others, added), report.IgnoreNoted(asked)
}

// inForce is what decides what is proposed, under a pull request of ours or, with
// nil, another.
func inForce(owned *pr.Owned, req Request) report.InForce {
	f := report.InForce{Rules: req.Plan.Rules, By: string(cmp.Or(req.Pull.Grouping.By, ByAll))}
	if owned != nil {
		f.Group = owned.Group
		for _, i := range owned.Marker.Ignores {
			f.Ignores = append(f.Ignores, report.IgnoredBy(i.Provider, i.What, i.Until, i.By, i.When))
		}
	}
	for _, g := range req.Pull.Grouping.Named {
		f.Groups = append(f.Groups, g.Name)
	}
	return f
}
