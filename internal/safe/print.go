package safe

import (
	"regexp"
	"strings"
)

// Unbroken is a space at which no line may end. Plain text has none.
const Unbroken = "\u00A0"

// String returns the text for GitHub. It may be in a paragraph, a list item or a
// table cell, but not in an HTML attribute.
func (m Markdown) String() string {
	if !marked(m.s) {
		return m.s
	}
	var b strings.Builder
	b.Grow(len(m.s))
	m.each(func(mark byte, text, url string) {
		switch mark {
		case textMark:
			b.WriteString(inert(unlisted(text)))
		case codeMark:
			b.WriteString(codeSpan(text))
		case elementMark:
			b.WriteString(codeElement(text))
		case linkMark:
			b.WriteString(link(Markdown{text}.String(), url))
		case arrowMark:
			b.WriteString("→")
		default:
			b.WriteString(text)
		}
	})
	return b.String()
}

// Plain returns the text without the markup of outside pieces; a link becomes its
// text.
func (m Markdown) Plain() string { return m.flat(false) }

// Terminal is Plain for text that is wrapped: the space after the operator of a
// version constraint in code is Unbroken.
func (m Markdown) Terminal() string { return m.flat(true) }

// operator matches the operator of a version constraint and the space after it.
var operator = regexp.MustCompile(`([<>=!~]) `)

func (m Markdown) flat(unbroken bool) string {
	if !marked(m.s) {
		return m.s
	}
	var b strings.Builder
	b.Grow(len(m.s))
	m.each(func(mark byte, text, _ string) {
		switch mark {
		case codeMark, elementMark:
			if unbroken && strings.IndexByte(text, ' ') >= 0 {
				text = operator.ReplaceAllString(text, "$1"+Unbroken)
			}
			b.WriteString(text)
		case linkMark:
			b.WriteString(Markdown{text}.flat(unbroken))
		case arrowMark:
			b.WriteString("->")
		default:
			b.WriteString(text)
		}
	})
	return b.String()
}

// Span is a part of a text on a page of HTML. Nothing in it is escaped.
type Span struct {
	Text string
	Code bool
	URL  string // the link's target; empty for no link
}

// Spans splits the text for a page.
func (m Markdown) Spans() []Span {
	if m.s == "" {
		return nil
	}
	pieces := 1
	for i := range len(m.s) {
		if m.s[i] >= firstMark {
			pieces++
		}
	}
	all := make([]Span, 0, pieces)
	m.each(func(mark byte, text, url string) {
		switch {
		case mark == codeMark, mark == elementMark:
			all = append(all, Span{Text: text, Code: true})
		case mark == linkMark && linkable.MatchString(url):
			all = append(all, Span{Text: Markdown{text}.Plain(), URL: url})
		case mark == linkMark:
			all = append(all, Span{Text: Markdown{text}.Plain()})
		case mark == arrowMark:
			all = append(all, Span{Text: "→"})
		default:
			all = append(all, Span{Text: text})
		}
	})
	return all
}

// each calls do for every piece, in order; our own words have the mark 0.
func (m Markdown) each(do func(mark byte, text, url string)) {
	s := m.s
	for s != "" {
		at := 0
		for at < len(s) && s[at] < firstMark {
			at++
		}
		if at > 0 {
			do(0, s[:at], "")
		}
		if at == len(s) {
			return
		}
		mark := s[at]
		s = s[at+1:]
		url := ""
		switch mark {
		case detailMark:
			continue
		case arrowMark:
			do(mark, "", "")
			continue
		case linkMark:
			to := strings.IndexByte(s, linkTo)
			end := to + strings.IndexByte(s[to:], markEnd)
			url = s[to+1 : end]
			do(mark, s[:to], url)
			s = s[end+1:]
		default:
			end := strings.IndexByte(s, markEnd)
			do(mark, s[:end], "")
			s = s[end+1:]
		}
	}
}

func marked(s string) bool {
	for i := range len(s) {
		if s[i] >= firstMark {
			return true
		}
	}
	return false
}
