package safe

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	goldmarktext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The limits of a quoted text.
const (
	// sourcePerByte is the number of source bytes that are read for each byte of
	// the result. The part far beyond the cut is not read.
	sourcePerByte = 4
	// longestParagraph is the highest number of a paragraph's characters.
	longestParagraph = 1000
	// deepest is the highest depth of nested lists and quotations. Deeper ones
	// are left out.
	deepest = 4
)

// Quoted makes outside Markdown, such as release notes, harmless. It keeps
// headings, paragraphs, lists, quotations and code. It parses the text and writes
// these few elements again, with inert texts. So the result has no HTML, image,
// comment, mention, reference, closing keyword or open block.
//
// A link to github.com leads through redirect.github.com, which keeps GitHub from
// noting it at its target. Of any other link only the text remains. An address in
// the text is shown as code.
//
// The result has at most limit bytes; whole is false if something was left out
// for that. It ends in a newline, or is empty. It may be used where a paragraph
// may begin.
func Quoted(source string, limit int) (markdown Markdown, whole bool) {
	source, whole = head(source, sourcePerByte*limit)
	q := quoter{source: []byte(source)}
	text := ""
	for _, piece := range q.pieces(q.parse(), 0) {
		if len(text)+len(piece) > limit {
			return Markdown{text}, false
		}
		text += piece
	}
	return Markdown{strings.TrimPrefix(text, "\n")}, whole && !q.cut
}

// Leads returns at most n first lines of outside Markdown, each harmless and
// short: the texts of list items and paragraphs. more counts the others.
func Leads(source string, n int) (lines []Markdown, more int) {
	const longest = 160
	source, _ = head(source, 64<<10)
	q := quoter{source: []byte(source)}
	_ = ast.Walk(q.parse(), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering || node.Kind() != ast.KindTextBlock && node.Kind() != ast.KindParagraph {
			return ast.WalkContinue, nil
		}
		switch line := q.inline(node, longest); {
		case line == "":
		case len(lines) == n:
			more++
		default:
			lines = append(lines, Markdown{line})
		}
		return ast.WalkSkipChildren, nil
	})
	return lines, more
}

// head is the beginning of a text, cut at a line's end if possible.
func head(s string, limit int) (beginning string, whole bool) {
	if len(s) <= limit {
		return s, true
	}
	s = strings.ToValidUTF8(s[:limit], "")
	if i := strings.LastIndexByte(s, '\n'); i > 0 {
		s = s[:i]
	}
	return s, false
}

// quoter writes a Markdown document again.
type quoter struct {
	source []byte
	cut    bool // something was left out because it was too long or too deep
}

func (q *quoter) parse() ast.Node {
	return boundedParser().Parse(goldmarktext.NewReader(q.source))
}

// pieces are the blocks of a container, each with a newline at its end. The items
// of a list are separate pieces. All other pieces begin with an empty line.
func (q *quoter) pieces(container ast.Node, depth int) []string {
	var pieces []string
	for n := container.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			if title := q.inline(n, longestParagraph); title != "" {
				pieces = append(pieces, "\n##### "+title+"\n")
			}
		case *ast.Paragraph, *ast.TextBlock:
			if t := q.inline(n, longestParagraph); t != "" {
				if listed.MatchString(t) {
					t = entities(gap) + t
				}
				pieces = append(pieces, "\n"+t+"\n")
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			pieces = append(pieces, "\n"+q.code(n))
		case *ast.List:
			pieces = append(pieces, q.list(n, depth)...)
		case *ast.Blockquote:
			if inner := q.within(n, depth); inner != "" {
				pieces = append(pieces, "\n"+prefixed(inner, "> ", "> "))
			}
		}
	}
	return pieces
}

// within are the blocks of an inner container as one text, without an empty line
// before it; empty if there are none or they are too deep.
func (q *quoter) within(n ast.Node, depth int) string {
	if depth >= deepest {
		q.cut = true
		return ""
	}
	return strings.TrimPrefix(strings.Join(q.pieces(n, depth+1), ""), "\n")
}

// list writes a list's items, without its numbers: a list that does not begin
// with 1 cannot follow a paragraph.
func (q *quoter) list(n *ast.List, depth int) []string {
	mark := "- "
	if n.IsOrdered() {
		mark = "1. "
	}
	var items []string
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if inner := q.within(item, depth); inner != "" {
			items = append(items, prefixed(inner, mark, strings.Repeat(" ", len(mark))))
		}
	}
	if len(items) > 0 {
		items[0] = "\n" + items[0]
	}
	return items
}

