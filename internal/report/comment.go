package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Comment returns Markdown that answers a comment: what we have to say, and below
// it the report, cut like Body.
func Comment(lead string, r Report) string {
	d := markdown(r)
	parts := append([]part{{head: strings.TrimRight(lead, "\n") + "\n"}}, r.parts(d)...)
	return assemble(parts, bodyLimit, "The step summary of the run lists them.")
}

// Fenced returns text as a block of code in Markdown, in which nothing is markup
// and nobody is mentioned. It is cut at the end of a line to limit bytes.
func Fenced(text string, limit int) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(text) > limit {
		text = text[:strings.LastIndexByte(text[:limit], '\n')+1] + "…\n"
	}
	return fence + "text\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
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
