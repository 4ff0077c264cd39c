package settings

import (
	"cmp"
	"slices"

	"github.com/relock-dev/relock/internal/collect"

	"github.com/relock-dev/relock/internal/problem"
)

// Values are settings as some source gives them, by Setting.Name.
type Values map[string]Value

// Text is the text of a scalar setting; empty if it has none.
func (v Values) Text(name string) string { return v[name].text() }

// Texts are the texts of a list.
func (v Values) Texts(name string) []string { return v[name].texts() }

// Value is what a source gives for one setting. A scalar has one item.
type Value struct {
	Items []Item
	// Source says where the value comes from, in words for people: "flag
	// --tool", "input tool", ".github/relock.yml:3", "default".
	Source string
	By     GivenBy
	// Place is the place in a file, if the value is in one.
	Place problem.Place

	// parts are the values of several files that this one joins, the weakest first. It is
	// nil if there is one source.
	parts []Value
	// over are the values that this one overrides, the strongest first.
	over []Value
	// implied marks a value that follows from another one at its place.
	implied bool
}

// Item is an item of a list, an entry of a map, or a record.
type Item struct {
	Name string // of an entry of a map
	Text string
	// Fields are those that a record has, by Setting.Name; nil: the item is a text. Only
	// the reader of files makes records, so they are checked.
	Fields Values
	Place  problem.Place // zero: in no file
}

// itemsOf are items without names.
func itemsOf(texts []string) []Item {
	return collect.Mapped(texts, func(text string) Item { return Item{Text: text} })
}

// has reports whether a record has a field.
func (i Item) has(field string) bool { _, ok := i.Fields[field]; return ok }

// key is what one item of a map or of a list of sets overrides another one by.
func (i Item) key() string { return cmp.Or(i.Name, i.Fields.Text("name")) }

// empty reports whether a value has no items. An empty text is an item.
func (v Value) empty() bool { return len(v.Items) == 0 }

// records reports whether the value has records. One that has texts, too, is a problem: see
// unlike.
func (v Value) records() bool {
	return slices.ContainsFunc(v.Items, func(i Item) bool { return i.Fields != nil })
}

func (v Value) text() string {
	if v.empty() {
		return ""
	}
	return v.Items[0].Text
}

func (v Value) texts() []string {
	return collect.Mapped(v.Items, func(i Item) string { return i.Text })
}

// only is the part of a map with one name.
func (v Value) only(name string) Value {
	items := v.Items
	v.Items = nil
	for _, i := range items {
		if i.key() == name {
			v.Items = append(v.Items, i)
			v.Place = v.Items[0].Place
		}
	}
	return v
}

// GivenBy is the kind of a source.
type GivenBy string

// The kinds of sources.
const (
	ByDefault     GivenBy = "default"
	ByOperator    GivenBy = "operator"   // the operator's configuration file
	ByRepository  GivenBy = "repository" // a repository's own configuration file
	ByEnforcement GivenBy = "enforced"   // what the operator's enforces
	ByFlag        GivenBy = "flag"       // and other words of the command line
	ByInput       GivenBy = "input"      // of the Action, or of an event
	ByEnvironment GivenBy = "environment"
)

// diagnose makes the diagnostic of a value that is not accepted.
func (v Value) diagnose(err error) problem.Problem {
	if v.Place.Path == "" {
		return refusal(v.Place, "", "%s: %v", v.Source, err)
	}
	return refusal(v.Place, "", "%v", err)
}
