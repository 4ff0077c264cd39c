package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
)

// Template is one line of text with placeholders like {{provider}}. There is no other
// syntax. Inserted values are not read again, so that no name from outside becomes a
// placeholder. An empty template means relock's own words.
type Template string

// maxTemplate bounds a template, in bytes; GitHub cuts titles at 256 characters.
const maxTemplate = 256

// Placeholder is a name that may be between {{ and }}, and its meaning.
type Placeholder struct{ Name, Doc string }

// Placeholders are those of pull-request.title and pull-request.commit-message.
// It must not be changed.
var Placeholders = []Placeholder{
	{"changes", "what relock writes itself, like Bump hashicorp/aws from 5.31.0 to 5.34.0 in 3 root modules"},
	{"group", "the name of the group"},
	{"provider", "the provider if it is one, else their number, like 7 providers"},
	{"from", "the version before, or nothing if there are several"},
	{"to", "the version after, or nothing if there are several"},
	{"directories", "the directory if it is one, else the number of root modules, like 3 root modules"},
	{"base", "the branch that the pull request is made against"},
}

// placeholder is how one is written, with spaces or without.
var placeholder = regexp.MustCompile(`\{\{ *([^{} ]*) *\}\}`)

// Execute replaces the placeholders by values. One without a value is removed, and white
// space becomes single spaces.
func (t Template) Execute(values map[string]string) string {
	text := placeholder.ReplaceAllStringFunc(string(t), func(written string) string {
		return values[placeholder.FindStringSubmatch(written)[1]]
	})
	return strings.Join(strings.Fields(text), " ")
}

// readTemplate refuses unknown placeholders and braces that are none.
func readTemplate(s string) (Template, error) {
	if len(s) > maxTemplate {
		return "", fmt.Errorf("the template is longer than %d bytes", maxTemplate)
	}
	for _, m := range placeholder.FindAllStringSubmatch(s, -1) {
		if !slices.ContainsFunc(Placeholders, func(p Placeholder) bool { return p.Name == m[1] }) {
			return "", fmt.Errorf("%q is not a placeholder; known are %s", m[0], placeholderNames())
		}
	}
	rest := placeholder.ReplaceAllString(s, "")
	if strings.Contains(rest, "{{") || strings.Contains(rest, "}}") {
		return "", fmt.Errorf("%q holds braces that are no placeholder; known are %s", s, placeholderNames())
	}
	return Template(s), nil
}

// written joins placeholders in the form that people write.
func written(separator string, each func(Placeholder) string) string {
	return strings.Join(collect.Mapped(Placeholders, each), separator)
}

func placeholderDocs() string {
	return written("; ", func(p Placeholder) string { return "{{" + p.Name + "}}, " + p.Doc })
}

func placeholderNames() string {
	return written(", ", func(p Placeholder) string { return "{{" + p.Name + "}}" })
}
