package settings

import (
	"encoding/json"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// Schema returns the JSON schema (draft 2020-12) of the configuration file, for
// editors.
func Schema() []byte {
	root := object("relock", "Settings of relock, which keeps dependency lock files of Terraform and OpenTofu fresh.")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["required"] = []string{"version"}
	addSettings(root, func(s Setting) bool { return s.Key != "" })
	root["properties"].(map[string]any)[enforced] = enforceableSchema()
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("settings: the schema is not JSON: " + err.Error())
	}
	return append(text, '\n')
}

// addSettings adds to the schema of a map the settings that it may hold.
func addSettings(root map[string]any, holds func(Setting) bool) {
	for _, s := range All {
		if !holds(s) {
			continue
		}
		parent, name := root, s.Key
		if section, rest, ok := strings.Cut(s.Key, "."); ok {
			properties := root["properties"].(map[string]any)
			if properties[section] == nil {
				properties[section] = object("", sections[section])
			}
			parent, name = properties[section].(map[string]any), rest
		}
		parent["properties"].(map[string]any)[name] = schemaOf(s)
	}
}

// enforceableSchema is what may be below the key enforced.
func enforceableSchema() map[string]any {
	o := object("", "Settings that no repository's own file changes. Only the operator's file may hold it, which --config names for a run over other repositories.")
	addSettings(o, func(s Setting) bool { return s.Key != "" && !s.Operator && s.Key != "version" })
	return o
}

// sections describes the keys that hold other keys.
var sections = map[string]string{
	"pull-request": "How pull requests are made.",
	"verify":       "Which proofs relock accepts.",
	"org":          "Which repositories of an organisation, and how much at once.",
	"terragrunt":   "How Terragrunt units are read.",
}

func object(title, description string) map[string]any {
	o := map[string]any{
		"type":                 "object",
		"description":          description,
		"properties":           map[string]any{},
		"additionalProperties": false,
	}
	if title != "" {
		o["title"] = title
	}
	return o
}

// schemaOf returns what a value of the setting must look like. Patterns, globs,
// names, dates and constraints are checked by ParseFile only.
func schemaOf(s Setting) map[string]any {
	m := shapeOf(s)
	m["description"] = s.Doc
	return m
}

// shapeOf is the schema without the description.
func shapeOf(s Setting) map[string]any {
	switch s.Kind {
	case Bool:
		return withDefault(s, map[string]any{"type": "boolean"}, s.Default == "true")
	case Number:
		if s.Key == "version" {
			return map[string]any{"const": 1}
		}
		return withDefault(s, map[string]any{"type": "integer", "minimum": s.Min}, json.Number(s.Default))
	case Choice:
		return withDefault(s, map[string]any{"enum": s.Values}, s.Default)
	case List:
		return withDefault(s, listSchema(s), append([]string{}, s.defaults()...))
	case Platforms:
		platforms := map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"enum": provider.KnownPlatforms}}
		return withDefault(s, map[string]any{"anyOf": []any{map[string]any{"enum": []string{"auto", "all"}}, platforms}}, s.Default)
	case Map:
		names := mapOf(map[string]any{"type": scalars})
		if s.listable() {
			return withDefault(s, map[string]any{"anyOf": []any{names, recordsSchema(s)}}, map[string]any{})
		}
		return withDefault(s, names, map[string]any{})
	case Lists:
		items := map[string]any{"type": scalars}
		return withDefault(s, mapOf(map[string]any{"type": "array", "minItems": 1, "items": items}), map[string]any{})
	case Records:
		return withDefault(s, recordsSchema(s), []any{})
	case Named:
		return withDefault(s, mapOf(recordSchema(s)), map[string]any{})
	}
	return withDefault(s, map[string]any{"type": "string"}, s.Default)
}

// scalars are the types that count as the text that they are written as.
var scalars = []string{"string", "number", "boolean"}

func mapOf(value map[string]any) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": value}
}

// withDefault adds the default, which a field has not.
func withDefault(s Setting, m map[string]any, value any) map[string]any {
	if !s.inRecord() {
		m["default"] = value
	}
	return m
}

func listSchema(s Setting) map[string]any {
	items := map[string]any{"type": "string"}
	if len(s.Values) > 0 {
		items["enum"] = s.Values
	}
	list := map[string]any{"type": "array", "items": items}
	if s.Single {
		return map[string]any{"anyOf": []any{map[string]any{"type": "string"}, list}}
	}
	return list
}

// recordsSchema is the schema of a list of records.
func recordsSchema(s Setting) map[string]any {
	list := map[string]any{"type": "array", "items": recordSchema(s)}
	if s.Most > 0 {
		list["maxItems"] = s.Most
	}
	return list
}

func recordSchema(s Setting) map[string]any {
	o := object("", "")
	delete(o, "description")
	var required []string
	for _, f := range s.Fields {
		name := f.Name()
		o["properties"].(map[string]any)[name] = schemaOf(f)
		if f.Required {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}
