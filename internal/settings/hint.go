package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/typed"
)

// refusal is a problem of the settings.
func refusal(at problem.Place, hint, format string, args ...any) problem.Problem {
	return problem.Problem{Code: problem.CodeSettings, Place: at, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// forms describe the values of a kind in the file.
var forms = map[Kind]string{
	Text:      "one line of text",
	Bool:      "true or false",
	Number:    "a number",
	List:      "a list of texts, like [a, b]",
	Platforms: "auto, all or a list like [linux_amd64, darwin_arm64]",
	Map:       "names and texts, like {environment: prod}",
	Lists:     "names and lists of texts, like {a: [b, c]}",
	Records:   "a list of entries with keys and values",
	Named:     "names with keys and values each",
}

// expected describes the values that a setting may have in the file.
func expected(s Setting) string {
	switch {
	case s.Kind == Choice:
		return "one of " + s.choices()
	case s.Single:
		return "a text or " + forms[s.Kind]
	case s.listable():
		return forms[s.Kind] + ", or a list of sets of values"
	}
	return forms[s.Kind]
}

// quoteHint helps if YAML reads an unquoted text as a number or a boolean, as in
// tool-version: 1.11.
func quoteHint(kind Kind, value ast.Node) string {
	switch value.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		if kind == Text {
			return fmt.Sprintf("write it in quotes: %q", value.GetToken().Value)
		}
	}
	return ""
}

// suggestion is the hint for an unknown key: the section to which it belongs, or the
// nearest known key, or all keys of the map.
func suggestion(path string, sc scope) string {
	if s, ok := lookup(input, path); ok && s.Key == "" {
		return fmt.Sprintf("%s is an input of the Action, not a key of the file", path)
	}
	if s, ok := lookup(flag, path); ok && s.Key == "" {
		return fmt.Sprintf("--%s is a flag of the command line, not a key of the file", path)
	}
	if near := nearest(path); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	var known []string
	for _, s := range sc.settings {
		rest, ok := strings.CutPrefix(s.Key, sc.prefix)
		first, _, _ := strings.Cut(rest, ".")
		if ok && s.Key != "" && !slices.Contains(known, first) {
			known = append(known, first)
		}
	}
	return "known keys here are " + strings.Join(known, ", ")
}

// nearest is the known key that an unknown one probably means; empty if there is none. It may
// be a key of another section with the same end. Keys of sections are tried before keys of
// records.
func nearest(path string) string {
	var keys []string
	for _, s := range All {
		for _, row := range append([]Setting{s}, s.Fields...) {
			if row.Key != "" {
				keys = append(keys, row.Key)
			}
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int { return strings.Count(a, "[].") - strings.Count(b, "[].") })
	if near := typed.Nearest(path, keys); near != "" {
		return near
	}
	ends := collect.Mapped(keys, last)
	if near := typed.Nearest(last(path), ends); near != "" {
		return keys[slices.Index(ends, near)]
	}
	return ""
}

func last(path string) string { return path[strings.LastIndex(path, ".")+1:] }
