package run

import (
	"time"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// ignoresAfter are the ignores of a group as a command wants them, and what is said of
// that. Somebody gives it on a day.
func ignoresAfter(command comment.Command, now []policy.Ignore, by string, day time.Time) (ignores []policy.Ignore, said safe.Markdown) {
	asked := command.Ignored
	if command.Verb == comment.Unignore {
		left := policy.Without(now, asked.Provider)
		if len(left) == len(now) {
			return now, report.NotIgnored(asked.Provider)
		}
		return left, report.IgnoreEnded(asked.Provider)
	}
	asked.By, asked.When = by, day.UTC().Format(time.DateOnly)
	return policy.With(now, asked), report.IgnoreNoted(asked)
}

// inForce is what decides what is proposed, under a pull request of ours or, with
// nil, another.
func inForce(owned *pr.Owned, req Request) report.InForce {
	f := report.InForce{Policy: req.Plan.Policy}
	if owned != nil {
		f.Group, f.Ignores = owned.Group, owned.Marker.Ignores
	}
	return f
}
