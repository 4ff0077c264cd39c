// Package config holds the settings of relock in one table. Flags, Action
// inputs, the configuration file, its JSON schema, its starting file and the
// list in the README are all made from that table or held to it by a test, so
// that a setting has one name, one meaning and one description.
//
// A setting's value is text until Resolve turns all of them into a Config: the
// sources (flags, inputs, file) are read into Values, Merge lays them over each
// other, and each value remembers where it came from, for error messages and
// for Show.
package config

import (
	"cmp"
	"slices"
	"strings"
)

// Kind is the type of a setting's value.
type Kind int

// The kinds.
const (
	Text      Kind = iota // one line
	Bool                  // true or false
	Number                // a whole number
	Choice                // one of Setting.Values
	List                  // texts
	Platforms             // auto, all, or a list of platforms
	Map                   // texts by name; an item is NAME=TEXT
)

// Setting is one row of the table. A setting that some source cannot give has
// no name there.
type Setting struct {
	// Key is the name in the configuration file; a dot separates sections.
	Key string
	// Flag is the name on the command line, without dashes.
	Flag string
	// Input is the name of the Action's input.
	Input string
	// Env is the environment variable that gives the value when no other
	// source does. Only secrets have one.
	Env  string
	Kind Kind
	// Default is the value that holds when no source gives one: a list is
	// separated by commas.
	Default string
	// InputDefault is the default that action.yml states, an expression that
	// the runner evaluates. Other inputs default to empty, which is not set:
	// a default there would outrank the configuration file.
	InputDefault string
	// Doc says what the setting does, in one or two sentences.
	Doc string
	// Values are those of a Choice.
	Values []string
	// Verbs are those that have the flag.
	Verbs []string
	// Secret values are never shown.
	Secret bool

	check func(string) error // of each item; nil accepts any text
	set   func(*Config, []string)
}

// Name identifies the setting in Values: its key, else its flag, else its input.
func (s Setting) Name() string { return cmp.Or(s.Key, s.Flag, s.Input) }

// Repeats reports whether the setting holds several values, so that its flag
// may be repeated and its input holds a list.
func (s Setting) Repeats() bool { return s.Kind == List || s.Kind == Platforms || s.Kind == Map }

// Description is Doc and the default, as action.yml and help texts give it.
func (s Setting) Description() string {
	if s.Default == "" || s.Kind == Bool {
		return s.Doc
	}
	return s.Doc + " Default: " + strings.ReplaceAll(s.Default, ",", ", ") + "."
}

// HasVerb reports whether the verb has the setting's flag.
func (s Setting) HasVerb(verb string) bool { return s.Flag != "" && slices.Contains(s.Verbs, verb) }

// defaults returns the items of the default value.
func (s Setting) defaults() []string {
	if s.Repeats() {
		return splitList(s.Default)
	}
	return []string{s.Default}
}

// splitList reads a list from one text: by comma or newline.
func splitList(text string) []string {
	var items []string
	for item := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }) {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// lookup finds a setting by one of its names; ok is false if there is none.
func lookup(of func(Setting) string, name string) (Setting, bool) {
	i := slices.IndexFunc(Settings, func(s Setting) bool { return name != "" && of(s) == name })
	if i < 0 {
		return Setting{}, false
	}
	return Settings[i], true
}

func key(s Setting) string   { return s.Key }
func flag(s Setting) string  { return s.Flag }
func input(s Setting) string { return s.Input }
