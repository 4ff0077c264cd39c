package safe

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/collect"
)

// Markdown is a text for people that marks each outside piece: a word, a
// sentence, or the body of a pull request. Constants make it, and Text, Code,
// Element and Link for everything else, so that a piece which is not made
// harmless does not compile. String writes it for GitHub, Terminal and Plain as
// plain text, and Spans for a page of HTML.
//
// It is comparable, and the zero value is the empty text.
//
// It is one string. Outside pieces are in it between marks: bytes that no UTF-8
// text has, so that no text can forge them. A list of pieces would cost a report
// of thousands of root modules several allocations a sentence.
type Markdown struct{ s string }

// The marks. A piece begins with one of them and ends with markEnd; arrowMark is
// a piece by itself, and so is detailMark. The text of a link may hold other pieces.
const (
	firstMark   = 0xf8 // no smaller byte is a mark
	textMark    = 0xf8
	codeMark    = 0xf9
	elementMark = 0xfa
	linkMark    = 0xfb // the text of a link, linkTo, and its address
	linkTo      = 0xfc
	arrowMark   = 0xfd
	detailMark  = 0xfe // before and after a detail, which may hold other pieces
	markEnd     = 0xff
)

// wording is the type of constants. Other packages cannot name it, so a variable
// never has it.
type wording string

// Const returns a constant with its markup.
func Const(text wording) Markdown { return Markdown{string(text)} }

// Text returns outside text that is shown literally.
func Text(outside string) Markdown { return piece(textMark, Plain(outside)) }

// Code returns outside text as inline code. It is empty for an empty text.
func Code(outside string) Markdown { return piece(codeMark, Plain(outside)) }

// Hint is the outside text of a hint: Text, in which each part between two backquotes is
// Code.
func Hint(outside string) Markdown {
	parts := strings.Split(Plain(outside), "`")
	if len(parts)%2 == 0 {
		return Text(outside)
	}
	for i, part := range parts {
		parts[i] = piece([]byte{textMark, codeMark}[i%2], part).s
	}
	return Markdown{strings.Join(parts, "")}
}

// Element is Code for places where GitHub does not parse Markdown, such as the
// summary of a collapsed block.
func Element(outside string) Markdown { return piece(elementMark, Plain(outside)) }

func piece(mark byte, plain string) Markdown {
	if plain == "" {
		return Markdown{}
	}
	return Markdown{string([]byte{mark}) + plain + string([]byte{markEnd})}
}

// Link returns a text that links to an address from GitHub. If the address has
// characters that such addresses do not have, the result is only the text; on
// GitHub the address follows as code.
func Link(text Markdown, url string) Markdown {
	if !linkable.MatchString(url) {
		url = Plain(url)
	}
	return Markdown{string([]byte{linkMark}) + text.s + string([]byte{linkTo}) + url + string([]byte{markEnd})}
}

// Arrow is between an old and a new value.
var Arrow = Markdown{string([]byte{arrowMark})}

// Detail returns a part of a sentence that is about one place only, such as the
// place itself. It may not hold another detail.
func Detail(format wording, texts ...Markdown) Markdown {
	mark := string([]byte{detailMark})
	return Markdown{fillIn(mark, string(format), texts).s + mark}
}

// WithoutDetails returns the text for several places.
func (m Markdown) WithoutDetails() Markdown {
	var b strings.Builder
	for i, part := range strings.Split(m.s, string([]byte{detailMark})) {
		if i%2 == 0 {
			b.WriteString(part)
		}
	}
	return Markdown{b.String()}
}

// Int returns a number.
func Int(n int) Markdown { return Markdown{strconv.Itoa(n)} }

// Count returns a number and its noun.
func Count(n int, one, many wording) Markdown {
	return Const(wording(collect.Count(n, string(one), string(many))))
}

// Some is Count, and empty for none.
func Some(n int, one, many wording) Markdown {
	if n < 1 {
		return Markdown{}
	}
	return Count(n, one, many)
}

// FirstOf joins up to most texts by commas, and counts more of them.
func FirstOf(texts []Markdown, most int, one, many wording) Markdown {
	return Join(", ", texts[:min(len(texts), most)]...).AndMaybe(" and %s", Some(len(texts)-most, one, many))
}

