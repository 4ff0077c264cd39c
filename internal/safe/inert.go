package safe

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxOutside is the highest number of characters of one outside text. Longer
// texts are cut; the JSON report has all of them.
const maxOutside = 400

// The marks that this file leaves in text.
const (
	replacement = "\uFFFD" // replaces characters that must not be printed, and makes them visible
	// gap is a zero-width space. Plain outside text has none, so each one that
	// inert finds later is its own.
	gap = "\u200B"
)

// terminalSequence matches the escape sequences of terminals: control
// sequences, operating system commands and two-character escapes (ECMA-48).
var terminalSequence = regexp.MustCompile(
	"(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" + "|" +
		"(?:\x1b\\]|\u009d)[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)" + "|" +
		"\x1b[ -/]*[0-~]")

// Plain makes outside text harmless on a terminal: one line of limited length
// without escape sequences. White space becomes single spaces. Control and
// invisible characters, such as those that change the direction of writing,
// become U+FFFD.
func Plain(s string) string {
	if isPlain(s) {
		return s
	}
	// The text may have any length; the part far beyond the cut is not read.
	end := 2 * maxOutside * utf8.UTFMax
	cut := len(s) > end
	s = s[:min(len(s), end)]
	s = strings.ToValidUTF8(s, replacement)
	if strings.ContainsAny(s, "\x1b\u009b\u009d") {
		s = terminalSequence.ReplaceAllString(s, "")
	}
	s = strings.Map(Visible, strings.Join(strings.Fields(s), " "))
	if cut || utf8.RuneCountInString(s) > maxOutside {
		s = strings.TrimRight(firstRunes(s, maxOutside-1), " ") + "…"
	}
	return s
}

// isPlain reports quickly whether a text is Plain already: most texts are short
// and ASCII.
func isPlain(s string) bool {
	before := byte(' ')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == ' ' && before == ' ' {
			return false
		}
		before = s[i]
	}
	return len(s) <= maxOutside && (s == "" || before != ' ')
}

func firstRunes(s string, n int) string {
	runes := []rune(s)
	return string(runes[:min(len(runes), n)])
}

// Visible returns a visible character unchanged, and U+FFFD for any other.
// Unicode's category Cf has the bidirectional controls, zero-width characters and
// tags; Co is private use.
func Visible(r rune) rune {
	if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) {
		return utf8.RuneError
	}
	return r
}

// address matches text that GitHub turns into a link, up to white space or a
// quotation mark.
var address = regexp.MustCompile(`(?i)\b(?:[a-z][a-z0-9+.-]*://|www\.)[^\s<>"'` + "`" + `]+`)

// inert makes text that is Plain harmless in Markdown as GitHub renders it and in
// HTML: it stays the text it is, on one line, and becomes neither markup nor a
// mention, a reference, a closing keyword or a link. An address is shown as
// code, since a link to an issue leaves a trace there and a link from a
// stranger invites a click. The text may have any length.
func inert(s string) string {
	s = unclosing(s)
	var b strings.Builder
	written := 0
	for _, at := range address.FindAllStringIndex(s, -1) {
		end := at[0] + len(strings.TrimRight(s[at[0]:at[1]], ".,;:!?)"))
		b.WriteString(entities(unlinked(s[written:at[0]])))
		b.WriteString(codeSpan(Plain(s[at[0]:end])))
		written = end
	}
	b.WriteString(entities(unlinked(s[written:])))
	return b.String()
}

// codeSpan returns text that is Plain as inline code, where GitHub looks for neither
// mentions nor references. Where Markdown is not parsed, codeElement serves.
func codeSpan(s string) string {
	if notSpan.MatchString(s) {
		return codeElement(s)
	}
	return "`" + s + "`"
}

// notSpan matches what cannot be between two backticks: a backtick, a bar,
// which would end a table cell, and what looks like a tag or a comment to a
// program that searches the source, as we do for our own marker.
var notSpan = regexp.MustCompile("[`|]|<[!/?a-zA-Z]")

// codeElement returns Plain text as a code element of HTML. Its content is made
// inert, too, since GitHub parses Markdown in it.
func codeElement(s string) string {
	return "<code>" + entities(unlinked(unclosing(s))) + "</code>"
}

// linkable matches an address that can be in a link of Markdown unchanged.
var linkable = regexp.MustCompile(`^https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._/-]*)?$`)

// Linkable reports whether an address can be in a link of Markdown unchanged.
func Linkable(url string) bool { return linkable.MatchString(url) }

// link returns a link, or the text, with the address as code.
func link(text, url string) string {
	if linkable.MatchString(url) {
		return "[" + text + "](" + url + ")"
	}
	if url == "" {
		return strings.TrimSpace(text)
	}
	return strings.TrimSpace(text + " " + codeSpan(url))
}

// closing matches a word with which GitHub closes an issue, before a possible
// reference.
var closing = regexp.MustCompile(`(?i)\b(close[sd]?|fix|fixe[sd]|resolve[sd]?)(:?\s+)(\S*#|GH-|\S*://|www\.)`)

// unclosing breaks closing keywords.
func unclosing(s string) string {
	return closing.ReplaceAllStringFunc(s, func(match string) string {
		return match[:1] + gap + match[1:]
	})
}

// reference matches the beginnings of mentions (@name, @org/team), of
// references to issues (#1, owner/repo#1, GH-1) and to commits (name@hash), and
// of addresses.
var reference = regexp.MustCompile(`(?i)@|#|\bGH-|://|\bwww\.`)

// unlinked keeps GitHub from making links of parts of the text.
func unlinked(s string) string { return reference.ReplaceAllString(s, "${0}"+gap) }

// listed matches a possible beginning of a list item, a rule or the underline of
// a heading.
var listed = regexp.MustCompile(`^(?:[-+=]|\d+[.)](?: |$))`)

// unlisted keeps text at the beginning of a list item or a line from starting
// another block.
func unlisted(s string) string {
	if listed.MatchString(s) {
		return gap + s
	}
	return s
}

// entities writes every character with a meaning in Markdown or HTML as a
// character reference. A reference is never markup. Unlike a backslash escape, it
// works in table cells and inside HTML elements.
var entities = func() func(string) string {
	pairs := []string{gap, "&#8203;", "&", "&amp;", "<", "&lt;", ">", "&gt;"}
	for _, c := range "\\`*_[]|~$\"'" {
		pairs = append(pairs, string(c), fmt.Sprintf("&#%d;", c))
	}
	return strings.NewReplacer(pairs...).Replace
}()
