// Package settings has the settings of relock. The fields of Settings, and of the structs in
// it, are the keys of the configuration file; tags name key, flag and input. The table All
// adds help, verbs and checks. Flags, Action inputs, the configuration file, its JSON schema,
// its first file, and the list in docs/configuration.md are made from this, or a test
// compares them. So a setting has one name, one meaning and one description.
//
// A setting's value is text until Resolve turns all values into a Settings. The sources
// (flags, inputs, files) are read into Values, and Merge lets stronger ones override weaker
// ones. Each value remembers its source, for error messages and for Show. Rules, groups and
// registries are lists of structs with keys of their own, which only a file has.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/verbs"
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
	Map                   // texts by name
	Lists                 // lists of texts by name
	Records               // maps of which each has the keys in Setting.Fields
	Named                 // such maps by name
)

// Setting is one row of the table, about a field of Settings or of a struct in it. A setting
// that some source cannot give has no name there. The names are in the tags of the field.
type Setting struct {
	// Key is the name in the configuration file; a dot separates sections. That of a field
	// of a record begins with the setting's and "[]." or, by name, ".*.".
	Key   string
	Flag  string // without dashes
	Input string // of the Action
	// Env is the environment variable that gives the value when no other source does. Only
	// secrets and what belongs to them have one.
	Env string

	// field is the address of the field in the model of its struct. index leads to it in
	// any such struct. list is the address of the records of a Map, if they go elsewhere,
	// and records leads to these.
	field, list    any
	index, records []int

	Kind    Kind
	Default string // where no source gives a value; a list is separated by commas
	// InputDefault is the default that action.yml states, an expression that the runner
	// evaluates. Other inputs default to empty, which is not set: a default there would
	// outrank the configuration file.
	InputDefault string
	Doc          string       // what the setting does, in one or two sentences
	Verbs        []verbs.Verb // that have the flag
	Values       []string     // of a Choice, or of the items of a List; empty: any
	Alone        string       // of a Choice: what the flag means without a value; empty: it needs one
	// Only are the verbs that alone take a value, by the value. Every verb takes the others.
	Only map[string][]verbs.Verb
	// Meanings are sentences about values, for the help of a verb that takes them.
	Meanings map[string]string
	Min      int // of a Number
	// Fields are the keys of Records and Named. A field that a record leaves out has no
	// value. A Map that has Fields may also be a list of such records.
	Fields   []Setting
	Most     int    // of records; 0: any number
	Required bool   // a field that no record may leave out
	Where    bool   // a field about where a record holds, not about what it says there
	Instead  string // the setting that a field replaces
	Single   bool   // the file may write a List as one text; an empty one is an empty list
	Operator bool   // only the operator's file may hold it, none that lies in a repository
	Secret   bool   // never shown
	Block    bool   // a text that may have several lines

	byName bool // items of several files override each other by their names, as in every map
	joins  bool // items of several files come one after the other
	late   bool // Resolve makes the records when all else is known
	// grouped ends the description of the key in groups that replaces the setting; empty:
	// there is none.
	grouped string
	// check refuses a text; of a map, and of Named, a name. It may be nil.
	check func(string) error
	read  parsing // of all but Records and Named
	// sound refuses a record beside those before it. It may be nil.
	sound func(s Setting, before []Item, r Item) error
	// lenient reports whether an item of a Map is less than another one of its name, which
	// a repository may not make of what the operator has chosen; nil: it may choose.
	lenient func(given, own Item) bool
}

// Name identifies the setting in Values: its key, else its flag, else its input. That of a
// field is its key in the record.
func (s Setting) Name() string {
	if s.inRecord() {
		return last(s.Key)
	}
	return cmp.Or(s.Key, s.Flag, s.Input)
}

// Repeats reports whether the setting holds several values, so that its flag
// may be repeated and its input holds a list.
func (s Setting) Repeats() bool {
	return slices.Contains([]Kind{List, Platforms, Map, Lists}, s.Kind)
}

// structured reports whether the value is made of records.
func (s Setting) structured() bool { return s.Kind == Records || s.Kind == Named }

// listable reports whether a map may be a list of records instead.
func (s Setting) listable() bool { return s.Kind == Map && len(s.Fields) > 0 }

// replaces reports whether the strongest value holds alone. Otherwise the values of several
// files become one.
func (s Setting) replaces() bool { return !s.byName && !s.joins }

// inRecord reports whether the row is a key of Records or Named.
func (s Setting) inRecord() bool {
	return strings.Contains(s.Key, "[].") || strings.Contains(s.Key, ".*.")
}

// prefix is what the keys of the fields begin with.
func (s Setting) prefix() string {
	if s.Kind == Named {
		return s.Key + ".*."
	}
	return s.Key + "[]."
}

// Description is Doc and the default, as help texts give them.
func (s Setting) Description() string {
	if s.Default == "" || s.Kind == Bool {
		return s.Doc
	}
	return s.Doc + " Default: " + strings.ReplaceAll(s.Default, ",", ", ") + "."
}

