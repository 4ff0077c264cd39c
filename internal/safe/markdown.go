package safe

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Markdown is a text for people in which every piece from outside is known as such: a
// word, a sentence, or the whole body of a pull request. It is made from constants, and
// by Text, Code, Element and Link from all else, so that a piece which nobody has made
// harmless does not compile. String writes it for GitHub, Terminal and Plain as plain
// text, and Spans for a page of HTML.
//
// It is comparable, and the zero value is the empty text.
//
// It holds one string. What comes from outside is in it between marks: bytes that
// no UTF-8 text has, so that no text can forge them. A list of pieces would cost a
// report of thousands of root modules several allocations a sentence.
type Markdown struct{ s string }

// The marks. A piece begins with one of them and ends with markEnd; arrowMark stands
// alone. The text of a link may hold other pieces.
const (
	firstMark   = 0xf8 // no smaller byte is a mark
	textMark    = 0xf8
	codeMark    = 0xf9
	elementMark = 0xfa
	linkMark    = 0xfb // the text of a link, linkTo, and its address
	linkTo      = 0xfc
	arrowMark   = 0xfd
	markEnd     = 0xff
)

// wording is the type of constants. Nobody else can name it, so that a variable is
// never one.
type wording string

// Const returns a constant as it is, with the markup that it has.
func Const(text wording) Markdown { return Markdown{string(text)} }

// Text returns outside text that stays the text it is.
func Text(outside string) Markdown { return piece(textMark, Plain(outside)) }

// Code returns outside text as inline code. It is empty for an empty text.
func Code(outside string) Markdown { return piece(codeMark, Plain(outside)) }

// Element is Code for places where Markdown is not parsed, such as the summary of a
// collapsed block.
func Element(outside string) Markdown { return piece(elementMark, Plain(outside)) }

func piece(mark byte, plain string) Markdown {
	if plain == "" {
		return Markdown{}
	}
	return Markdown{string([]byte{mark}) + plain + string([]byte{markEnd})}
}

// Link returns a text that leads to an address which GitHub itself gave us. If the
// address has characters that such addresses do not have, it is the text alone, and on
// GitHub the address behind it as code.
func Link(text Markdown, url string) Markdown {
	if !linkable.MatchString(url) {
		url = Plain(url)
	}
	return Markdown{string([]byte{linkMark}) + text.s + string([]byte{linkTo}) + url + string([]byte{markEnd})}
}

// Arrow is between what was and what is.
var Arrow = Markdown{string([]byte{arrowMark})}

// Int returns a number.
func Int(n int) Markdown { return Markdown{strconv.Itoa(n)} }

// Count returns a number and its noun.
func Count(n int, one, many wording) Markdown {
	if n == 1 {
		return Const("1 " + one)
	}
	return Const(wording(strconv.Itoa(n)) + " " + many)
}

// Join returns the texts with the same between each two.
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

// Format returns the constant with the texts in place of each %s.
func Format(format wording, texts ...Markdown) Markdown { return fillIn("", string(format), texts) }

// And returns m followed by what Format returns.
func (m Markdown) And(format wording, texts ...Markdown) Markdown {
	return fillIn(m.s, string(format), texts)
}

// fillIn returns what is before, and a format with the texts in place of each %s.
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

// Empty reports whether there is nothing in it.
func (m Markdown) Empty() bool { return m.s == "" }

// Len is the number of bytes that GitHub gets.
func (m Markdown) Len() int { return len(m.String()) }

// Trimmed returns the text without blanks and ends of lines around it, except for those of
// pieces from outside.
func (m Markdown) Trimmed() Markdown { return Markdown{strings.Trim(m.s, " \t\r\n")} }

// Line returns the text with the end of one line at its end, however many it had.
func (m Markdown) Line() Markdown { return Markdown{strings.TrimRight(m.s, "\n") + "\n"} }

// Written returns the text as GitHub gets it. What is in it is not told apart any
// more, so that it is for GitHub alone, and its length is found without writing it again.
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

// lastMark is where the piece begins in which the text ends; negative if it ends in
// words of ours.
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

// Capital returns the text with a capital letter at its beginning. Code and addresses
// stay as they are.
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
