package render

import (
	"io"

	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/safe"
)

// Comment returns the Markdown that answers a comment: first the answer, then the
// report, cut like Body.
func Comment(lead safe.Markdown, r report.Report) safe.Markdown {
	return assemble(append([]part{{head: lead}}, partsOf(r, outline.Of(r))...), answerBound)
}

// Problems lists problems in Markdown, each with its place and the next step;
// empty without problems.
func Problems(problems []problem.Problem) safe.Markdown {
	p := part{rank: 1, what: safe.Const("problem")}
	for _, t := range outline.TopicsOf(problems) {
		p.add(reviewItem(outline.Vocabulary{}, t))
	}
	return assemble([]part{p}, answerBound)
}

func answerText(w io.Writer, r report.Report, o TextOptions) error {
	text := answerOf(r).String()
	if o.Stats {
		text += "\n" + r.Stats.String() + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