// prefixed puts first before the first line, and others before the other lines.
func prefixed(block, first, others string) string {
	var b strings.Builder
	prefix := first
	for line := range strings.Lines(block) {
		b.WriteString(strings.TrimRight(prefix+strings.TrimSuffix(line, "\n"), " ") + "\n")
		prefix = others
	}
	return b.String()
}

var backticks = regexp.MustCompile("`+")

// code writes a block of code between fences that are longer than any within.
// Where Markdown is code, it is neither parsed nor linked; only programs that
// search the source for a comment, as we do, must be kept from finding one.
func (q *quoter) code(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.WriteString(cleanCode(string(line.Value(q.source))) + "\n")
	}
	fence := "```"
	for _, run := range backticks.FindAllString(b.String(), -1) {
		if len(run) >= len(fence) {
			fence = run + "`"
		}
	}
	return fence + "\n" + b.String() + fence + "\n"
}

func cleanCode(line string) string {
	line = strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")
	line = strings.Map(Visible, terminalSequence.ReplaceAllString(strings.ToValidUTF8(line, replacement), ""))
	return strings.ReplaceAll(line, "<!--", "<! --")
}

// inline writes the text of a block on one line, at most so many characters of
// the source.
func (q *quoter) inline(block ast.Node, room int) string {
	w := inlineWriter{q: q, room: room}
	w.children(block)
	w.flush()
	return strings.TrimSpace(w.b.String())
}

type inlineWriter struct {
	q    *quoter
	b    strings.Builder
	run  strings.Builder // text not written yet: a keyword and its reference may be apart
	room int             // in characters
	full bool
}

// take returns as much of a text as there is room for.
func (w *inlineWriter) take(s string) string {
	if w.full {
		return ""
	}
	if n := utf8.RuneCountInString(s); n <= w.room {
		w.room -= n
		return s
	}
	s = firstRunes(s, w.room) + "…"
	w.full, w.q.cut = true, true
	return s
}

func (w *inlineWriter) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c)
	}
}

func (w *inlineWriter) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.run.WriteString(w.take(unescaped(n.Segment.Value(w.q.source))))
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.run.WriteString(" ")
		}
	case *ast.String:
		w.run.WriteString(w.take(string(n.Value)))
	case *ast.CodeSpan:
		w.code(string(rawText(n, w.q.source)))
	case *ast.AutoLink:
		w.code(string(n.URL(w.q.source)))
	case *ast.Link:
		w.link(n)
	case *ast.Image, *ast.RawHTML:
		// left out
	default: // emphasis: its text
		w.children(n)
	}
}

// code writes inline code.
func (w *inlineWriter) code(s string) {
	w.flush()
	w.b.WriteString(Code(w.take(s)).String())
}

// link writes the text of a link, and the address where it may be one.
func (w *inlineWriter) link(n *ast.Link) {
	w.flush()
	inner := inlineWriter{q: w.q, room: w.room, full: w.full}
	inner.children(n)
	inner.flush()
	w.room, w.full = inner.room, inner.full
	title, target := strings.TrimSpace(inner.b.String()), Redirected(string(n.Destination))
	switch {
	case title == "":
	case target != "" && !strings.Contains(title, "]("):
		w.b.WriteString("[" + title + "](" + target + ")")
	default:
		w.b.WriteString(title)
	}
}

// flush writes the text that is waiting.
func (w *inlineWriter) flush() {
	s := w.run.String()
	w.run.Reset()
	s = terminalSequence.ReplaceAllString(strings.ToValidUTF8(s, replacement), "")
	joined := strings.Map(Visible, strings.Join(strings.Fields(s), " "))
	if joined == "" {
		if s != "" {
			w.b.WriteString(" ")
		}
		return
	}
	// White space at the ends divides the text from what is beside it.
	if strings.TrimLeft(s, " \t\r\n") != s {
		w.b.WriteString(" ")
	}
	w.b.WriteString(inert(joined))
	if strings.TrimRight(s, " \t\r\n") != s {
		w.b.WriteString(" ")
	}
}

// unescaped is what Markdown shows for a text.
func unescaped(raw []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(raw))))
}

// rawText joins the texts below a node unchanged.
func rawText(n ast.Node, source []byte) []byte {
	var b bytes.Buffer
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		}
	}
	return b.Bytes()
}

// onGitHub matches an address that GitHub would take for a reference.
var onGitHub = regexp.MustCompile(`^https?://(?:www\.|redirect\.)?github\.com(/[A-Za-z0-9._/-]*)?(?:#[A-Za-z0-9_-]*)?$`)

// Redirected returns an address on github.com by the way of its redirects; empty for
// any other address.
func Redirected(address string) string {
	if m := onGitHub.FindStringSubmatch(address); m != nil {
		return "https://redirect.github.com" + m[1]
	}
	return ""
}
