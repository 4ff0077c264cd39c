package settings

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/relock-dev/relock/internal/problem"
)

// record is one map of a setting that is made of them.
type record struct {
	name   string // of Named
	fields []Setting
	values Values // of the fields that are given, by their names
	Place  problem.Place
}

// fill copies the fields into the value that the record describes.
func (r record) fill(target any) {
	for _, f := range r.fields {
		if v, given := r.values[f.Name()]; given {
			if _, err := f.take(target, v.Items); err != nil {
				panic("settings: a value that was read is refused: " + err.Error())
			}
		}
	}
}

// items are those of a field; none if it is left out.
func (r record) items(field string) []string { return r.values[field].Items }

// text is the value of a field; empty if it is left out.
func (r record) text(field string) string {
	if items := r.items(field); len(items) > 0 {
		return items[0]
	}
	return ""
}

// key is the name of the record, if it has any.
func (r record) key() string {
	for _, f := range r.fields {
		if last(f.Key) == "name" {
			return r.text(f.Name())
		}
	}
	return r.name
}

// has reports whether any of the fields is given.
func (r record) has(fields ...string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { _, ok := r.values[f]; return ok })
}

// structure reads the records of one setting.
func (r *reader) structure(s Setting, at int, value ast.Node, sc scope) {
	maps, ok := recordsOf(s, value)
	if !ok {
		r.fail(at, problem.CodeSettings, "", "%s must be %s", s.Key, expected(s))
		return
	}
	if s.Most > 0 && len(maps) > s.Most {
		r.fail(maps[s.Most].line, problem.CodeSettings, "", "%s: there are %d sets, and there may be %d", s.Key, len(maps), s.Most)
		return
	}
	var records []record
	for _, m := range maps {
		if rec, ok := r.record(s, m, records, sc.enforced); ok {
			records = append(records, rec)
		}
	}
	sc.values[s.Name()] = r.value(at, Value{records: records}, sc)
}

// record reads one record, which is good if nothing about it is reported.
func (r *reader) record(s Setting, n node, before []record, enforced bool) (record, bool) {
	known := len(r.problems)
	rec := record{name: n.name, fields: s.Fields, values: Values{}, Place: problem.Place{Path: r.file.Name, Line: n.line}}
	if s.check != nil {
		if err := s.check(n.name); err != nil {
			r.fail(n.line, problem.CodeSettings, "", "%s: %s", s.Key, err)
		}
	}
	r.section(n.m, scope{prefix: s.prefix(), settings: s.Fields, values: rec.values, enforced: enforced})
	for _, f := range s.Fields {
		if f.Required && len(r.problems) == known && !rec.has(f.Name()) {
			r.fail(n.line, problem.CodeSettings, "", "%s is missing", f.Key)
		}
	}
	if s.sound != nil && len(r.problems) == known {
		if err := s.sound(before, rec); err != nil {
			r.fail(n.line, problem.CodeSettings, "", "%s: %s", s.Key, err)
		}
	}
	return rec, len(r.problems) == known
}

// node is a map in the file that describes a record.
type node struct {
	name string // of Named
	m    ast.MapNode
	line int // of its name, or else of its first key
}

// recordsOf returns the maps of which a value of Records or Named is made.
func recordsOf(s Setting, value ast.Node) (nodes []node, ok bool) {
	if s.Kind == Named {
		m, ok := value.(ast.MapNode)
		if !ok {
			return nil, false
		}
		for entries := m.MapRange(); entries.Next(); {
			name, named := entries.Key().(*ast.StringNode)
			inner, ok := entries.Value().(ast.MapNode)
			if !ok || !named {
				return nil, false
			}
			nodes = append(nodes, node{name.Value, inner, line(name)})
		}
		return nodes, true
	}
	list, ok := value.(*ast.SequenceNode)
	if !ok {
		return nil, false
	}
	for _, item := range list.Values {
		m, ok := item.(ast.MapNode)
		if !ok {
			return nil, false
		}
		nodes = append(nodes, node{"", m, firstLine(item, m)})
	}
	return nodes, true
}

// firstLine is the line of a map's first key: the map's own token is a colon.
func firstLine(n ast.Node, m ast.MapNode) int {
	if entries := m.MapRange(); entries.Next() {
		return line(entries.Key())
	}
	return line(n)
}
