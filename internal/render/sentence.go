package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
)

// keptUnseen says which root modules a pull request keeps although the run did
// not look at them; empty if none.
func keptUnseen(c report.CarriedOver) safe.Markdown {
	commit := safe.Code(c.Commit[:min(len(c.Commit), 7)])
	switch {
	case c.Roots == 0:
		return safe.Markdown{}
	case c.Roots == 1:
		return safe.Format("1 root module stays as commit %s of this pull request has it, since this run did not look at it.", commit)
	}
	return safe.Format("%s root modules stay as commit %s of this pull request has them, since this run did not look at them.", safe.Int(c.Roots), commit)
}

// nothingToSay is the text about a module without news.
func nothingToSay(r report.Report) string {
	switch r.Verb {
	case verbs.Scan, verbs.Why:
		return "no provider is required"
	case verbs.Diff:
		return "no differences"
	}
	return "up to date"
}

// noun is the report's word for its modules.
func noun(r report.Report) safe.Markdown {
	if r.Verb == verbs.Diff {
		return safe.Const("Lock files")
	}
	return safe.Const("Root modules")
}

// answerOf is the text of a report of the verb comment.
func answerOf(r report.Report) safe.Markdown {
	if r.Answer == "" {
		return safe.Const("The comment is no command.\n")
	}
	return safe.Ours(r.Answer).Line()
}

// pullSentence says what happened to a pull request. It names the base if the run
// had several.
func pullSentence(r report.Report, p report.PullRequest) safe.Markdown {
	name := safe.Const("the pull request")
	if p.Number > 0 {
		name = safe.Format("pull request %s", safe.Int(p.Number))
	}
	text := safe.Join(" ", outcome(p.Operation, r.DryRun), safe.Link(name, p.URL))
	if p.Operation == "none" && p.Number == 0 {
		text = safe.Const("opened no pull request")
	}
	if p.Branch != "" {
		text = text.And(" from %s", safe.Code(p.Branch))
	}
	elsewhere := func(q report.PullRequest) bool { return q.Repository != "" && q.Repository != p.Repository }
	if p.Repository != "" && (r.Fleet != nil || slices.ContainsFunc(r.PullRequests, elsewhere)) {
		text = text.And(" in %s", safe.Code(p.Repository))
	}
	others := func(q report.PullRequest) bool { return q.Base != "" && q.Base != p.Base }
	if p.Base != "" && slices.ContainsFunc(r.PullRequests, others) {
		text = text.And(" into %s", safe.Code(p.Base))
	}
	if p.Title != "" {
		text = text.And(": %s", safe.Text(p.Title))
	}
	if p.Reason != "" {
		text = text.And(" (%s)", safe.Text(p.Reason))
	}
	if said := keptUnseen(p.CarriedOver); !said.Empty() {
		text = text.And(". %s", said.Stopless())
	}
	return text
}

// pullSentences say what happened to pull requests and to the issues.
func pullSentences(r report.Report) []safe.Markdown {
	return slices.Concat(
		collect.Mapped(r.PullRequests, func(q report.PullRequest) safe.Markdown { return pullSentence(r, q).Capital() }),
		collect.Mapped(r.Dashboards, func(d report.Dashboard) safe.Markdown { return dashboardSentence(r, d).Capital() }),
	)
}

func outcome(operation string, dryRun bool) safe.Markdown {
	would, did := safe.Const("would create"), safe.Const("created")
	switch operation {
	case "created":
	case "updated":
		would, did = safe.Const("would update"), safe.Const("updated")
	case "closed":
		would, did = safe.Const("would close"), safe.Const("closed")
	default:
		return safe.Const("kept")
	}
	if dryRun {
		return would
	}
	return did
}

// fleetSentence counts repositories by what happened to them.
func fleetSentence(f report.Fleet) string {
	var parts []string
	for _, s := range report.States {
		if n := f.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	var left []string
	for _, reason := range slices.Sorted(maps.Keys(f.LeftOut)) {
		left = append(left, fmt.Sprintf("%d %s", f.LeftOut[reason], reason))
	}
	text := fmt.Sprintf("%s: %s", f.Owner, report.Count(len(f.Repositories), "repository", "repositories"))
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if n := f.Waiting(); n > 0 {
		text += "; in " + report.Count(n, "repository", "repositories") + " something waits for room"
	}
	if len(left) > 0 {
		text += "; left out: " + strings.Join(left, ", ")
	}
	return text
}
