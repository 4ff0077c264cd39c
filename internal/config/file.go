package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agext/levenshtein"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/relock-dev/relock/internal/provider"
)

// FileNames are the names under which the configuration file is searched in
// the top directory of a repository.
var FileNames = []string{".github/relock.yml", ".github/relock.yaml", ".relock.yml", ".relock.yaml"}

// MaxFileSize bounds the configuration file. A repository writes it, and the
// YAML parser needs far more memory than the text has bytes.
const MaxFileSize = 64 << 10

// maxNesting bounds how deeply lists and maps may stand in each other. The
// settings need three levels; the parser's cost grows with the square.
const maxNesting = 16

// File is a configuration file that was read.
type File struct {
	Name   string
	Values Values
}

// Locate returns the name of the repository's configuration file; empty if
// there is none. Two are an error, since one of them would be ignored.
func Locate(fsys fs.FS) (string, []provider.Diagnostic) {
	var found []string
	for _, name := range FileNames {
		_, err := fs.Stat(fsys, name)
		switch {
		case err == nil:
			found = append(found, name)
		case !errors.Is(err, fs.ErrNotExist):
			return "", []provider.Diagnostic{{Code: provider.CodeUnreadable, File: name, Message: "the configuration file cannot be read: " + cause(err)}}
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", []provider.Diagnostic{{
		Code: provider.CodeSettings, File: found[1],
		Message: "there is another configuration file, " + found[0],
		Hint:    "keep one of them",
	}}
}

// cause is the text of an error without the path, which is the machine's own.
func cause(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

// ParseFile reads a configuration file. Problems carry the file and the line;
// with any of them the values are not to be used.
func ParseFile(src []byte, name string) (File, []provider.Diagnostic) {
	r := &reader{file: File{Name: name, Values: Values{}}}
	if root, ok := r.root(src); ok {
		r.section(root, "")
		if !r.versioned {
			r.fail(1, provider.CodeSettings, "begin the file with: version: 1", "the key version is missing")
		}
	}
	slices.SortStableFunc(r.problems, provider.Diagnostic.Compare)
	return r.file, r.problems
}

// reader collects the values and the problems of one file.
type reader struct {
	file      File
	versioned bool // the key version was met
	problems  []provider.Diagnostic
}

func (r *reader) fail(line int, code provider.Code, hint, format string, args ...any) {
	r.problems = append(r.problems, provider.Diagnostic{
		Code: code, File: r.file.Name, Line: line, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// root returns the map that is the whole file.
func (r *reader) root(src []byte) (ast.MapNode, bool) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	switch {
	case len(src) > MaxFileSize:
		r.fail(0, provider.CodeSettings, "", "the configuration file is larger than %d KiB", MaxFileSize>>10)
		return nil, false
	case !utf8.Valid(src):
		r.fail(0, provider.CodeSyntax, "", "the configuration file is not UTF-8 text")
		return nil, false
	}
	tokens := lexer.Tokenize(string(src))
	if line := tooDeep(tokens); line > 0 {
		r.fail(line, provider.CodeSettings, "", "lists and maps stand in each other more than %d deep", maxNesting)
		return nil, false
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		r.syntax(err)
		return nil, false
	}
	return r.document(file)
}

// tooDeep returns the line on which nesting exceeds the bound, or 0. Nesting
// by indentation needs no check: its cost is part of the file's size.
func tooDeep(tokens token.Tokens) int {
	flow, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			dashes, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			dashes++
		}
		if max(flow, dashes) > maxNesting {
			return line
		}
	}
	return 0
}

func (r *reader) syntax(err error) {
	line := 0
	message := err.Error()
	var syntax yaml.Error
	if errors.As(err, &syntax) {
		message = syntax.GetMessage()
		if t := syntax.GetToken(); t != nil {
			line = t.Position.Line
		}
	}
	r.fail(line, provider.CodeSyntax, "", "%s", message)
}

func (r *reader) document(file *ast.File) (ast.MapNode, bool) {
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.DirectiveType {
			bodies = append(bodies, doc.Body)
		}
	}
	const hint = "a file with defaults only is: version: 1"
	switch {
	case len(bodies) == 0:
		r.fail(0, provider.CodeSettings, hint, "the configuration file is empty")
		return nil, false
	case len(bodies) > 1:
		r.fail(line(bodies[1]), provider.CodeSettings, "remove the line ---", "the configuration file holds more than one document")
		return nil, false
	}
	root, ok := bodies[0].(ast.MapNode)
	if !ok {
		r.fail(line(bodies[0]), provider.CodeSettings, hint, "the configuration file does not consist of keys and values")
	}
	return root, ok
}

func line(n ast.Node) int { return n.GetToken().Position.Line }

// section reads the keys of one map; prefix is empty or ends in a dot.
func (r *reader) section(m ast.MapNode, prefix string) {
	for entries := m.MapRange(); entries.Next(); {
		name, ok := entries.Key().(*ast.StringNode)
		if !ok {
			r.fail(line(entries.Key()), provider.CodeSettings, "", "a key is not a plain name")
			continue
		}
		if section, rest, dotted := strings.Cut(name.Value, "."); dotted {
			r.fail(line(name), provider.CodeSettings, fmt.Sprintf("write %s as a key under %s", rest, section), "unknown key %q", prefix+name.Value)
			continue
		}
		r.entry(prefix+name.Value, line(name), entries.Value())
	}
}

