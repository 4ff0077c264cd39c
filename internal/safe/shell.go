package safe

import "strings"

// ShellWord makes a text one word of a POSIX shell. Plain must leave no control
// characters in it, as in a directory's name.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/-", r)
	}
	if strings.HasPrefix(word, "-") {
		word = "./" + word
	}
	if !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(Plain(word), "'", `'\''`) + "'"
}
