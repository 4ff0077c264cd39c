package report

import (
	"path/filepath"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// Asked is the restriction of a run by its user. Settings of a configuration file
// hold on every machine and are not in it.
type Asked struct {
	Providers []provider.Pattern
	Platforms []provider.Platform
}

// CommandLine is the command line that does the same in a checkout. It is shown
// as a block of code, from which people copy it into a shell.
func CommandLine(verb verbs.Verb, asked Asked, dirs []string) string {
	words := []string{"relock", string(verb)}
	for _, p := range asked.Providers {
		words = append(words, "--provider", safe.ShellWord(p.Given()))
	}
	for _, p := range asked.Platforms {
		words = append(words, "--platform", p.String())
	}
	for _, dir := range dirs {
		words = append(words, safe.ShellWord(dir))
	}
	return strings.Join(words, " ")
}

// MendingVerb is the verb that fixes the lock files of all root modules. It is
// upgrade if a version must move: that completes hashes, too. Otherwise it is the
// verb of the run.
func (r Report) MendingVerb(verb verbs.Verb) verbs.Verb {
	if len(r.dirs(Module.NeedsUpgrade)) > 0 {
		return verbs.Upgrade
	}
	return verb
}

// Mending says which command fixes lock files. Its zero value is no command.
type Mending struct {
	// Verb is upgrade or lock, with the Flags that it needs.
	Verb  verbs.Verb
	Flags []settings.GivenFlag
	// Top is the directory to run the command in: the top of a checkout below the
	// working directory, in the run's words. Empty means the working directory.
	Top string
	// Comments means that a comment under the pull request can do the same, if it
	// names the Directories.
	Comments    bool
	Directories []string
}

// Command is the command line for some root modules. It is for all root modules
// if they are many or if a name cannot be copied. It is empty if no command is
// known.
func (m Mending) Command(dirs []string) string {
	if m.Verb == "" {
		return ""
	}
	words := "relock " + string(m.Verb)
	for _, f := range m.Flags {
		words += " --" + f.Name
		if f.Value != "" {
			words += " " + safe.ShellWord(f.Value)
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
		named += " " + safe.ShellWord(dir)
	}
	if len(dirs) > fewDirs || len(named)-len(words) > longestNames {
		return words
	}
	return named
}

// fewDirs is the highest number of root modules that a command names. longestNames is the
// highest length of these names in bytes, with spaces.
const (
	fewDirs      = 5
	longestNames = 80
)

// Comment is the command in a comment under the pull request; empty if no comment
// can do the same.
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
	for _, dir := range m.Directories {
		words += " " + safe.ShellWord(dir)
	}
	return words
}
