package render

import (
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
)

// keptUnseen says which root modules a pull request keeps although the run did
// not look at them; empty if none.
func keptUnseen(c report.CarriedOver) safe.Markdown {
	commit := safe.Code(c.Commit[:min(len(c.Commit), 7)])
	switch c.Roots {
	case 0:
		return safe.Markdown{}
	case 1:
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

// pullPlace is the branch of a pull request. It names the repository and the base
// if the run had several.
func pullPlace(r report.Report, p report.PullRequest) safe.Markdown {
	text := safe.Maybe(" from %s", safe.Code(p.Branch))
	elsewhere := func(q report.PullRequest) bool { return q.Repository != "" && q.Repository != p.Repository }
	if p.Repository != "" && (r.Fleet != nil || slices.ContainsFunc(r.PullRequests, elsewhere)) {
		text = text.And(" in %s", safe.Code(p.Repository))
	}
	others := func(q report.PullRequest) bool { return q.Base != "" && q.Base != p.Base }
	if p.Base != "" && slices.ContainsFunc(r.PullRequests, others) {
		text = text.And(" into %s", safe.Code(p.Base))
	}
	return text
}

// fewAlike is the highest number of pull requests to which nothing happens for the
// same reason, and that have a line each. As many are named in a line about more.
const fewAlike = 5

// pullLine says what happened to a pull request or an issue. It has an address if
// it is about one.
type pullLine struct {
	said safe.Markdown
	url  string
	// same is why nothing happens to it, and name is its name among others. same is
	// empty if there is more to say.
	same standing
	name safe.Markdown
}

// standing is why nothing happens to a number of pull requests or issues: the words
// before the number, and those behind it.
type standing struct{ before, behind safe.Markdown }

// pullLines say what happened to pull requests and to the issues. If nothing
// happens to more than most of them for the same reason, these have one line.
func pullLines(r report.Report, most int) []pullLine {
	all := slices.Concat(
		collect.Mapped(r.PullRequests, func(p report.PullRequest) pullLine { return pullLineOf(r, p) }),
		collect.Mapped(r.Dashboards, func(d report.Dashboard) pullLine { return dashboardLine(r, d) }),
	)
	names := map[standing][]safe.Markdown{}
	for _, l := range all {
		names[l.same] = append(names[l.same], l.name)
	}
	var lines []pullLine
	told := map[standing]bool{}
	for _, l := range all {
		same := names[l.same]
		switch {
		case l.same == standing{} || len(same) <= most:
			lines = append(lines, l)
		case !told[l.same]:
			told[l.same] = true
			lines = append(lines, pullLine{said: safe.Format("%s %s %s: %s", l.same.before, safe.Int(len(same)), l.same.behind, safe.FirstOf(same, fewAlike, "more", "more"))})
		}
	}
	return lines
}

func pullLineOf(r report.Report, p report.PullRequest) pullLine {
	place, reason := pullPlace(r, p), safe.Maybe(" (%s)", safe.Text(p.Reason))
	l := pullLine{url: p.URL, said: safe.Join("",
		outcome(safe.Const("pull request"), p.Operation, r.DryRun, p.Number, p.URL), place,
		safe.Maybe(": %s", safe.Text(p.Title)), reason,
		safe.Maybe(". %s", keptUnseen(p.CarriedOver).Stopless()))}
	switch {
	case p.Operation != "none" || p.CarriedOver.Roots > 0:
	case p.Number == 0:
		l.name = place.Trimmed()
		l.same = standing{safe.Const("opened no pull request for"), safe.Const("groups").And("%s", reason)}
	default:
		l.name = safe.Link(safe.Format("pull request %s", safe.Int(p.Number)), p.URL).And("%s", place)
		l.same = standing{safe.Const("kept"), safe.Const("pull requests").And("%s", reason)}
	}
	return l
}

func dashboardLine(r report.Report, d report.Dashboard) pullLine {
	place, reason := safe.Markdown{}, safe.Maybe(" (%s)", safe.Text(d.Reason))
	if r.Fleet != nil {
		place = safe.Format(" in %s", safe.Code(d.Repository))
	}
	l := pullLine{url: d.URL, said: safe.Join("", outcome(safe.Const("issue"), d.Operation, r.DryRun, d.Number, d.URL), place, reason)}
	switch {
	case d.Operation != "none":
	case d.Number == 0:
		l.name = safe.Code(d.Repository)
		l.same = standing{safe.Const("opened no issue in"), safe.Const("repositories").And("%s", reason)}
	default:
		l.name = safe.Link(safe.Code(d.Repository), d.URL)
		l.same = standing{safe.Const("kept"), safe.Const("issues").And("%s", reason)}
	}
	return l
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
func fleetSentence(f report.Fleet) safe.Markdown {
	var states, left []safe.Markdown
	for _, s := range report.States {
		if n := f.Count(s); n > 0 {
			states = append(states, safe.Format("%s %s", safe.Int(n), safe.Text(string(s))))
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(f.LeftOut)) {
		left = append(left, safe.Format("%s %s", safe.Int(f.LeftOut[reason]), safe.Text(reason)))
	}
	return safe.Format("%s: %s", safe.Text(f.Owner), safe.Count(len(f.Repositories), "repository", "repositories")).
		AndMaybe(": %s", safe.Join(", ", states...)).
		AndMaybe("; in %s something waits for room", safe.Some(f.Waiting(), "repository", "repositories")).
		AndMaybe("; left out: %s", safe.Join(", ", left...))
}

// fleetLines are the first lines about the repositories of an organisation: counts,
// and what failed. They are empty for any other run.
func fleetLines(r report.Report) safe.Markdown {
	if r.Fleet == nil {
		return safe.Markdown{}
	}
	var failed []safe.Markdown
	for _, of := range r.Fleet.Repositories {
		if of.State == report.FleetFailed {
			failed = append(failed, safe.Code(of.Name))
		}
	}
	return safe.JoinSome("\n",
		fleetSentence(*r.Fleet).And("."),
		safe.Maybe("Pull requests: %s.", pullCounts(r)),
		safe.Maybe("Failed: %s.", safe.FirstOf(failed, fewAlike, "more", "more")),
	).Line()
}

// pullCounts counts pull requests by what happened to them.
func pullCounts(r report.Report) safe.Markdown {
	var parts []safe.Markdown
	of := func(is func(report.PullRequest) bool, did safe.Markdown) {
		if n := collect.CountIf(r.PullRequests, is); n > 0 {
			parts = append(parts, safe.Format("%s %s", did, safe.Int(n)))
		}
	}
	for _, operation := range []string{"created", "updated", "closed"} {
		did := outcomes[operation][0]
		if r.DryRun {
			did = outcomes[operation][1]
		}
		of(func(p report.PullRequest) bool { return p.Operation == operation }, did)
	}
	of(func(p report.PullRequest) bool { return p.Operation == "none" && p.Number > 0 }, safe.Const("kept"))
	of(func(p report.PullRequest) bool { return p.Operation == "none" && p.Number == 0 }, safe.Const("not opened"))
	return safe.Join(", ", parts...)
}
