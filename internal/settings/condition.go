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

// conditionKeys are the properties by which repositories are selected, with what each
// compares.
var conditionKeys = map[string]string{
	"name":       "a pattern of names without the owner, like infra-*",
	"topic":      "a topic",
	"visibility": "public, private or internal",
	"fork":       "true, false or any",
	"file":       "the path of a file that the default branch has",
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
	_, known := conditionKeys[c.Key]
	switch {
	case !ok || value == "":
		return c, fmt.Errorf("%q is no condition; it must be like topic=terraform or name!=test-*", text)
	case !known && c.Property() == "":
		return c, fmt.Errorf("%q: repositories cannot be chosen by %s; it must be name, topic, visibility, fork, file or property.NAME", text, c.Key)
	}
	wrong := func(want string) (Condition, error) { return c, fmt.Errorf("%q: %q is not %s", text, value, want) }
	switch c.Key {
	case "name":
		if !globs.IsName(value) {
			return wrong(conditionKeys["name"])
		}
	case "visibility":
		if !slices.Contains([]string{"public", "private", "internal"}, value) {
			return wrong(conditionKeys["visibility"])
		}
	case "fork":
		if !slices.Contains([]string{"true", "false", "any"}, value) || c.Not {
			return wrong(conditionKeys["fork"] + ", with =")
		}
	case "file":
		if path.Clean(value) != value || path.IsAbs(value) || strings.HasPrefix(value, "..") {
			return wrong("the path of a file from the top of a repository")
		}
	}
	return c, nil
}
