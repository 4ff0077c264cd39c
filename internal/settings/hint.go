package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/goccy/go-yaml/ast"
)

// expected describes the values that a setting may have in the file.
func expected(s Setting) string {
	switch s.Kind {
	case Bool:
		return "true or false"
	case Number:
		return "a number"
	case Choice:
		return "one of " + s.choices()
	case List:
		if s.Single {
			return "a text or a list of texts, like [a, b]"
		}
		return "a list of texts, like [a, b]"
	case Platforms:
		return "auto, all or a list like [linux_amd64, darwin_arm64]"
	case Map:
		if s.listable() {
			return "names and texts, like {environment: prod}, or a list of sets of values"
		}
		return "names and texts, like {environment: prod}"
	case Lists:
		return "names and lists of texts, like {a: [b, c]}"
	case Records:
		return "a list of entries with keys and values"
	case Named:
		return "names with keys and values each"
	}
	return "one line of text"
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
	if near, ok := nearest(path); ok {
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

// nearest returns the known key that differs least from an unknown one, if the difference
// may be a typing error. A key in another section counts, but one in the same section is
// nearer.
func nearest(path string) (string, bool) {
	type difference struct{ word, path int }
	best, least := "", difference{word: 3}
	for s := range rows {
		if s.Key == "" {
			continue
		}
		d := difference{path: levenshtein.Distance(path, s.Key, nil)}
		if strings.Contains(s.Key, "[].") != strings.Contains(path, "[].") {
			d.path += len(s.Key) // a field of an entry is further away than a key of all
		}
		d.word = min(d.path, levenshtein.Distance(last(path), last(s.Key), nil))
		nearer := d.word < least.word || d.word == least.word && d.path < least.path
		if nearer && d.word < len(last(path)) {
			best, least = s.Key, d
		}
	}
	return best, best != ""
}

func last(path string) string { return path[strings.LastIndex(path, ".")+1:] }
