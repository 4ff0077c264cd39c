package settings

import (
	"slices"

	"github.com/relock-dev/relock/internal/problem"
)

// Values are settings as some source gives them, by Setting.Name.
type Values map[string]Value

// Value is what a source gives for one setting. A scalar has one item; Records
// and Named have none.
type Value struct {
	Items []string
	// records are checked: only ParseFile makes them.
	records []record
	// lines are those of the items, if they are in a file.
	lines []int
	// Source says where the value comes from, in words for people: "flag
	// --tool", "input tool", ".github/relock.yml:3", "default".
	Source string
	By     GivenBy
	// Place is the place in a file, if the value is in one.
	Place problem.Place

	// parts are what several files have put together, the weakest first; nil: one source
	// says it all.
	parts []Value
	// over are what the value is in place of, the strongest first.
	over []Value
	// implied says that the value only follows from another one at its place.
	implied bool
}

// empty reports whether a value says nothing at all; an empty text is said.
func (v Value) empty() bool { return len(v.Items)+len(v.records) == 0 }

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

// Defaults are the values that hold when no source gives one.
func Defaults() Values {
	values := Values{}
	for _, s := range All {
		values[s.Name()] = s.byDefault()
	}
	return values
}

// Merge joins the sources and the defaults, the strongest first: flags, dispatch inputs,
// inputs, files, environment. A stronger value replaces a weaker one whole: lists are not
// joined. layerFiles makes one source of two files.
func Merge(strongestFirst ...Values) Values {
	merged := Defaults()
	for _, layer := range slices.Backward(strongestFirst) {
		for name, v := range layer {
			if was := merged[name]; was.By != ByDefault {
				below := was.over
				was.over = nil
				v.over = slices.Concat(v.over, []Value{was}, below)
			}
			merged[name] = v
		}
	}
	return merged
}

// diagnose makes the diagnostic of a value that is not accepted.
func (v Value) diagnose(err error) problem.Problem {
	d := problem.Problem{Code: problem.CodeSettings, Message: err.Error(), Place: v.Place}
	if v.Place.Path == "" {
		d.Message = v.Source + ": " + d.Message
	}
	return d
}
