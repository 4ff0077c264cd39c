package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Schema returns the JSON schema (draft 2020-12) of the configuration file, for
// editors.
func Schema() []byte {
	root := object("relock", "Settings of relock, which keeps dependency lock files of Terraform and OpenTofu fresh.")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["required"] = []string{"version"}
	for _, s := range Settings {
		if s.Key == "" {
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
		parent["properties"].(map[string]any)[name] = s.schema()
	}
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("config: the schema is not JSON: " + err.Error())
	}
	return append(text, '\n')
}

// sections describes the keys that hold other keys.
var sections = map[string]string{
	"pull-request": "How pull requests are made.",
	"verify":       "What is believed.",
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

// schema returns what a value of the setting must look like. Patterns, globs
// and branch names are checked by ParseFile only.
func (s Setting) schema() map[string]any {
	texts := map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
	var m map[string]any
	switch s.Kind {
	case Bool:
		m = map[string]any{"type": "boolean", "default": s.Default == "true"}
	case Number: // version is the only one in the file
		m = map[string]any{"const": 1}
	case Choice:
		m = map[string]any{"enum": s.Values, "default": s.Default}
	case List:
		m = texts
		m["default"] = append([]string{}, s.defaults()...)
	case Platforms:
		texts["minItems"] = 1
		texts["items"] = map[string]any{"type": "string", "pattern": "^[^_]+_[^_]+$"}
		m = map[string]any{"anyOf": []any{map[string]any{"enum": []string{"auto", "all"}}, texts}, "default": s.Default}
	case Map:
		values := map[string]any{"type": []string{"string", "number", "boolean"}}
		m = map[string]any{"type": "object", "additionalProperties": values, "default": map[string]any{}}
	default:
		m = map[string]any{"type": "string", "default": s.Default}
	}
	m["description"] = s.Doc
	return m
}

// Init returns a starting configuration file: every setting at its default,
// with a comment on each.
func Init() []byte {
	var b strings.Builder
	b.WriteString("# Settings of relock. Every key but version may be left out;\n# the values below are the defaults.\n")
	section := ""
	for _, s := range Settings {
		if s.Key == "" {
			continue
		}
		name, indent := s.Key, ""
		if prefix, rest, ok := strings.Cut(s.Key, "."); ok {
			if prefix != section {
				fmt.Fprintf(&b, "\n# %s\n%s:", sections[prefix], prefix)
			}
			section, name, indent = prefix, rest, "  "
		}
		b.WriteString("\n")
		for _, line := range wrap(s.Doc, 76-len(indent)) {
			fmt.Fprintf(&b, "%s# %s\n", indent, line)
		}
		fmt.Fprintf(&b, "%s%s: %s\n", indent, name, s.shown(s.defaults()))
	}
	return []byte(b.String())
}

// wrap breaks a text into lines of at most width bytes between words.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// The markers around the table of settings in the README.
const (
	MarkdownBegin = "<!-- settings:begin -->"
	MarkdownEnd   = "<!-- settings:end -->"
)

// Markdown returns the table of settings for the README, markers included.
func Markdown() string {
	var b strings.Builder
	b.WriteString(MarkdownBegin + "\n| In the file | Input | Flag | Default | Meaning |\n|---|---|---|---|---|\n")
	for _, s := range Settings {
		flag := s.Flag
		if flag != "" {
			flag = "--" + flag
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n",
			code(s.Key), code(s.Input), code(flag), code(s.documentedDefault()), escape(s.Doc))
	}
	b.WriteString(MarkdownEnd + "\n")
	return b.String()
}

func (s Setting) documentedDefault() string {
	if s.InputDefault != "" {
		return s.InputDefault
	}
	return strings.ReplaceAll(s.Default, ",", ", ")
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// escape keeps the characters of a description from being Markdown.
var escape = strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "|", `\|`).Replace
