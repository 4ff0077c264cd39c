package settings

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/relock-dev/relock/internal/problem"
)

// maxNesting bounds how deeply lists and maps may be in each other. The
// settings need three levels; the parser's cost grows with the square.
const maxNesting = 16

// form is what a kind of file may hold.
type form struct {
	what     string // for people, with its article
	settings []Setting
	limit    int  // of its size
	enforces bool // it may have the key enforced, if it is the operator's
	operator bool // it may hold what only the operator may say
}

func parseFile(src []byte, name string, is form) (File, []problem.Problem) {
	r := &reader{file: File{Name: name, Values: Values{}, Enforced: Values{}}, form: is}
	if root, ok := r.root(src); ok {
		r.section(root, scope{settings: is.settings, values: r.file.Values})
		if len(r.problems) == 0 {
			r.enforceable()
		}
		if !r.versioned {
			r.fail(1, "begin the file with: version: 1", "the key version is missing")
		}
	}
	slices.SortStableFunc(r.problems, problem.Problem.Compare)
	return r.file, r.problems
}

// reader collects the values and the problems of one file.
type reader struct {
	file File
	form
	versioned bool // the key version was met
	problems  []problem.Problem
}

// scope says which keys a map may hold and where their values go.
type scope struct {
	prefix   string // of the keys: empty, or it ends in a dot
	settings []Setting
	values   Values
	enforced bool // values of this file are enforced
}

// lookup finds the setting of a key of the map.
func (s scope) lookup(path string) (Setting, bool) {
	i := slices.IndexFunc(s.settings, func(t Setting) bool { return t.Key == path && path != "" })
	if i < 0 {
		return Setting{}, false
	}
	return s.settings[i], true
}

// section returns the scope of a map that a key of this one holds, if it is one
// that only divides settings.
func (s scope) section(path string) (scope, bool) {
	ok := slices.ContainsFunc(s.settings, func(t Setting) bool { return strings.HasPrefix(t.Key, path+".") })
	return scope{prefix: path + ".", settings: s.settings, values: s.values, enforced: s.enforced}, ok
}

func (r *reader) fail(line int, hint, format string, args ...any) {
	r.problems = append(r.problems, refusal(r.place(line), hint, format, args...))
}

func (r *reader) place(line int) problem.Place { return problem.Place{Path: r.file.Name, Line: line} }

// root returns the map that is the whole file.
func (r *reader) root(src []byte) (ast.MapNode, bool) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	switch {
	case len(src) > r.limit:
		r.fail(0, "", "%s is larger than %d KiB", r.what, r.limit>>10)
		return nil, false
	case !utf8.Valid(src):
		r.syntax(0, r.what+" is not UTF-8 text")
		return nil, false
	}
	tokens := lexer.Tokenize(string(src))
	if line := tooDeep(tokens); line > 0 {
		r.fail(line, "", "lists and maps are nested more than %d deep", maxNesting)
		return nil, false
	}
	file, err := parser.Parse(tokens, 0)
	if d, unmerged := problem.Unmerged(src, problem.Place{Path: r.file.Name}); unmerged && err != nil {
		r.problems = append(r.problems, d)
		return nil, false
	}
	if err != nil {
		r.refused(err)
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

// refused adds the error of the parser of YAML.
func (r *reader) refused(err error) {
	var of yaml.Error
	switch {
	case !errors.As(err, &of):
		r.syntax(0, err.Error())
	case of.GetToken() == nil:
		r.syntax(0, of.GetMessage())
	default:
		r.syntax(of.GetToken().Position.Line, of.GetMessage())
	}
}

func (r *reader) syntax(line int, message string) {
	r.problems = append(r.problems, problem.Problem{Code: problem.CodeSyntax, Place: r.place(line), Message: message})
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
		r.fail(0, hint, "%s is empty", r.what)
		return nil, false
	case len(bodies) > 1:
		r.fail(line(bodies[1]), "remove the line ---", "%s holds more than one document", r.what)
		return nil, false
	}
	root, ok := bodies[0].(ast.MapNode)
	if !ok {
		r.fail(line(bodies[0]), hint, "%s does not consist of keys and values", r.what)
	}
	return root, ok
}

func line(n ast.Node) int { return n.GetToken().Position.Line }

// section reads the keys of one map.
func (r *reader) section(m ast.MapNode, sc scope) {
	for entries := m.MapRange(); entries.Next(); {
		name, ok := entries.Key().(*ast.StringNode)
		if !ok {
			r.fail(line(entries.Key()), "", "a key is not a plain name")
			continue
		}
		if section, rest, dotted := strings.Cut(name.Value, "."); dotted {
			r.fail(line(name), fmt.Sprintf("write %s as a key under %s", rest, section), "unknown key %q", sc.prefix+name.Value)
			continue
		}
		r.entry(sc.prefix+name.Value, line(name), entries.Value(), sc)
	}
}

