package render

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/safe"
)

// style is a colour or weight of a terminal, by its ECMA-48 parameter.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// printer writes text for a terminal of a given width.
type printer struct {
	strings.Builder
	color bool
	width int // 0: unlimited
}

func (p *printer) paint(s style, text string) string {
	if !p.color || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// cell is the text of one column, short enough to stay on one line.
type cell struct {
	text  safe.Markdown
	style style
}

// row is the cells of a table row, and a last column that wraps.
type row struct {
	cells []cell
	rest  safe.Markdown
}

// The measures of a table.
const (
	tableIndent = 2
	tableGap    = 2
	leastRest   = 24 // columns; if the last column has less, it goes below the others
)

// table writes rows in aligned columns, under optional headings. On a narrow
// terminal it writes each row as a small paragraph instead.
func (p *printer) table(rows []row, headings ...safe.Markdown) {
	if last := len(headings) - 1; last > 0 && len(rows) > 0 {
		head := row{rest: headings[last]}
		for _, name := range headings[:last] {
			head.cells = append(head.cells, cell{name, dim})
		}
		rows = append([]row{head}, rows...)
	}
	widths := columnWidths(rows)
	lead := tableIndent
	for _, w := range widths {
		lead += w + tableGap
	}
	for i, r := range rows {
		if p.width > 0 && lead+leastRest > p.width {
			if i > 0 || len(headings) == 0 {
				p.stacked(r)
			}
			continue
		}
		var line strings.Builder
		line.WriteString(strings.Repeat(" ", tableIndent))
		for i, c := range r.cells {
			text := c.text.Terminal()
			line.WriteString(p.paint(c.style, text))
			line.WriteString(strings.Repeat(" ", widths[i]-Columns(text)+tableGap))
		}
		for i, part := range p.wrap(r.rest, lead, lead) {
			if i > 0 {
				line.WriteString("\n" + strings.Repeat(" ", lead))
			}
			line.WriteString(part)
		}
		p.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func columnWidths(rows []row) []int {
	var widths []int
	for _, r := range rows {
		for i, c := range r.cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Columns(c.text.Terminal()))
		}
	}
	return widths
}

func (p *printer) stacked(r row) {
	if name := r.cells[0]; !name.text.Empty() {
		p.paragraph(tableIndent, cell{}, name.text)
	}
	texts := collect.Mapped(r.cells[1:], func(c cell) safe.Markdown { return c.text })
	if text := safe.JoinSome(", ", append(texts, r.rest)...); !text.Empty() {
		p.paragraph(2*tableIndent, cell{}, text)
	}
}

// paragraph writes wrapped text after a head such as "error:". Further lines are
// indented by two more columns.
func (p *printer) paragraph(indent int, head cell, text safe.Markdown) {
	label := head.text.Terminal()
	p.WriteString(strings.Repeat(" ", indent) + p.paint(head.style, label))
	first, hang := indent, indent+2
	if label != "" {
		first += Columns(label) + 1
	}
	for i, line := range p.wrap(text, first, hang) {
		switch {
		case i > 0:
			p.WriteString(strings.Repeat(" ", hang))
		case label != "" && line != "":
			p.WriteString(" ")
		}
		p.WriteString(line + "\n")
	}
}

// painted writes a paragraph in one style.
func (p *printer) painted(s style, text safe.Markdown) {
	for _, line := range p.wrap(text, 0, 0) {
		p.WriteString(p.paint(s, line) + "\n")
	}
}

// wrap breaks text into lines. The first line leaves room for first columns, the
// others for hang. A word that is too long gets a line of its own and is not
// broken, so that people can copy it. Such a word may leave the first line empty.
func (p *printer) wrap(markdown safe.Markdown, first, hang int) []string {
	text := markdown.Terminal()
	if p.width <= 0 {
		return []string{text}
	}
	var lines []string
	line, room := "", p.width-first
	for word := range strings.SplitSeq(text, " ") {
		full := line != "" && Columns(line)+1+Columns(word) > room
		if full || line == "" && Columns(word) > room && first > hang {
			lines, line, room, first = append(lines, line), "", p.width-hang, hang
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// Columns is the number of columns of a text on a terminal.
func Columns(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
		return 0
	case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// CutFront shortens text to at most so many columns of a terminal, and begins it with an
// ellipsis. Without room for the ellipsis the result is empty.
func CutFront(text string, most int) string {
	if Columns(text) <= most {
		return text
	}
	if most < 1 {
		return ""
	}
	excess := Columns(text) + Columns(ellipsis) - most
	for i, r := range text {
		if excess <= 0 && columnsOf(r) > 0 {
			return ellipsis + text[i:]
		}
		excess -= columnsOf(r)
	}
	return ellipsis
}

const ellipsis = "…"
