package pr

import (
	"regexp"
	"strings"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/safe"
)

// tailStart is the hidden line below which a body is ours to write again at any
// time: what is ignored, what the branch waits for, the box that asks for a rebase, the marker. What a
// report quotes holds no such line.
const tailStart = "<!-- relock-tail -->"

// rebaseBox is what a person checks to have the branch rebuilt.
const rebaseBox = "<!-- relock-rebase -->"

var rebaseChecked = regexp.MustCompile(`(?m)^[ \t]*- \[[xX]\] ` + rebaseBox)

// text is what the proposal says itself.
func (p Proposal) text() safe.Markdown {
	if p.Write != nil {
		return p.Write()
	}
	return p.Body
}

// compose returns the body of a pull request: a text, and below it the tail.
func compose(text safe.Markdown, m Marker) safe.Markdown { return paragraphs(text, tail(m)) }

// tail is the part of a body that depends on the marker alone.
func tail(m Marker) safe.Markdown {
	return paragraphs(safe.Const(tailStart), ignored(m.Ignores), behindBase(m.Behind), safe.Const("- [ ] "+rebaseBox+"Check this box to rebuild the branch on its base in the next run."), safe.Ours(m.String()))
}

// remark returns the body with another marker. A body that somebody has
// rewritten as a whole gets the marker alone.
func remark(body string, m Marker) safe.Markdown {
	if i := strings.LastIndex(body, tailStart); i >= 0 {
		return paragraphs(safe.Ours(body[:i]), tail(m))
	}
	return paragraphs(safe.Ours(body), safe.Ours(m.String()))
}

// asksForRebase reports whether somebody has checked the box.
func asksForRebase(body string) bool {
	i := strings.LastIndex(body, tailStart)
	return i >= 0 && rebaseChecked.MatchString(body[i:])
}

// ignored lists what people asked relock to ignore, in the words of the
// configuration file, so that they can move it there.
func ignored(ignores []policy.Ignore) safe.Markdown {
	if len(ignores) == 0 {
		return safe.Markdown{}
	}
	var b strings.Builder
	b.WriteString("Ignored here by comments. To ignore the same everywhere, copy this to `.github/relock.yml`:\n\n```yaml\nrules:\n")
	for _, i := range ignores {
		b.WriteString(i.Entry() + "\n")
	}
	b.WriteString("```")
	return safe.Ours(b.String())
}

// paragraphs joins texts with an empty line between them, without those that
// are empty.
func paragraphs(texts ...safe.Markdown) safe.Markdown {
	var filled []safe.Markdown
	for _, t := range texts {
		t = t.Trimmed()
		if !t.Empty() {
			filled = append(filled, t)
		}
	}
	return safe.Join("\n\n", filled...)
}