func (r *reader) entry(path string, at int, value ast.Node, sc scope) {
	inner, isSection := sc.section(path)
	if path == enforced && r.enforces && !sc.enforced {
		if !r.operator {
			r.fail(at, "keep it in the file that --config names for a run over other repositories; relock config validate --operator checks that",
				"%s must not be in a repository's own configuration file: the operator of a run enforces settings", enforced)
			return
		}
		inner, isSection = scope{settings: r.settings, values: r.file.Enforced, enforced: true}, true
	}
	if isSection {
		if m, ok := value.(ast.MapNode); ok {
			r.section(m, inner)
		} else {
			r.fail(at, "", "%s must hold keys and values", path)
		}
		return
	}
	r.versioned = r.versioned || path == "version" && !sc.enforced
	s, ok := sc.lookup(path)
	switch {
	case !ok:
		r.fail(at, suggestion(path, sc), "unknown key %q", sc.shown(path))
	case sc.enforced && (s.Operator || path == "version"):
		r.fail(at, "write it without "+enforced, "%s cannot be enforced, since no repository has a say in it", path)
	case s.Operator && !r.operator && s.Kind != Named:
		r.fail(at, "keep it in the file that --config names for a run over all repositories",
			"%s must not be in a repository's own configuration file, since it is about all repositories", path)
	case s.Operator && !r.operator:
		r.fail(at, "keep it in a file outside of the repository, and name that with --config",
			"%s must not be in a repository's own configuration file, since it chooses who gets credentials", path)
	case s.structured(), s.listable() && value.Type() == ast.SequenceType:
		r.structure(s, at, value, sc)
	default:
		r.setting(s, at, value, sc)
	}
}

// value adds the place to a value.
func (r *reader) value(at int, v Value, sc scope) Value {
	v.Place = r.place(at)
	v.Source, v.By = v.Place.String(), ByRepository
	switch {
	case sc.enforced:
		v.Source, v.By = "enforced by "+v.Source, ByEnforcement
	case r.operator:
		v.By = ByOperator
	}
	return v
}

// enforced is the key below which an operator's file holds what no repository's own changes.
const enforced = "enforced"

// enforceable refuses what enforces nothing, or leaves another value without any effect.
func (r *reader) enforceable() {
	for _, s := range r.settings {
		v, ok := r.file.Enforced[s.Name()]
		was, twice := r.file.Values[s.Name()]
		switch {
		case ok && v.empty() && !s.replaces():
			r.fail(v.Place.Line, "", "%s is empty, so that nothing is enforced", s.Key)
		case ok && twice && s.replaces():
			r.fail(v.Place.Line, "keep one of them", "%s is in line %d, too, where it would have no effect", s.Key, was.Place.Line)
		}
	}
}

// shown is a key as the file has it.
func (s scope) shown(path string) string {
	if s.enforced {
		return enforced + "." + path
	}
	return path
}

// setting reads one value and checks it, so that every problem has its line.
func (r *reader) setting(s Setting, at int, value ast.Node, sc scope) {
	items, ok := r.items(s, value)
	if !ok {
		r.fail(at, quoteHint(s.Kind, value), "%s must be %s", s.Key, expected(s))
		return
	}
	parsed, bad, err := s.parse(nil, items)
	if err != nil {
		if bad >= 0 {
			at = items[bad].Place.Line
		}
		r.fail(at, "", "%s: %s", s.Key, err)
		return
	}
	sc.values[s.Name()] = r.value(at, Value{Items: parsed}, sc)
}

// items returns the items of a value; ok is false if the value is not of the setting's
// kind. Anchors, aliases and tags are of no kind.
func (r *reader) items(s Setting, value ast.Node) (items []Item, ok bool) {
	list, isList := value.(*ast.SequenceNode)
	kind := s.Kind
	switch {
	case kind == Map || kind == Lists:
		return r.entries(kind, value)
	case isList && (kind == List || kind == Platforms):
		return r.texts("", list.Values, Text)
	case s.Single:
		kind = Text
	}
	items, ok = r.texts("", []ast.Node{value}, kind)
	switch {
	case s.Single && ok && items[0].Text == "":
		return nil, true
	case kind == List, kind == Platforms && !keyword(items):
		return nil, false
	}
	return items, ok
}

// entries returns the entries of a map, one for each text of a list.
func (r *reader) entries(kind Kind, value ast.Node) (items []Item, ok bool) {
	m, ok := value.(ast.MapNode)
	if !ok {
		return nil, false
	}
	for entries := m.MapRange(); entries.Next(); {
		name, named := entries.Key().(*ast.StringNode)
		nodes := []ast.Node{entries.Value()}
		if list, isList := entries.Value().(*ast.SequenceNode); kind == Lists {
			if !isList || len(list.Values) == 0 {
				return nil, false
			}
			nodes = list.Values
		}
		if !named {
			return nil, false
		}
		texts, ok := r.texts(name.Value, nodes, kind)
		if !ok {
			return nil, false
		}
		items = append(items, texts...)
	}
	return items, true
}

// texts makes an item of each node, if all are of a kind.
func (r *reader) texts(name string, nodes []ast.Node, kind Kind) (items []Item, ok bool) {
	for _, n := range nodes {
		text, ok := scalar(kind, n)
		if !ok {
			return nil, false
		}
		items = append(items, Item{Name: name, Text: text, Place: r.place(line(n))})
	}
	return items, true
}

// scalar is the text of a scalar of a kind. In maps, a number and a boolean count as the text
// that they are written as.
func scalar(kind Kind, value ast.Node) (string, bool) {
	inMap := kind == Map || kind == Lists
	switch n := value.(type) {
	case *ast.BoolNode:
		return n.GetToken().Value, inMap || kind == Bool
	case *ast.IntegerNode:
		return n.GetToken().Value, inMap || kind == Number
	case *ast.FloatNode:
		return n.GetToken().Value, inMap
	case *ast.StringNode:
		return n.Value, kind != Bool && kind != Number
	}
	return "", false
}
