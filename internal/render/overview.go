package render

import (
	"github.com/relock-dev/relock/internal/box"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// Overview returns the text of the issue about an organisation, and reports whether
// there is no repository to say anything about. The text is cut like Body.
func Overview(o report.Overview) (text safe.Markdown, empty bool) {
	s := outline.ScreenOf(o)
	parts := []part{
		{head: safe.Format("Lock files in the repositories of %s. **%s**\n", safe.Code(o.Owner), s.Headline)},
		{head: safe.Maybe("> Not of this week: %s.\n", s.Missing)},
		tablePart(part{rank: 1, share: 5, what: safe.Const("state")}, s.Counts.Headings, s.Counts.Rows),
	}
	for i, n := range s.Needs {
		p := part{rank: 2 + i, share: 12, what: safe.Const("line"), head: safe.Format("### %s\n\n", n.Heading)}
		for _, line := range n.Lines {
			p.add(safe.Format("- %s\n", line))
		}
		parts = append(parts, p)
	}
	waiting := part{rank: 6, share: 10, what: safe.Const("repository"), head: safe.Const("### Waiting for room\n\nCheck a box to open what waits, past the limit.\n\n")}
	for _, r := range s.Waits {
		waiting.add(box.Box{Act: box.Open, Branch: r.Name}.Item(safe.Format("Open %s", r.Waits)))
	}
	parts = append(parts, waiting,
		tablePart(part{rank: 7, share: 12, what: safe.Const("provider"), head: safe.Const("### Versions in use\n\n")}, s.Uses.Headings, s.Uses.Rows),
		tablePart(part{rank: 8, share: 15, what: safe.Const("row"), head: safe.Const("### Repositories that are not quiet\n\n")}, s.Rows.Headings, s.Rows.Rows),
		part{head: safe.Maybe("Without a row: %s. The report of the run lists them.\n", s.Rest)},
		part{head: safe.Const("---\n\n[relock](https://github.com/relock-dev/relock) edits this issue when anything here changes. " +
			"A checked box acts in the next run, if the person who checks it may write to that repository. " +
			"To stop this, close the issue, or take `dashboard.repository` out of the settings.\n")})
	return assemble(parts, glanceBound), len(s.Counts.Rows) == 0
}

// overviewSection is the overview on a page of HTML.
func overviewSection(f *report.Fleet) markup {
	if f == nil || f.Overview == nil {
		return ""
	}
	s := outline.ScreenOf(*f.Overview)
	cells := func(texts []safe.Markdown) []markup {
		row := collect.Mapped(texts, func(text safe.Markdown) markup { return td(prose(text)) })
		row[0] = rowHead(prose(texts[0]))
		return row
	}
	listed := func(title markup, t outline.ScreenTable) markup {
		return table(title, "sorts", collect.Mapped(t.Headings, prose), collect.Mapped(t.Rows, cells))
	}
	var needs markup
	for _, n := range s.Needs {
		needs += "\n<h3>" + prose(n.Heading) + "</h3><ul>" + bullets(n.Lines) + "</ul>"
	}
	return pageSection("overview", "Overview", "\n<p>"+prose(s.Headline)+"</p>"+
		onlyIf(!s.Missing.Empty(), "<p>Not of this week: "+prose(s.Missing)+".</p>")+
		listed("States", s.Counts)+needs+
		onlyIf(len(s.Uses.Rows) > 0, "\n<h3>Versions in use</h3>"+listed("Versions by provider", s.Uses))+
		onlyIf(len(s.Rows.Rows) > 0, "\n<h3>Repositories that are not quiet</h3>"+listed("Repositories that are not quiet", s.Rows))+
		onlyIf(!s.Rest.Empty(), "\n<p>Without a row: "+prose(s.Rest)+".</p>"))
}
