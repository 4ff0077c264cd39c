package pr

import (
	"regexp"
	"strings"

	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/safe"
)

// tailStart is a hidden line. relock may rewrite everything below it at any time: the
// ignores, the box for a rebase, the marker. Quoted text
// cannot contain this line.
const tailStart = "<!-- relock-tail -->"

// rebaseBox marks the box that a person checks to have the branch rebuilt.
const rebaseBox = "<!-- relock-rebase -->"

var rebaseChecked = regexp.MustCompile(`(?m)^[ \t]*- \[[xX]\] ` + rebaseBox)

// formerEnd is hidden at the end of the first paragraph of a body that links a pull request
// which a person has closed. Later texts keep that paragraph.
const formerEnd = "<!-- relock-former -->"

// text is the body without its tail.
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
	return paragraphs(safe.Const(tailStart), ignored(m.Ignores), safe.Const("- [ ] "+rebaseBox+"Check this box to rebuild the branch on its base in the next run."), safe.Ours(m.String()))
}

// remark returns the body with another marker. If a person has replaced the whole body,
// only the marker is added.
func remark(body string, m Marker) safe.Markdown {
	if i := strings.LastIndex(body, tailStart); i >= 0 {
		return paragraphs(safe.Ours(body[:i]), tail(m))
	}
	return paragraphs(safe.Ours(body), safe.Ours(m.String()))
}

// formerIn is the paragraph of following in a body; empty if it has none.
func formerIn(body string) safe.Markdown {
	first, _, _ := strings.Cut(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n")
	if !strings.HasSuffix(first, formerEnd) {
		return safe.Markdown{}
	}
	return safe.Ours(first)
}

// asksForRebase reports whether a person has checked the box.
func asksForRebase(body string) bool {
	i := strings.LastIndex(body, tailStart)
	return i >= 0 && rebaseChecked.MatchString(body[i:])
}

// ignored lists the ignores that people asked for. It uses the words of the configuration
// file, so that people can move them there.
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

// paragraphs joins the texts that are not empty, with an empty line between them.
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
