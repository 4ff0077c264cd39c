package hclfile

import "github.com/apparentlymart/go-textseg/v15/textseg"

// piecesJSON is piecesNative for JSON, where a string is one piece.
func piecesJSON(src []byte, most int) (pieces, line int) {
	line = searchJSON(src, func(byte) bool { pieces++; return pieces > most })
	return pieces, line
}

// deepJSON returns the line at which brackets nest deeper than maxDepth, or 0.
func deepJSON(src []byte) int {
	depth := 0
	return searchJSON(src, func(first byte) bool {
		switch first {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		return depth > maxDepth
	})
}

// searchJSON returns the line of the first token for which found is true, or 0.
// Tokens are those of HCL's JSON scanner, which differ a little from JSON's.
// found gets the first byte of the token.
func searchJSON(src []byte, found func(first byte) bool) int {
	line := 1
	for i := 0; i < len(src); {
		c, start := src[i], i
		i++
		switch {
		case c == '\n':
			line++
			continue
		case c == ' ' || c == '\t' || c == '\r':
			continue
		case c == '"':
			i = endOfString(src, i)
		case inNumber(c) && c|0x20 != 'e':
			for i < len(src) && inNumber(src[i]) {
				i++
			}
		case isLetter(c):
			for i < len(src) && isLetter(src[i]) {
				i++
			}
		}
		if found(src[start]) {
			return line
		}
	}
	return 0
}

func inNumber(c byte) bool {
	return isDigit(c) || c == '-' || c == '+' || c == '.' || c|0x20 == 'e'
}

// endOfString returns the end of a string that began before i: after a quotation
// mark, or at a control character. A byte that looks like the mark may be the end
// of a user-perceived character.
func endOfString(src []byte, i int) int {
	escaped := false
	for i < len(src) {
		switch c := src[i]; {
		case c < ' ':
			return i
		case c == '\\':
			escaped = !escaped
			i++
		case c == '"' && !escaped:
			return i + 1
		case c < 0x80:
			escaped = false
			i++
		default:
			n, _, _ := textseg.ScanGraphemeClusters(src[i:], true)
			escaped = false
			i += max(n, 1)
		}
	}
	return i
}
