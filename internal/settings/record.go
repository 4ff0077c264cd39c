package settings

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/relock-dev/relock/internal/collect"
)

// structure reads the records of one setting.
func (r *reader) structure(s Setting, at int, value ast.Node, sc scope) {
	maps, ok := recordsOf(s, value)
	if !ok {
		r.fail(at, "", "%s must be %s", s.Key, expected(s))
		return
	}
	if s.Most > 0 && len(maps) > s.Most {
		r.fail(maps[s.Most].line, "", "%s: there are %s, and there may be %d", s.Key, collect.Count(len(maps), "set", "sets"), s.Most)
		return
	}
	var records []Item
	for _, m := range maps {
		if rec, ok := r.record(s, m, records, sc.enforced); ok {
			records = append(records, rec)
		}
	}
	sc.values[s.Name()] = r.value(at, Value{Items: records}, sc)
}

// record reads one record; ok is false if it has problems.
func (r *reader) record(s Setting, n node, before []Item, enforced bool) (rec Item, ok bool) {
	known := len(r.problems)
	rec = Item{Name: n.name, Fields: Values{}, Place: r.place(n.line)}
	if s.Kind == Named {
		if err := s.check(n.name); err != nil {
			r.fail(n.line, "", "%s: %s", s.Key, err)
		}
	}
	r.section(n.m, scope{prefix: s.prefix(), settings: s.Fields, values: rec.Fields, enforced: enforced})
	for _, f := range s.Fields {
		if f.Required && len(r.problems) == known && !rec.has(f.Name()) {
			r.fail(n.line, "", "%s is missing", f.Key)
		}
	}
	if s.sound != nil && len(r.problems) == known {
		if err := s.sound(s, before, rec); err != nil {
			r.fail(n.line, "", "%s: %s", s.Key, err)
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
