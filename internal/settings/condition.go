package settings

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/globs"
)

// Condition selects repositories of an organisation.
type Condition struct {
	Key   string // one of those in conditionKeys; of a custom property, property.NAME
	Value string
	Not   bool
}

// conditionKeys are the properties by which repositories are selected, each with what it is
// compared with, in words and as a check.
var conditionKeys = map[string]struct {
	want string
	is   func(string) bool
}{
	"name":       {"a pattern of names without the owner, like infra-*", globs.IsName},
	"topic":      {"a topic", func(string) bool { return true }},
	"visibility": {"public, private or internal", oneOf("public", "private", "internal")},
	"fork":       {"true, false or any, with =", oneOf("true", "false", "any")},
	"file": {"the path of a file from the top of a repository", func(name string) bool {
		return path.Clean(name) == name && !path.IsAbs(name) && !strings.HasPrefix(name, "..")
	}},
}

func oneOf(words ...string) func(string) bool {
	return func(word string) bool { return slices.Contains(words, word) }
}

// property is the beginning of the keys of custom properties.
const property = "property."

// Property is the name of the compared custom property; empty: another key is compared.
func (c Condition) Property() string {
	name, ok := strings.CutPrefix(c.Key, property)
	if !ok {
		return ""
	}
	return name
}

// String returns the condition as people write it.
func (c Condition) String() string {
	if c.Not {
		return c.Key + "!=" + c.Value
	}
	return c.Key + "=" + c.Value
}

// ParseCondition reads KEY=VALUE or KEY!=VALUE.
func ParseCondition(text string) (Condition, error) {
	key, value, ok := strings.Cut(text, "=")
	c := Condition{Key: key, Value: value}
	c.Key, c.Not = strings.CutSuffix(key, "!")
	compared, known := conditionKeys[c.Key]
	switch {
	case !ok || value == "":
		return c, fmt.Errorf("%q is no condition; it must be like topic=terraform or name!=test-*", text)
	case !known && c.Property() == "":
		return c, fmt.Errorf("%q: repositories cannot be chosen by %s; it must be name, topic, visibility, fork, file or property.NAME", text, c.Key)
	case known && !compared.is(value), c.Key == "fork" && c.Not:
		return c, fmt.Errorf("%q: %q is not %s", text, value, compared.want)
	}
	return c, nil
}
