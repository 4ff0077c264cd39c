package report

import (
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
)

// Asked is what whoever asked for a run restricted it to. What a configuration
// file says holds on every machine, and is not in it.
type Asked struct {
	Providers []provider.Pattern
	Platforms []provider.Platform
}

// CommandLine is the command line that does the same in a checkout. It is for a
// block of code, from which people copy it into a shell.
func CommandLine(verb string, asked Asked, dirs []string) string {
	words := []string{"relock", verb}
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

// plainName matches what needs no quoting in a shell and no care in Markdown.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)

// fewArguments is the number of root modules up to which a command line names them.
const fewArguments = 8

// sameHere is the command line that makes the report's changes. It stands in the
// text of a pull request, so that it names root modules only if every name is
// plain.
func sameHere(r Report) string {
	dirs := r.PendingDirs()
	odd := slices.ContainsFunc(dirs, func(dir string) bool { return dir != "." && !plainName.MatchString(dir) })
	if odd || len(dirs) > fewArguments {
		dirs = nil
	}
	return CommandLine(VerbUpgrade, r.Asked, dirs)
}
