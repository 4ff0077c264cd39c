package report

import (
	"io"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/safe"
)

// Comment returns Markdown that answers a comment: what we have to say, and below
// it the report, cut like Body.
func Comment(lead safe.Markdown, r Report) safe.Markdown {
	parts := partsOf(r, markdown(r), answerBound.bytes)
	if !lead.Empty() {
		parts = append([]part{{head: strings.TrimRight(lead.String(), "\n") + "\n"}}, parts...)
	}
	return assemble(parts, answerBound)
}

// Problems returns problems as a list in Markdown, each with its place and what
// to do next; nothing if there are none.
func Problems(diagnostics []problem.Diagnostic) safe.Markdown {
	d := markdown(Report{})
	all := causesIn(d)
	for _, p := range diagnostics {
		all.diagnostic(p, "")
	}
	p := part{rank: 1, what: "problem"}
	for _, c := range all.list {
		p.items = append(p.items, reviewItem(d, c))
	}
	return assemble([]part{p}, answerBound)
}

// answerText writes the answer.
func answerText(w io.Writer, r Report, o TextOptions) error {
	text := r.answer()
	if o.Stats {
		text += "\n" + r.Stats.String() + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
