package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
)

// Show lists every setting with its value and where that comes from, as a configuration file
// that gives the same: what no file may hold is in comments. Secrets are not shown.
func (v Values) Show() string {
	var file, rest strings.Builder
	section := ""
	for _, s := range All {
		value := v[s.Name()]
		if s.Key == "" {
			fmt.Fprintf(&rest, "# %s: %s  # %s\n", s.Name(), write(shown(s, value)), sourceOf(s, value))
			continue
		}
		if s.Operator && value.By == ByDefault {
			continue // only an operator's file may hold the key at all
		}
		name, indent := s.Key, ""
		if prefix, inner, ok := strings.Cut(s.Key, "."); ok {
			if prefix != section {
				fmt.Fprintf(&file, "%s:\n", prefix)
			}
			section, name, indent = prefix, inner, "  "
		}
		fmt.Fprintf(&file, "%s%s: %s  # %s\n", indent, name, write(shown(s, value)), sourceOf(s, value))
	}
	return file.String() + "\n# Set by flags, inputs or the environment alone:\n" + rest.String()
}

// sourceOf returns the source of a value, and the values that it replaces.
func sourceOf(s Setting, v Value) string {
	text := v.Source
	for _, was := range v.over {
		text += "; not " + write(shown(s, was)) + ", " + was.Source
	}
	return text
}

// Explanation is a setting with its value, for programs.
type Explanation struct {
	Name    string  `json:"name,omitempty"` // empty in Over
	Value   any     `json:"value"`          // as JSON has it; a secret is not shown
	Sources []Share `json:"sources"`        // that made it, the weakest first
	// Over are the values that it replaces; nil in Over.
	Over []Explanation `json:"over,omitzero"`
}

// Share is what one source adds to a value.
type Share struct {
	By     GivenBy `json:"by"`
	Source string  `json:"text"`
	File   string  `json:"file,omitempty"`
	Line   int     `json:"line,omitempty"`
	Value  any     `json:"value,omitempty"` // nil: all of it
}

// Explain is what Show says, for programs, in the order of the table.
func Explain(values Values) []Explanation {
	var all []Explanation
	for _, s := range All {
		v := values[s.Name()]
		e := explained(s, v)
		e.Name, e.Over = s.Name(), []Explanation{}
		for _, was := range v.over {
			e.Over = append(e.Over, explained(s, was))
		}
		all = append(all, e)
	}
	return all
}

// explained is a value without its name, and without the values that it replaces.
func explained(s Setting, v Value) Explanation {
	e := Explanation{Value: shown(s, v)}
	for _, part := range v.parts {
		e.Sources = append(e.Sources, Share{part.By, part.Source, part.Place.Path, part.Place.Line, shown(s, part)})
	}
	if len(v.parts) == 0 {
		e.Sources = []Share{{v.By, v.Source, v.Place.Path, v.Place.Line, nil}}
	}
	return e
}

// deciding are the values that decide what is proposed. Those about the place of a run, its
// report and the choice of repositories are left out.
func (v Values) deciding() Values {
	kept := Values{}
	for _, s := range All {
		if value, ok := v[s.Name()]; ok && (s.Key != "" && s.Key != "version" && !strings.HasPrefix(s.Key, "org.") || slices.Contains(proposingFlags, s.Flag)) {
			value.Source, value.parts, value.over = "", nil, nil // the same from another place
			kept[s.Name()] = value
		}
	}
	return Merge(kept)
}

// proposingFlags are flags without a key that decide what is proposed.
var proposingFlags = []string{"keep-unreferenced", "allow-downgrade"}

// shown is a value as the file holds it, without secrets. Its JSON form and its text are
// two ways to write it.
func shown(s Setting, v Value) any {
	switch {
	case s.Secret && v.text() != "":
		return word("(set)")
	case s.Secret:
		return word("(not set)")
	case s.structured(), v.records():
		return shownRecords(s, v.Items)
	case s.Kind == Map, s.Kind == Lists:
		return shownMap(s, v.Items)
	case s.Repeats() && !keyword(v.Items):
		return listOf(v.texts())
	case s.Kind == Bool, s.Kind == Number:
		return literal(v.text())
	case s.Kind == Text || v.text() == "":
		return v.text()
	}
	return word(v.text())
}

// shownMap is the value of a Map or of Lists.
func shownMap(s Setting, items []Item) any {
	var all mapping
	for _, item := range items {
		switch n := len(all); {
		case s.Kind == Map:
			all = append(all, member{word(item.Name), item.Text})
		case n > 0 && all[n-1].name == item.Name:
			all[n-1].value = append(all[n-1].value.([]any), item.Text)
		default:
			all = append(all, member{item.Name, []any{item.Text}})
		}
	}
	return all
}

func shownRecords(s Setting, records []Item) any {
	list, named := []any{}, mapping{}
	for _, r := range records {
		var fields mapping
		for _, f := range s.Fields {
			if r.has(f.Name()) {
				fields = append(fields, member{word(f.Name()), shown(f, r.Fields[f.Name()])})
			}
		}
		list, named = append(list, fields), append(named, member{r.Name, fields})
	}
	if s.Kind == Named {
		return named
	}
	return list
}

// literal is a number or a boolean. A value that was overridden may be neither.
func literal(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	switch strings.ToLower(text) {
	case "true", "false":
		return strings.EqualFold(text, "true")
	}
	return word(text)
}

// word is a text without quotes.
type word string

// mapping is a map in the order of the file. A name is a string, or a word.
type mapping []member

type member struct{ name, value any }

// MarshalJSON writes the names in the order of JSON.
func (o mapping) MarshalJSON() ([]byte, error) {
	all := make(map[string]any, len(o))
	for _, m := range o {
		all[fmt.Sprint(m.name)] = m.value
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(all)
	return b.Bytes(), err
}

// listOf is a list of texts.
func listOf(texts []string) []any {
	return collect.Mapped(texts, func(text string) any { return text })
}

// write writes what is shown on one line of YAML. A string of JSON is one of YAML, too.
func write(value any) string {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		return "[" + strings.Join(collect.Mapped(v, write), ", ") + "]"
	case mapping:
		entries := collect.Mapped(v, func(m member) string { return write(m.name) + ": " + write(m.value) })
		return "{" + strings.Join(entries, ", ") + "}"
	}
	return fmt.Sprint(value)
}
