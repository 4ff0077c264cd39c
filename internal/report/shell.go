package report

import (
	"path/filepath"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// Asked is what the person who asked for a run restricted it to. What a configuration
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

// Mending is how the lock files become what a check wants. Its zero value says nothing.
type Mending struct {
	// Verb is upgrade or lock, and Flags are those that it needs.
	Verb  verbs.Verb
	Flags []settings.GivenFlag
	// Top is the directory, as the run names it, in which the command is run: the top of a
	// checkout below the working directory. Empty: the working directory.
	Top string
	// Comments says that a comment under the pull request can command the same.
	Comments bool
}

// Command is the command line for some root modules: for all, if they are many or if the
// name of one cannot be copied. It is empty if nothing is known.
func (m Mending) Command(dirs []string) string {
	if m.Verb == "" {
		return ""
	}
	words := "relock " + string(m.Verb)
	for _, f := range m.Flags {
		words += " --" + f.Name
		if f.Value != "" {
			words += " " + ShellWord(f.Value)
		}
	}
	named := words
	for _, dir := range dirs {
		if m.Top != "" {
			below, err := filepath.Rel(m.Top, dir)
			if err != nil || !filepath.IsLocal(below) {
				return words
			}
			dir = filepath.ToSlash(below)
		}
		if safe.Plain(dir) != dir {
			return words
		}
		named += " " + ShellWord(dir)
	}
	if len(dirs) > fewDirs || len(named) > longestCommand {
		return words
	}
	return named
}

// fewDirs is the number of root modules up to which a command names them, and
// longestCommand how many bytes it has then.
const (
	fewDirs        = 5
	longestCommand = 300
)

// Comment is the command for a comment under the pull request; empty if none says the same.
func (m Mending) Comment() string {
	if !m.Comments {
		return ""
	}
	words := "/relock " + string(m.Verb)
	for _, f := range m.Flags {
		if f.Name != "platform" && f.Name != "provider" {
			return ""
		}
		words += " --" + f.Name + " " + f.Value
	}
	return words
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
