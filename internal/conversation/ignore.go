package conversation

import (
	"cmp"
	"time"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
)

// ignoresAfter are the ignores of a group after a command, and the answer to it. by is the
// login of its author, and day is its day.
func ignoresAfter(command comment.Command, now []policy.Ignore, by string, day time.Time) (ignores []policy.Ignore, said safe.Markdown) {
	asked := command.Ignored
	if command.Verb == comment.Unignore {
		left := policy.Without(now, asked.Name())
		if len(left) == len(now) {
			return now, safe.Format("%s is not ignored here.", safe.Code(asked.Name()))
		}
		return left, safe.Format("Noted: %s is not ignored any more.", safe.Code(asked.Name()))
	}
	asked.By, asked.When = by, day.UTC().Format(time.DateOnly)
	return policy.With(now, asked), noted(asked)
}

// noted is the answer to a command that ignores something.
func noted(i policy.Ignore) safe.Markdown {
	text := safe.Format("Noted: %s is left alone here", safe.Code(i.Name()))
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

// group is a group of providers for one base branch, with its newest pull request and what
// people ignore there.
type group struct {
	name    string             // empty: none is named
	pull    github.PullRequest // its zero value if there is none
	ignores []policy.Ignore
}

// inForce lists the ignores of groups, the rules and the groups, as an answer in a comment.
func inForce(in []group, book policy.Rulebook) safe.Markdown {
	var all safe.Markdown
	section := func(title safe.Markdown, items []safe.Markdown) {
		if len(items) == 0 {
			items = []safe.Markdown{safe.Const("none")}
		}
		all = all.And("**%s**\n\n- %s\n\n", title, safe.Join("\n- ", items...))
	}
	var rules, groups []safe.Markdown
	for _, g := range in {
		var ignored []safe.Markdown
		for _, i := range g.ignores {
			ignored = append(ignored, i.Markdown())
		}
		title := safe.Const("Ignored by comments")
		if g.name != "" {
			title = safe.Format("Ignored in the group %s", safe.Code(g.name))
		}
		section(title, ignored)
	}
	for _, r := range book.Rules {
		rules = append(rules, r.Markdown())
	}
	section(safe.Const("Rules"), rules)
	for _, g := range book.Groups {
		groups = append(groups, safe.Code(g.Name))
	}
	section(safe.Format("Groups, and the rest by %s", safe.Text(string(cmp.Or(book.GroupBy, policy.ByAll)))), groups)
	return all
}