func (r *reader) entry(path string, at int, value ast.Node) {
	if isSection(path) {
		m, ok := value.(ast.MapNode)
		if !ok {
			r.fail(at, provider.CodeSettings, "", "%s must hold keys and values", path)
			return
		}
		r.section(m, path+".")
		return
	}
	r.versioned = r.versioned || path == "version"
	s, ok := lookup(key, path)
	if !ok {
		r.fail(at, provider.CodeSettings, suggestion(path), "unknown key %q", path)
		return
	}
	r.setting(s, at, value)
}

func isSection(path string) bool {
	return slices.ContainsFunc(Settings, func(s Setting) bool { return strings.HasPrefix(s.Key, path+".") })
}

// setting reads one value and checks it, so that every problem has its line.
func (r *reader) setting(s Setting, at int, value ast.Node) {
	items, lines, ok := texts(s.Kind, value)
	if !ok {
		r.fail(at, provider.CodeSettings, quoteHint(s.Kind, value), "%s must be %s", s.Key, expected(s))
		return
	}
	parsed, bad, err := s.parse(items)
	if err != nil {
		if bad >= 0 {
			at = lines[bad]
		}
		r.fail(at, provider.CodeSettings, "", "%s: %s", s.Key, err)
		return
	}
	r.file.Values[s.Name()] = Value{
		Items: parsed, Source: fmt.Sprintf("%s:%d", r.file.Name, at), File: r.file.Name, Line: at,
	}
}

// texts returns the items of a value and their lines; ok is false if the value
// is not of the kind. Anchors, aliases and tags are of no kind.
func texts(kind Kind, value ast.Node) (items []string, lines []int, ok bool) {
	if kind == Map {
		return pairs(value)
	}
	list, isList := value.(*ast.SequenceNode)
	switch {
	case kind == List && !isList, kind != List && kind != Platforms && isList:
		return nil, nil, false
	case isList:
		for _, item := range list.Values {
			text, ok := item.(*ast.StringNode)
			if !ok {
				return nil, nil, false
			}
			items, lines = append(items, text.Value), append(lines, line(item))
		}
		return items, lines, true
	}
	text, ok := scalar(kind, value)
	return []string{text}, []int{line(value)}, ok && (kind != Platforms || text == "auto" || text == "all")
}

// pairs returns the entries of a map as NAME=TEXT. A number and a boolean count
// as the text that they are written as.
func pairs(value ast.Node) (items []string, lines []int, ok bool) {
	m, ok := value.(ast.MapNode)
	if !ok {
		return nil, nil, false
	}
	for entries := m.MapRange(); entries.Next(); {
		name, ok := entries.Key().(*ast.StringNode)
		if !ok {
			return nil, nil, false
		}
		switch text := entries.Value().(type) {
		case *ast.StringNode:
			items = append(items, name.Value+"="+text.Value)
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
			items = append(items, name.Value+"="+text.GetToken().Value)
		default:
			return nil, nil, false
		}
		lines = append(lines, line(name))
	}
	return items, lines, true
}

func scalar(kind Kind, value ast.Node) (string, bool) {
	switch n := value.(type) {
	case *ast.BoolNode:
		return n.GetToken().Value, kind == Bool
	case *ast.IntegerNode:
		return n.GetToken().Value, kind == Number
	case *ast.StringNode:
		return n.Value, kind != Bool && kind != Number
	}
	return "", false
}

func expected(s Setting) string {
	switch s.Kind {
	case Bool:
		return "true or false"
	case Number:
		return "a number"
	case Choice:
		return "one of " + strings.Join(s.Values, ", ")
	case List:
		return "a list of texts, like [a, b]"
	case Platforms:
		return "auto, all or a list like [linux_amd64, darwin_arm64]"
	case Map:
		return "names and texts, like {environment: prod}"
	}
	return "one line of text"
}

// quoteHint helps where YAML takes an unquoted text for a number or a boolean,
// as in tool-version: 1.11.
func quoteHint(kind Kind, value ast.Node) string {
	switch value.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		if kind == Text {
			return fmt.Sprintf("write it in quotes: %q", value.GetToken().Value)
		}
	}
	return ""
}

// suggestion is the hint for an unknown key: the nearest known one, or where
// else the name belongs, or all keys of the section.
func suggestion(path string) string {
	if near, ok := nearest(path); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if s, ok := lookup(input, path); ok && s.Key == "" {
		return fmt.Sprintf("%s is an input of the Action, not a key of the file", path)
	}
	if s, ok := lookup(flag, path); ok && s.Key == "" {
		return fmt.Sprintf("--%s is a flag of the command line, not a key of the file", path)
	}
	prefix := path[:strings.LastIndex(path, ".")+1]
	var known []string
	for _, s := range Settings {
		rest, ok := strings.CutPrefix(s.Key, prefix)
		first, _, _ := strings.Cut(rest, ".")
		if ok && s.Key != "" && !slices.Contains(known, first) {
			known = append(known, first)
		}
	}
	return "known keys here are " + strings.Join(known, ", ")
}

// nearest returns the known key that differs least from an unknown one, if
// that can be a slip of the pen. A key in the wrong section counts as near.
func nearest(path string) (string, bool) {
	best, least := "", 3
	for _, s := range Settings {
		if s.Key == "" {
			continue
		}
		distance := min(
			levenshtein.Distance(path, s.Key, nil),
			levenshtein.Distance(last(path), last(s.Key), nil),
		)
		if distance < least && distance < len(last(path)) {
			best, least = s.Key, distance
		}
	}
	return best, best != ""
}

func last(path string) string { return path[strings.LastIndex(path, ".")+1:] }
