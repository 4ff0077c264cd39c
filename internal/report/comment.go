package report

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/problem"
)

// Comment returns Markdown that answers a comment: what we have to say, and below
// it the report, cut like Body.
func Comment(lead string, r Report) string {
	parts := partsOf(r, markdown(r), answerBound.bytes)
	if lead != "" {
		parts = append([]part{{head: strings.TrimRight(lead, "\n") + "\n"}}, parts...)
	}
	return assemble(parts, answerBound)
}

// Problems returns problems as a list in Markdown, each with its place and what
// to do next; nothing if there are none.
func Problems(diagnostics []problem.Diagnostic) string {
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

// Sentence begins a message with a capital letter and ends it with a full stop,
// as it stands in an answer. A message of several lines keeps its end.
func Sentence(message string) string {
	if message == "" {
		return ""
	}
	r, size := utf8.DecodeRuneInString(message)
	message = string(unicode.ToUpper(r)) + message[size:]
	if strings.Contains(message, "\n") || strings.HasSuffix(message, ".") || strings.HasSuffix(message, "?") {
		return message
	}
	return message + "."
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
