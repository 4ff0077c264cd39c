package organisation

import (
	"errors"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/globs"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/settings"
)

// The reasons for repositories that conditions leave out, or the shard.
const (
	notChosen = "not chosen"
	notHere   = "in other shards"
)

// picked is the result of pickAmong.
type picked struct {
	// chosen are the repositories of the run, in their order.
	chosen []github.Listed
	// unlisted are those that GitHub did not give, unless the known facts leave
	// them out.
	unlisted []notGiven
	// left counts the left out repositories by reason.
	left map[string]int
}

// notGiven is a repository that is in GitHub's list, but whose data GitHub did
// not give.
type notGiven struct {
	name   string // empty if that is not known
	err    *problem.Error
	unseen bool // the token does not see it: no failure
}

// outcome is the result for the repository.
func (u notGiven) outcome() report.Outcome {
	if u.unseen {
		return report.Outcome{Name: u.name, State: report.NotReached}
	}
	return report.Outcome{Name: u.name, State: report.FleetFailed}
}

// problem says why the run does nothing about the repository.
func (u notGiven) problem() problem.Problem {
	d := problem.Of(u.err)
	d = problem.Problem{Code: problem.CodeGitHub, Message: d.Message, Hint: d.Hint}
	if u.unseen {
		d.Severity = problem.SeverityWarning
	}
	return d
}

// pickAmong chooses repositories of a list. Conditions on one key are
// alternatives, and one that excludes outranks them. Conditions on several keys
// must all hold. Repositories without pull requests are always left out, and
// forks unless a condition is about them. A repository that GitHub did not give is
// in every shard, unless its id is known.
func pickAmong(all []github.Listed, where []settings.Condition, shard settings.Shard) picked {
	p := picked{left: map[string]int{}}
	for _, r := range all {
		switch reason := unfit(r, where); {
		case reason != "":
			p.left[reason]++
		case (r.ID != 0 || r.Err == nil) && !inShard(shard, r.ID):
			p.left[notHere]++
		case r.Err != nil:
			p.unlisted = append(p.unlisted, notGiven{r.Name, r.Err, errors.Is(r.Err, github.ErrNotFound)})
			if r.Name == "" {
				p.left["that GitHub did not name"]++
			}
		default:
			p.chosen = append(p.chosen, r)
		}
	}
	return p
}

// unfit is the reason to leave a repository out; empty if it is chosen.
func unfit(r github.Listed, where []settings.Condition) string {
	forks := slices.ContainsFunc(where, func(c settings.Condition) bool { return c.Key == "fork" })
	switch {
	case r.Archived:
		return "archived"
	case r.Disabled:
		return "disabled by GitHub"
	case r.Fork && !forks:
		return "a fork"
	case r.Err != nil: // of the rest nothing is known, but its name
		where = slices.DeleteFunc(slices.Clone(where), func(c settings.Condition) bool { return c.Key != "name" || r.Name == "" })
	case r.Head == "" || r.Tree == "":
		return "without a commit"
	}
	wanted := map[string]bool{}
	for _, c := range where {
		is := meets(r, c)
		if c.Not && is {
			return notChosen
		}
		if !c.Not {
			wanted[c.Key] = wanted[c.Key] || is
		}
	}
	for _, is := range wanted {
		if !is {
			return notChosen
		}
	}
	return ""
}

// meets reports whether a repository matches a condition.
func meets(r github.Listed, c settings.Condition) bool {
	switch c.Key {
	case "name":
		_, name, _ := strings.Cut(r.Name, "/")
		return globs.MatchesName(c.Value, name)
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

// listOptions are the data that these conditions need, with the branches of a
// prefix.
func listOptions(where []settings.Condition, prefix string) github.ListOptions {
	o := github.ListOptions{Prefix: prefix}
	for _, c := range where {
		o.Properties = o.Properties || c.Property() != ""
		if c.Key == "file" && !slices.Contains(o.Files, c.Value) {
			o.Files = append(o.Files, c.Value)
		}
	}
	return o
}
