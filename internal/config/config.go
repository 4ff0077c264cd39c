package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/relock-dev/relock/internal/provider"
)

// Config is the settings of one run as the program uses them.
type Config struct {
	Directories      []string
	Include, Exclude []string
	Tool             provider.ToolName // empty: auto
	ToolVersion      provider.Version  // zero: from version files
	Platforms        PlatformSet
	Providers        []provider.Pattern // empty: all
	Keep             []provider.Pattern
	AcceptReReleased []provider.ReleasePattern
	HashesFrom       string // "methods", "origin" or "both"
	KeepUnreferenced bool
	// UnreadableModules is "fail" or "preserve".
	UnreadableModules string
	ModuleVars        map[string]string // values as texts, by variable
	ModuleToken       string            // secret
	Why               []provider.Pattern
	PullRequest       PullRequest
	Command           string // of the Action
	Token             string // secret
	File              string // of the configuration; empty: searched
	Cache             string // path of the hash cache; empty: the default
	Format            string
	Jobs              int // 0: a default

	Create, Strict, Exact, Prune, Lock, DryRun, Stats, Verbose bool
}

// PlatformSet says which platforms lock files must cover. The zero value is
// auto.
type PlatformSet struct {
	All  bool
	List []provider.Platform // in the order given, without duplicates
}

// PullRequest is the settings of pull requests.
type PullRequest struct {
	BranchPrefix string
	Base         string // empty: the default branch
	Labels       []string
	ReleaseNotes bool
}

// Values are settings as some source gives them, by Setting.Name.
type Values map[string]Value

// Value is what a source gives for one setting. A scalar has one item.
type Value struct {
	Items []string
	// Source says where the value comes from, in words for people: "flag
	// --tool", "input tool", ".github/relock.yml:3", "default".
	Source string
	// File and Line are the place, if it is a file.
	File string
	Line int
}

// Flags are the values of the flags that were given. A list's item may hold
// several, separated by comma. Names that are no flags are ignored.
func Flags(given map[string][]string) Values {
	values := Values{}
	for name, texts := range given {
		s, ok := lookup(flag, name)
		if !ok {
			continue
		}
		items := texts
		if s.Repeats() {
			items = splitList(strings.Join(texts, "\n"))
		}
		values[s.Name()] = Value{Items: items, Source: "flag --" + name}
	}
	return values
}

// Inputs are the values of the Action's inputs, which the runner passes as
// environment variables named INPUT_ and the input's name in capitals. An empty
// one is not set: runners pass it for every input that the workflow leaves out.
func Inputs(getenv func(string) string) Values {
	values := Values{}
	for _, s := range Settings {
		if s.Input == "" {
			continue
		}
		text := strings.TrimSpace(getenv(InputEnv(s.Input)))
		if text == "" {
			continue
		}
		items := []string{text}
		if s.Repeats() {
			items = splitList(text)
		}
		values[s.Name()] = Value{Items: items, Source: "input " + s.Input}
	}
	return values
}

// InputEnv is the environment variable in which the runner passes an input.
func InputEnv(input string) string {
	return "INPUT_" + strings.ToUpper(strings.ReplaceAll(input, " ", "_"))
}

// Environment are the values of settings that have a variable of their own.
func Environment(getenv func(string) string) Values {
	values := Values{}
	for _, s := range Settings {
		if s.Env == "" {
			continue
		}
		if text := getenv(s.Env); text != "" {
			values[s.Name()] = Value{Items: []string{text}, Source: "environment variable " + s.Env}
		}
	}
	return values
}

// Defaults are the values that hold when no source gives one.
func Defaults() Values {
	values := Values{}
	for _, s := range Settings {
		values[s.Name()] = Value{Items: s.defaults(), Source: "default"}
	}
	return values
}

// Merge lays sources over each other, the strongest first, over the defaults.
// The order is flags, inputs, file, environment. A value replaces another
// whole: lists are not joined.
func Merge(strongestFirst ...Values) Values {
	merged := Defaults()
	for _, layer := range slices.Backward(strongestFirst) {
		maps.Copy(merged, layer)
	}
	return merged
}

