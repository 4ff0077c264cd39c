package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/typed"
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
// be a key of another section that ends alike, and rather one of a section than of an entry.
func nearest(path string) string {
	var keys []string
	for s := range rows {
		if s.Key != "" {
			keys = append(keys, s.Key)
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int {
		return strings.Count(a, "[].") - strings.Count(b, "[].")
	})
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
