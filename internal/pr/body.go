package pr

import (
	"regexp"
	"strings"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/report"
)

// tailStart is the hidden line below which a body is ours to write anew at any
// time: what is ignored, the box that asks for a rebase, the marker. What a
// report quotes holds no such line.
const tailStart = "<!-- relock-tail -->"

// rebaseBox is what a person checks to have the branch rebuilt.
const rebaseBox = "<!-- relock-rebase -->"

var rebaseChecked = regexp.MustCompile(`(?m)^[ \t]*- \[[xX]\] ` + rebaseBox)

// text is what the proposal says itself.
func (p Proposal) text() string {
	if p.Write != nil {
		return p.Write()
	}
	return p.Body
}

// compose returns the body of a pull request: a text, and below it the tail.
func compose(text string, m Marker) string { return paragraphs(text, tail(m)) }

// tail is the part of a body that depends on the marker alone.
func tail(m Marker) string {
	box := "- [ ] " + rebaseBox + report.RebaseBox
	return paragraphs(tailStart, ignored(m.Ignores), box, m.String())
}

// remark returns the body with another marker. A body that somebody has
// rewritten as a whole gets the marker alone.
func remark(body string, m Marker) string {
	if i := strings.LastIndex(body, tailStart); i >= 0 {
		return paragraphs(body[:i], tail(m))
	}
	return paragraphs(body, m.String())
}

// asksForRebase reports whether somebody has checked the box.
func asksForRebase(body string) bool {
	i := strings.LastIndex(body, tailStart)
	return i >= 0 && rebaseChecked.MatchString(body[i:])
}

// ignored lists what people told relock to ignore, in the words of the
// configuration file, so that they can move it there.
func ignored(ignores []policy.Ignore) string {
	if len(ignores) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(report.IgnoredHere + "\n\n```yaml\nrules:\n")
	for _, i := range ignores {
		b.WriteString(i.Entry() + "\n")
	}
	b.WriteString("```")
	return b.String()
}

// paragraphs joins texts with an empty line between them, without those that
// are empty.
func paragraphs(texts ...string) string {
	var filled []string
	for _, t := range texts {
		if t = strings.Trim(t, " \t\r\n"); t != "" {
			filled = append(filled, t)
		}
	}
	return strings.Join(filled, "\n\n")
}