// choices are all values, as people write them.
func (s Setting) choices() string {
	return strings.Join(collect.Mapped(s.Values, func(v string) string { return cmp.Or(v, `""`) }), ", ")
}

// HasVerb reports whether the verb has the setting's flag.
func (s Setting) HasVerb(verb verbs.Verb) bool { return s.Flag != "" && slices.Contains(s.Verbs, verb) }

// ValuesOf returns the values that a verb takes, if the setting has a list of them. An
// empty one is left out.
func (s Setting) ValuesOf(verb verbs.Verb) []string {
	return slices.DeleteFunc(slices.Clone(s.Values), func(value string) bool {
		only, limited := s.Only[value]
		return value == "" || limited && !slices.Contains(only, verb)
	})
}

// DocOf returns Doc with the meanings of the values that a verb takes.
func (s Setting) DocOf(verb verbs.Verb) string { return s.docAbout(s.ValuesOf(verb)) }

func (s Setting) docAbout(values []string) string {
	text := s.Doc
	for _, value := range values {
		if meaning := s.Meanings[value]; meaning != "" {
			text += " " + meaning
		}
	}
	return text
}

// defaults returns the items of the default value.
func (s Setting) defaults() []string {
	switch {
	case s.structured():
		return nil
	case s.Repeats():
		return splitList(s.Default)
	}
	return []string{s.Default}
}

// byDefault is the value that holds when no source gives one.
func (s Setting) byDefault() Value {
	return Value{Items: itemsOf(s.defaults()), Source: string(ByDefault), By: ByDefault}
}

// parse checks the items of a value, puts what they say into its field of target, if there
// is one, and returns them in their one spelling. With an error, bad is the index of the
// refused item, or -1 if it is the value as a whole.
func (s Setting) parse(target any, items []Item) (parsed []Item, bad int, err error) {
	if !s.Repeats() && len(items) != 1 {
		return nil, -1, fmt.Errorf("%s given, it must be one", collect.Count(len(items), "value is", "values are"))
	}
	for _, refuse := range []func(Item) error{s.unprintable, s.ofOtherKind, s.unchecked} {
		for i, item := range items {
			if err := refuse(item); err != nil {
				return nil, i, err
			}
		}
	}
	if s.Kind == Bool {
		items = []Item{{Text: strings.ToLower(items[0].Text), Place: items[0].Place}}
	}
	value, bad, err := s.read(items)
	if err != nil {
		return nil, bad, err
	}
	if target != nil {
		reflect.ValueOf(target).Elem().FieldByIndex(s.index).Set(reflect.ValueOf(value))
	}
	return items, 0, nil
}

// unprintable refuses control characters; only a Block may have several lines.
func (s Setting) unprintable(item Item) error {
	text := item.Text
	if s.Kind == Map || s.Kind == Lists {
		text = item.Name + "=" + text
	}
	refused := func(r rune) bool { return unicode.IsControl(r) && !(s.Block && (r == '\n' || r == '\r')) }
	switch {
	case !strings.ContainsFunc(text, refused):
		return nil
	case s.Secret:
		return errors.New("the secret holds a control character")
	}
	return fmt.Errorf("%q holds a control character", text)
}

// ofOtherKind refuses a text that is no value of the setting's kind. Booleans are those of
// YAML 1.2's core schema and of the runner's toolkit.
func (s Setting) ofOtherKind(item Item) error {
	n, err := strconv.Atoi(item.Text)
	switch {
	case s.Kind == Bool && !slices.Contains([]string{"true", "True", "TRUE", "false", "False", "FALSE"}, item.Text):
		return fmt.Errorf("%q is neither true nor false", item.Text)
	case s.Kind == Number && (err != nil || n < s.Min):
		return fmt.Errorf("%q is not a number from %d up", item.Text, s.Min)
	case len(s.Values) > 0 && !slices.Contains(s.Values, item.Text):
		return fmt.Errorf("%q is not one of %s", item.Text, s.choices())
	}
	return nil
}

func (s Setting) unchecked(item Item) error {
	switch {
	case s.check == nil:
		return nil
	case s.Kind == Map:
		return s.check(item.Name)
	}
	return s.check(item.Text)
}

// splitList reads a list from one text: by comma or newline.
func splitList(text string) []string {
	var items []string
	for item := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }) {
		if word := strings.TrimSpace(item); word != "" {
			items = append(items, word)
		}
	}
	return items
}

// lookup finds a setting by one of its names; ok is false if there is none.
func lookup(of func(Setting) string, name string) (found Setting, ok bool) {
	i := slices.IndexFunc(All, func(s Setting) bool { return name != "" && of(s) == name })
	if i < 0 {
		return Setting{}, false
	}
	return All[i], true
}

// IsKey reports whether a word is a key at the top of the configuration file.
func IsKey(word string) bool {
	return slices.ContainsFunc(All, func(s Setting) bool {
		top, _, _ := strings.Cut(s.Key, ".")
		return top == word && word != ""
	})
}

func flag(s Setting) string  { return s.Flag }
func input(s Setting) string { return s.Input }
func env(s Setting) string   { return s.Env }