// Join returns the texts with the constant between them.
func Join(between wording, texts ...Markdown) Markdown {
	size := 0
	for _, t := range texts {
		size += len(between) + len(t.s)
	}
	var b strings.Builder
	b.Grow(size)
	for i, t := range texts {
		if i > 0 {
			b.WriteString(string(between))
		}
		b.WriteString(t.s)
	}
	return Markdown{b.String()}
}

// JoinSome is Join of the texts that are not empty.
func JoinSome(between wording, texts ...Markdown) Markdown {
	return Join(between, slices.DeleteFunc(slices.Clone(texts), Markdown.Empty)...)
}

// Format returns the constant with the texts in place of each %s.
func Format(format wording, texts ...Markdown) Markdown { return fillIn("", string(format), texts) }

// And returns m followed by what Format returns.
func (m Markdown) And(format wording, texts ...Markdown) Markdown {
	return fillIn(m.s, string(format), texts)
}

// Maybe is Format with one text. It is empty if the text is empty.
func Maybe(format wording, text Markdown) Markdown { return Markdown{}.AndMaybe(format, text) }

// AndMaybe returns m followed by what Maybe returns.
func (m Markdown) AndMaybe(format wording, text Markdown) Markdown {
	if text.Empty() {
		return m
	}
	return m.And(format, text)
}

// fillIn returns before, followed by a format with the texts in place of each %s.
func fillIn(before, format string, texts []Markdown) Markdown {
	if strings.Count(format, "%s") != len(texts) {
		panic("safe: there is not one text for each place in " + strconv.Quote(format))
	}
	size := len(before) + len(format)
	for _, t := range texts {
		size += len(t.s)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(before)
	for _, t := range texts {
		words, rest, _ := strings.Cut(format, "%s")
		b.WriteString(words)
		b.WriteString(t.s)
		format = rest
	}
	b.WriteString(format)
	return Markdown{b.String()}
}

// Empty reports whether the text is empty.
func (m Markdown) Empty() bool { return m.s == "" }

// Len is the number of bytes for GitHub.
func (m Markdown) Len() int { return len(m.String()) }

// Trimmed returns the text without surrounding blanks and line ends; outside
// pieces keep theirs.
func (m Markdown) Trimmed() Markdown { return Markdown{strings.Trim(m.s, " \t\r\n")} }

// Line returns the text with exactly one line end.
func (m Markdown) Line() Markdown { return Markdown{strings.TrimRight(m.s, "\n") + "\n"} }

// Written returns the text in its form for GitHub. Its pieces are no longer
// marked, so it is for GitHub only. Its length is then known without writing it
// again.
func (m Markdown) Written() Markdown { return Markdown{m.String()} }

// Stopless returns the text without the full stop at its end, if it has one.
func (m Markdown) Stopless() Markdown {
	s := m.s
	if strings.HasSuffix(s, ".") {
		return Markdown{s[:len(s)-1]}
	}
	if open := lastMark(s); open >= 0 && s[open] == textMark && s[len(s)-2] == '.' {
		return Markdown{s[:open]}.And("%s", piece(textMark, s[open+1:len(s)-2]))
	}
	return m
}

// lastMark is the position of the piece at the end of the text; negative if the
// text ends in our own words.
func lastMark(s string) int {
	if s == "" || s[len(s)-1] != markEnd {
		return -1
	}
	open := len(s) - 2
	for s[open] < firstMark {
		open--
	}
	return open
}

// Capital returns the text with a capital letter at its beginning. Code and
// addresses are unchanged.
func (m Markdown) Capital() Markdown {
	at := 0
	if m.s != "" && m.s[0] == textMark {
		at = 1
		if first := address.FindStringIndex(m.s[at:]); first != nil && first[0] == 0 {
			return m
		}
	}
	r, size := utf8.DecodeRuneInString(m.s[at:])
	if r == utf8.RuneError {
		return m
	}
	return Markdown{m.s[:at] + string(unicode.ToUpper(r)) + m.s[at+size:]}
}

// Sentence returns a message as a sentence: with a capital letter at its beginning and
// a full stop at its end. A message of several lines keeps its end.
func (m Markdown) Sentence() Markdown {
	m = m.Capital()
	text := m.String()
	if text == "" || strings.Contains(text, "\n") || strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
		return m
	}
	return m.And(".")
}
