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
	return safe.Format("%s stay as commit %s of this pull request has them, since this run did not look at them.",
		safe.Count(c.Roots, "root module", "root modules"), commit)
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
	text := outcome(safe.Const("pull request"), p.Operation, r.DryRun, p.Number, p.URL)
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

// dashboardSentence says what happened to the issue.
func dashboardSentence(r report.Report, d report.Dashboard) safe.Markdown {
	text := outcome(safe.Const("issue"), d.Operation, r.DryRun, d.Number, d.URL)
	if r.Fleet != nil {
		text = text.And(" in %s", safe.Code(d.Repository))
	}
	if d.Reason != "" {
		text = text.And(" (%s)", safe.Text(d.Reason))
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

// outcomes are the results of operations: if they were done, and in a dry run.
var outcomes = map[string][2]safe.Markdown{
	"created": {safe.Const("created"), safe.Const("would create")},
	"updated": {safe.Const("updated"), safe.Const("would update")},
	"closed":  {safe.Const("closed"), safe.Const("would close")},
}

// outcome says what happened to a pull request or an issue. number is 0 if there
// is none.
func outcome(what safe.Markdown, operation string, dryRun bool, number int, url string) safe.Markdown {
	said, known := outcomes[operation]
	did := said[0]
	switch {
	case operation == "none" && number == 0:
		return safe.Format("opened no %s", what)
	case !known:
		did = safe.Const("kept")
	case dryRun:
		did = said[1]
	}
	name := safe.Format("the %s", what)
	if number > 0 {
		name = safe.Format("%s %s", what, safe.Int(number))
	}
	return safe.Join(" ", did, safe.Link(name, url))
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
