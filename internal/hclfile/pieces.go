package hclfile

import (
	"bytes"
	"unicode/utf8"
)

// piecesNative counts the pieces of a file in native syntax, and returns the line
// at which it has more than most, or 0. The count is never below the lexer's
// number of tokens, wherever a string, a template or a comment may begin. It also
// counts the content of strings. It only recognises comments of whole lines,
// since files have many.
func piecesNative(src []byte, most int) (pieces, line int) {
	number := 0
	for line := range bytes.Lines(src) {
		number++
		pieces += 2 // a literal that ends here, and the line's end
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if !isComment(line) {
			pieces += signs(line)
		}
		if pieces > most {
			return pieces, number
		}
	}
	return pieces, 0
}

// isComment reports whether a line is a comment and nothing else, or one literal
// if it should be the line of a heredoc or of a broken string.
func isComment(line []byte) bool {
	text := bytes.TrimLeft(line, " \t")
	return (bytes.HasPrefix(text, []byte("#")) || bytes.HasPrefix(text, []byte("//"))) &&
		!bytes.ContainsAny(text, "\"$%\\*\r") && utf8.Valid(text)
}

// signs counts the pieces in a line. A word is one, or two if it begins with a
// digit, since a name may follow a number. Every other sign but a blank is one,
// or two if it ends a template's literal.
func signs(line []byte) int {
	pieces, inWord := 0, false
	for _, c := range line {
		switch {
		case isDigit(c) && !inWord, c == '$', c == '%', c == '\r':
			pieces += 2
		case !isLetter(c) && !isDigit(c) && c != ' ' && c != '\t', isLetter(c) && !inWord:
			pieces++
		}
		inWord = isLetter(c) || isDigit(c)
	}
	return pieces
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }

// longNumber returns the line of the first sequence of more than maxDigits
// digits, or 0.
func longNumber(src []byte) int {
	digits := 0
	for i, c := range src {
		if !isDigit(c) {
			digits = 0
			continue
		}
		digits++
		if digits > maxDigits {
			return 1 + bytes.Count(src[:i], []byte("\n"))
		}
	}
	return 0
}
