package render

import (
	"html"
	"strconv"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/safe"
)

// markup is HTML of the page. Constants can have the type; text gets it by escaped alone: the
// compiler refuses a string, and TestMarkupIsMadeInOneFile a conversion elsewhere.
type markup string

// escaped is a text for an element or for an attribute in quotation marks.
func escaped(s string) markup { return markup(html.EscapeString(s)) }

func numeral(n int) markup { return markup(strconv.Itoa(n)) }

func decimal(f float64) markup { return markup(strconv.FormatFloat(f, 'f', 2, 64)) }

// markupOf joins the markup of elements.
func markupOf[T any](list []T, of func(T) markup) markup {
	var b strings.Builder
	for _, e := range list {
		b.WriteString(string(of(e)))
	}
	return markup(b.String())
}

// onlyIf is the markup if something holds, else empty.
func onlyIf(holds bool, m markup) markup {
	if holds {
		return m
	}
	return ""
}

// counted is a number and its noun.
func counted(n int, one, many string) markup { return escaped(collect.Count(n, one, many)) }

// prose is a text with its code and its links. Spans has only harmless addresses.
func prose(m safe.Markdown) markup {
	return markupOf(m.Spans(), func(s safe.Span) markup {
		switch {
		case s.URL != "":
			return `<a href="` + escaped(s.URL) + `" rel="noreferrer">` + escaped(s.Text) + `</a>`
		case s.Code:
			return `<code>` + escaped(s.Text) + `</code>`
		}
		return escaped(s.Text)
	})
}

func bullets(list []safe.Markdown) markup {
	return markupOf(list, func(m safe.Markdown) markup { return `<li>` + prose(m) + `</li>` })
}

// folded is a block that a click on its summary opens.
func folded(summary, hidden markup) markup {
	return `<details><summary>` + summary + `</summary>` + hidden + `</details>`
}

func preformatted(lines []string) markup {
	return `<pre>` + markupOf(lines, func(line string) markup { return escaped(line) + "\n" }) + `</pre>`
}

func pageSection(id, title, content markup) markup {
	return "\n<section id=\"" + id + `"><h2>` + title + `</h2>` + content + `</section>`
}

// table can be sorted. It has a column for each heading, except for columns
// without content. The filter of the page shows and hides its rows.
func table(label, class markup, headings []markup, rows [][]markup) markup {
	lines := filled(headings, rows, emptyCell)
	return "\n" + `<div class="scroll" tabindex="0" role="region" aria-label="` + label + `"><table class="` + class + `">` +
		"\n<thead><tr>" + markupOf(lines[0], func(h markup) markup { return `<th scope="col">` + h + `</th>` }) + "</tr></thead>\n<tbody>" +
		markupOf(lines[1:], func(row []markup) markup {
			return "\n<tr class=\"row\">" + markupOf(row, func(cell markup) markup { return cell }) + `</tr>`
		}) + "\n</tbody></table></div>"
}

func td(m markup) markup { return `<td>` + m + `</td>` }

const emptyCell markup = `<td></td>`

// rowHead is the cell with the name of a row.
func rowHead(m markup) markup { return `<th scope="row">` + m + `</th>` }

// name is the name of a file or a directory.
func name(path string) markup { return `<code>` + escaped(safe.Plain(path)) + `</code>` }
