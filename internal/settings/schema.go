package settings

import (
	"encoding/json"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// Schema returns the JSON schema (draft 2020-12) of the configuration file, for editors.
func Schema() []byte {
	keys := properties(func(Setting) bool { return true })
	keys[enforced] = object("Settings that no repository's own file changes. Only the operator's file may hold it, which --config names for a run over other repositories.",
		properties(func(s Setting) bool { return !s.Operator && s.Key != "version" }))
	root := object("Settings of relock, which keeps dependency lock files of Terraform and OpenTofu fresh.", keys)
	root["title"], root["required"] = "relock", []string{"version"}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("settings: the schema is not JSON: " + err.Error())
	}
	return append(text, '\n')
}

// properties are the schemas of settings and of the sections that they are in.
func properties(holds func(Setting) bool) map[string]any {
	top := map[string]any{}
	for _, s := range All {
		if s.Key == "" || !holds(s) {
			continue
		}
		in, name := top, s.Key
		if section, rest, ok := strings.Cut(s.Key, "."); ok {
			if top[section] == nil {
				top[section] = object(sections[section], map[string]any{})
			}
			in, name = top[section].(map[string]any)["properties"].(map[string]any), rest
		}
		in[name] = schemaOf(s)
	}
	return top
}

// sections describes the keys that hold other keys.
var sections = map[string]string{
	"pull-request": "How pull requests are made.",
	"verify":       "Which proofs relock accepts.",
	"org":          "Which repositories of an organisation, and how much at once.",
	"terragrunt":   "How Terragrunt units are read.",
}

func object(description string, properties map[string]any) map[string]any {
	return map[string]any{
		"type": "object", "description": description, "properties": properties, "additionalProperties": false,
	}
}

// schemaOf returns what a value of the setting must look like. Patterns, globs, names, dates
// and constraints are checked by ParseFile only.
func schemaOf(s Setting) map[string]any {
	m := shapeOf(s)
	m["description"] = s.Doc
	if !s.inRecord() && s.Key != "version" {
		m["default"] = shown(s, s.byDefault())
	}
	return m
}

// shapeOf is the schema without the description and the default.
func shapeOf(s Setting) map[string]any {
	texts := map[string]any{"type": []string{"string", "number", "boolean"}} // that count as they are written
	switch s.Kind {
	case Bool:
		return map[string]any{"type": "boolean"}
	case Number:
		if s.Key == "version" {
			return map[string]any{"const": 1}
		}
		return map[string]any{"type": "integer", "minimum": s.Min}
	case Choice:
		return map[string]any{"enum": s.Values}
	case List:
		items := map[string]any{"type": "string"}
		if len(s.Values) > 0 {
			items["enum"] = s.Values
		}
		if s.Single {
			return anyOf(map[string]any{"type": "string"}, listSchema(items))
		}
		return listSchema(items)
	case Platforms:
		platforms := listSchema(map[string]any{"enum": provider.KnownPlatforms})
		platforms["minItems"] = 1
		return anyOf(map[string]any{"enum": []string{"auto", "all"}}, platforms)
	case Map:
		if s.listable() {
			return anyOf(mapSchema(texts), recordsSchema(s))
		}
		return mapSchema(texts)
	case Lists:
		list := listSchema(texts)
		list["minItems"] = 1
		return mapSchema(list)
	case Records:
		return recordsSchema(s)
	case Named:
		return mapSchema(recordSchema(s))
	}
	return map[string]any{"type": "string"}
}

func anyOf(shapes ...any) map[string]any { return map[string]any{"anyOf": shapes} }

func mapSchema(value map[string]any) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": value}
}

func listSchema(items map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": items}
}

// recordsSchema is the schema of a list of records.
func recordsSchema(s Setting) map[string]any {
	list := listSchema(recordSchema(s))
	if s.Most > 0 {
		list["maxItems"] = s.Most
	}
	return list
}

func recordSchema(s Setting) map[string]any {
	fields := map[string]any{}
	var required []string
	for _, f := range s.Fields {
		fields[f.Name()] = schemaOf(f)
		if f.Required {
			required = append(required, f.Name())
		}
	}
	o := object("", fields)
	delete(o, "description")
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}
