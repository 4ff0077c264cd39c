package versionfile

import (
	"errors"
	"slices"

	"github.com/pelletier/go-toml/v2/unstable"
)

// miseTools reads the table tools of a configuration file of mise, in which the
// version of a tool is a text, a list of versions of which the first runs, or a
// table [docs: mise.jdx.dev/configuration.html].
//
// Only go-toml's parser is used. Its check for duplicate keys takes time that
// grows with the square of their number. The parser stops at 10,000 levels of
// nesting. mise refuses a file with duplicate keys; here the first one counts.
func miseTools(src []byte) ([]mention, error) {
	var r miseReader
	r.parser.Reset(src)
	var table []string
	for r.parser.NextExpression() {
		e := r.parser.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = keyPath(e.Key(), nil)
		case unstable.KeyValue:
			r.value(keyPath(e.Key(), table), e.Value())
		}
	}
	if r.parser.Error() != nil {
		return nil, errors.New("it is no TOML")
	}
	for i := range r.found {
		r.found[i].line = r.parser.Shape(r.places[i]).Start.Line
	}
	return r.found, nil
}

// miseReader collects the versions of tools, in the order of the file.
type miseReader struct {
	parser unstable.Parser
	found  []mention
	places []unstable.Range
}

// deepestKey is the largest number of parts in the key of a tool's version, as in
// tools.terraform.version.
const deepestKey = 3

// keyPath is the path of a key in a table. Of a longer path, it keeps one part more than
// deepestKey, which shows that the key is too deep.
func keyPath(key unstable.Iterator, table []string) []string {
	path := slices.Clone(table)
	for key.Next() && len(path) <= deepestKey {
		path = append(path, string(key.Node().Data))
	}
	return path
}

// value reads the value at a path of the file, if that belongs to a tool.
func (r *miseReader) value(path []string, v *unstable.Node) {
	switch {
	case path[0] != "tools" || len(path) > deepestKey:
	case len(path) == deepestKey:
		r.version(path[1], path[2], v)
	case v.Kind == unstable.InlineTable:
		for pairs := v.Children(); pairs.Next(); {
			r.value(keyPath(pairs.Node().Key(), path), pairs.Node().Value())
		}
	case len(path) == 2 && v.Kind == unstable.Array:
		first := v.Child()
		if first.Valid() {
			r.value(path, first)
		}
	case len(path) == 2:
		r.version(path[1], "version", v)
	}
}

// version adds an option of a tool if it gives the tool's version. mise allows only texts
// here; a number counts as it is written.
func (r *miseReader) version(name, option string, v *unstable.Node) {
	known := slices.ContainsFunc(r.found, func(n mention) bool { return n.tool == name })
	if tools[name] == "" || known || option != "version" && option != "prefix" && option != "ref" && option != "path" {
		return
	}
	text := string(v.Data)
	switch v.Kind {
	case unstable.String:
	case unstable.Array, unstable.InlineTable:
		text = "…"
	default:
		text = string(r.parser.Raw(v.Raw))
	}
	if option != "version" {
		text = option + ":" + text
	}
	r.found, r.places = append(r.found, mention{tool: name, value: text}), append(r.places, v.Raw)
}
