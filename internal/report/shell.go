package report

import (
	"strings"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
)

// Asked is what whoever asked for a run restricted it to. What a configuration
// file says holds on every machine, and is not in it.
type Asked struct {
	Providers []provider.Pattern
	Platforms []provider.Platform
}

// CommandLine is the command line that does the same in a checkout. It is for a
// block of code, from which people copy it into a shell.
func CommandLine(verb verbs.Verb, asked Asked, dirs []string) string {
	words := []string{"relock", string(verb)}
	for _, p := range asked.Providers {
		words = append(words, "--provider", ShellWord(p.Given()))
	}
	for _, p := range asked.Platforms {
		words = append(words, "--platform", p.String())
	}
	for _, dir := range dirs {
		words = append(words, ShellWord(dir))
	}
	return strings.Join(words, " ")
}

// ShellWord makes a directory, or another text that holds no control characters
// once it is Plain, one word of a POSIX shell.
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
	return "'" + strings.ReplaceAll(safe.Plain(word), "'", `'\''`) + "'"
}
