package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Show lists every setting with its value and where that comes from, as a
// configuration file that gives the same: what no file may hold is in comments.
// Secrets are not shown.
func (v Values) Show() string {
	var file, rest strings.Builder
	section := ""
	for _, s := range All {
		value := v[s.Name()]
		if s.Key == "" {
			fmt.Fprintf(&rest, "# %s: %s  # %s\n", s.Name(), shownValue(s, value), toldOf(s, value))
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
		fmt.Fprintf(&file, "%s%s: %s  # %s\n", indent, name, shownValue(s, value), toldOf(s, value))
	}
	return file.String() + "\n# Set by flags, inputs or the environment alone:\n" + rest.String()
}

// toldOf returns the source of a value, and the values that it replaces.
func toldOf(s Setting, v Value) string {
	text := v.Source
	for _, was := range v.over {
		text += "; not " + shownValue(s, was) + ", " + was.Source
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

// Share is what one source says of a setting.
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
		told := explained(s, v)
		told.Name, told.Over = s.Name(), []Explanation{}
		for _, was := range v.over {
			told.Over = append(told.Over, explained(s, was))
		}
		all = append(all, told)
	}
	return all
}

// explained is a value without its name, and without the values that it replaces.
func explained(s Setting, v Value) Explanation {
	told := Explanation{Value: plainValue(s, v)}
	for _, part := range v.parts {
		told.Sources = append(told.Sources, Share{part.By, part.Source, part.Place.Path, part.Place.Line, plainValue(s, part)})
	}
	if len(v.parts) == 0 {
		told.Sources = []Share{{v.By, v.Source, v.Place.Path, v.Place.Line, nil}}
	}
	return told
}

// plainValue is a value of the type that it has in a file.
func plainValue(s Setting, v Value) any {
	switch {
	case s.Secret:
		return shownValue(s, v)
	case s.structured(), len(v.records) > 0:
		return plainRecords(s, v.records)
	case s.Kind == Map:
		texts := map[string]string{}
		for _, item := range v.Items {
			name, text, _ := strings.Cut(item, "=")
			texts[name] = text
		}
		return texts
	case s.Kind == Lists:
		named := map[string][]string{}
		for _, l := range lists(v.Items) {
			named[l.name] = l.items
		}
		return named
	case s.Repeats() && !keyword(v.Items):
		return append([]string{}, v.Items...)
	case s.Kind == Bool:
		return v.Items[0] == "true"
	case s.Kind == Number:
		return json.Number(v.Items[0])
	}
	return v.Items[0]
}

func plainRecords(s Setting, records []record) any {
	list, named := []map[string]any{}, map[string]any{}
	for _, r := range records {
		fields := map[string]any{}
		for _, f := range s.Fields {
			if r.has(f.Name()) {
				fields[last(f.Key)] = plainValue(f, r.values[f.Name()])
			}
		}
		list = append(list, fields)
		named[r.name] = fields
	}
	if s.Kind == Named {
		return named
	}
	return list
}

// Deciding are the values without those about three things: where a run is, how it is
// reported, and which repositories it is about.
func (v Values) Deciding() Values {
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

// shownValue is the value as a file would hold it.
func shownValue(s Setting, v Value) string {
	switch {
	case s.Secret && len(v.Items) == 1 && v.Items[0] != "":
		return "(set)"
	case s.Secret:
		return "(not set)"
	case s.structured(), len(v.records) > 0:
		return shownRecords(s, v.records)
	case s.Kind == Map:
		return shownMap(v.Items)
	case s.Kind == Lists:
		return shownLists(v.Items)
	case s.Repeats() && !keyword(v.Items):
		return shownList(v.Items)
	case s.Kind == Text || v.Items[0] == "":
		return quote(v.Items[0])
	}
	return v.Items[0]
}

func shownList(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = quote(item)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func shownMap(items []string) string {
	entries := make([]string, len(items))
	for i, item := range items {
		name, text, _ := strings.Cut(item, "=")
		entries[i] = name + ": " + quote(text)
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

func shownLists(items []string) string {
	var entries []string
	for _, l := range lists(items) {
		entries = append(entries, quote(l.name)+": "+shownList(l.items))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

func shownRecords(s Setting, records []record) string {
	entries := make([]string, len(records))
	for i, r := range records {
		var fields []string
		for _, f := range s.Fields {
			if r.has(f.Name()) {
				fields = append(fields, last(f.Key)+": "+shownValue(f, r.values[f.Name()]))
			}
		}
		entries[i] = "{" + strings.Join(fields, ", ") + "}"
		if s.Kind == Named {
			entries[i] = quote(r.name) + ": " + entries[i]
		}
	}
	list := strings.Join(entries, ", ")
	if s.Kind == Named {
		return "{" + list + "}"
	}
	return "[" + list + "]"
}

// quote writes a text so that YAML reads it as that text: a JSON string is a
// YAML string.
func quote(text string) string { return fmt.Sprintf("%q", text) }
