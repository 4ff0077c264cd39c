package render

import (
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/box"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// glanceBound leaves room for the marker.
var glanceBound = bound{bodyBound.bytes - 4096, githubLimit, safe.Const("The step summary of the run lists them.")}

// Glance returns the text of the issue, and reports whether there is nothing to
// say. r is about everything that no open pull request deals with. prefix begins
// the names of relock's branches. The text is cut like Body.
func Glance(r report.Report, prefix string) (text safe.Markdown, empty bool) {
	g := outline.GlanceOf(r)
	room := part{
		rank: 1, share: 20,
		head: safe.Const("### Waiting for room\n\nAs many pull requests are open as `pull-request.limit` allows. Check a box to open one anyway.\n\n"),
	}
	if len(g.Room) > 1 {
		room.head = room.head.And("%s", box.Box{Act: box.All}.Item(safe.Const("**Open all of these**")))
	}
	parts := []part{ // what waits, then what does not
		{head: glanceHead(g)},
		waitingPart(box.Past, prefix, g.Room, room),
		waitingPart("", prefix, g.Later, part{rank: 1, share: 10, head: safe.Const("### Waiting for a later run\n\nThe run may not open more pull requests at once.\n\n")}),
		waitingPart(box.Again, prefix, g.Closed, part{
			rank: 2, share: 20,
			head: safe.Const("### Closed by a person\n\nThese sets are not proposed again. A new release, or a root module that joins, opens a new pull request. Check a box to have one proposed again.\n\n"),
		}),
		topicsPart(part{
			rank: 3, share: 25, head: safe.Const("### Not read, not verified, or against a rule\n\n"),
		}, g.Review, g.Words, reviewItem),
		heldPart(part{rank: 4, share: 25}, g.Held, g.Words),
		{head: safe.Const("---\n\n[relock](https://github.com/relock-dev/relock) edits this issue when anything here changes. " +
			"A checked box acts in the next run, or at once where the workflow runs on edited issues, if the person who checks it may write to this repository. " +
			"To stop this, close the issue, or set `dashboard.issue: false`.\n")},
	}
	return assemble(parts, glanceBound), g.Empty()
}

// glanceHead explains the issue.
func glanceHead(g outline.Glance) safe.Markdown {
	if g.Empty() {
		return safe.Const("Nothing waits. Open pull requests say the rest.\n")
	}
	return safe.Const("Everything here waits for somebody or something. Open pull requests are not repeated here.\n")
}

// waitingPart has a line for each waiting proposal, with a box for the act. The
// zero act has no box.
func waitingPart(act box.Act, prefix string, pulls []report.PullRequest, p part) part {
	p.what = safe.Const("proposal")
	for _, pull := range pulls {
		text := safe.Format("%s (group %s", safe.Text(pull.Title), safe.Code(pull.Waiting.Group))
		if slices.ContainsFunc(pulls, func(other report.PullRequest) bool { return other.Base != pull.Base }) {
			text = text.And(", into %s", safe.Code(pull.Base))
		}
		if pull.Waiting.Number > 0 {
			text = text.And(", closed: %s", safe.Link(safe.Format("pull request %s", safe.Int(pull.Waiting.Number)), pull.Waiting.URL))
		}
		text = text.And(")")
		if act == "" {
			p.add(safe.Format("- %s\n", text))
			continue
		}
		p.add(box.New(act, strings.TrimPrefix(pull.Branch, prefix), pull.Waiting.Digest).Item(text))
	}
	return p
}