// Resolve checks every value and turns them into a Config. Settings that
// values lack keep their defaults. With a diagnostic the Config is not to be
// used.
func Resolve(values Values) (Config, []provider.Diagnostic) {
	var c Config
	var problems []provider.Diagnostic
	for _, s := range Settings {
		v, ok := values[s.Name()]
		if !ok {
			v = Value{Items: s.defaults(), Source: "default"}
		}
		items, _, err := s.parse(v.Items)
		if err != nil {
			problems = append(problems, v.diagnose(err))
			continue
		}
		s.set(&c, items)
	}
	return c, problems
}

// diagnose makes the diagnostic of a value that is not accepted.
func (v Value) diagnose(err error) provider.Diagnostic {
	d := provider.Diagnostic{Code: provider.CodeSettings, Message: err.Error(), File: v.File, Line: v.Line}
	if v.File == "" {
		d.Message = v.Source + ": " + d.Message
	}
	return d
}

// parse checks the items of a value and returns them in their one spelling.
// With an error, bad is the index of the item that is refused, or -1 if it is
// the value as a whole.
func (s Setting) parse(items []string) (parsed []string, bad int, err error) {
	if !s.Repeats() && len(items) != 1 {
		return nil, -1, fmt.Errorf("%d values are given, it must be one", len(items))
	}
	for i, item := range items {
		if strings.ContainsFunc(item, unicode.IsControl) {
			return nil, i, fmt.Errorf("%q holds a control character", item)
		}
	}
	switch s.Kind {
	case Bool:
		return parseBool(items[0])
	case Choice:
		if !slices.Contains(s.Values, items[0]) {
			return nil, 0, fmt.Errorf("%q is not one of %s", items[0], strings.Join(s.Values, ", "))
		}
	case Platforms:
		if keyword(items) {
			return items, 0, nil
		}
		if len(items) == 0 {
			return nil, -1, errors.New("no platform is given; it must be auto, all or a list like linux_amd64, darwin_arm64")
		}
		if slices.Contains(items, "auto") || slices.Contains(items, "all") {
			return nil, -1, errors.New("auto and all cannot be combined with other platforms")
		}
	}
	return s.checked(items)
}

// keyword reports whether the value of a Platforms setting is a word that
// stands for a set.
func keyword(items []string) bool {
	return len(items) == 1 && (items[0] == "auto" || items[0] == "all")
}

func (s Setting) checked(items []string) (parsed []string, bad int, err error) {
	for i, item := range items {
		if s.check == nil {
			break
		}
		if err := s.check(item); err != nil {
			return nil, i, err
		}
	}
	return items, 0, nil
}

// parseBool accepts what YAML 1.2's core schema and the runner's toolkit call
// booleans.
func parseBool(text string) (parsed []string, bad int, err error) {
	switch text {
	case "true", "True", "TRUE":
		return []string{"true"}, 0, nil
	case "false", "False", "FALSE":
		return []string{"false"}, 0, nil
	}
	return nil, 0, fmt.Errorf("%q is neither true nor false", text)
}

// Show lists every setting with its value and where that comes from. Secrets
// are not shown.
func Show(values Values) string {
	var b strings.Builder
	for _, s := range Settings {
		v := values[s.Name()]
		fmt.Fprintf(&b, "%s: %s  # %s\n", s.Name(), s.shown(v.Items), v.Source)
	}
	return b.String()
}

func (s Setting) shown(items []string) string {
	switch {
	case s.Secret && len(items) == 1 && items[0] != "":
		return "(set)"
	case s.Secret:
		return "(not set)"
	case s.Kind == Map:
		entries := make([]string, len(items))
		for i, item := range items {
			name, text, _ := strings.Cut(item, "=")
			entries[i] = name + ": " + quote(text)
		}
		return "{" + strings.Join(entries, ", ") + "}"
	case s.Repeats() && !keyword(items):
		quoted := make([]string, len(items))
		for i, item := range items {
			quoted[i] = quote(item)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case s.Kind == Text:
		return quote(items[0])
	}
	return items[0]
}

// quote writes a text so that YAML reads it as that text: a JSON string is a
// YAML string.
func quote(text string) string { return fmt.Sprintf("%q", text) }
