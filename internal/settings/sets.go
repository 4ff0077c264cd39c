package settings

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// maxSets bounds the sets of values that one lock file serves: a root module may be read
// once for each.
const maxSets = 16

var (
	setName = whenUsed(`^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$`)
	envName = whenUsed(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
)

func isSetName(s string) error {
	if !setName().MatchString(s) {
		return fmt.Errorf("%q is not a name of up to 50 letters, digits, dots, dashes and underscores", s)
	}
	return nil
}

// isVariableFile accepts a path in the repository that has the ending of variable files:
// of others a file tree from afar lacks the content.
func isVariableFile(s string) error {
	switch {
	case !strings.HasSuffix(s, ".tfvars") && !strings.HasSuffix(s, ".tfvars.json"):
		return fmt.Errorf("%q is no variable file; it must end in .tfvars or .tfvars.json", s)
	case path.IsAbs(s), strings.Contains(s, `\`):
		return fmt.Errorf("%q is not relative to the root module", s)
	}
	return nil
}

// addEnv adds a variable of the environment.
func addEnv(to *map[string]string, item Item) error { return addNamed(to, item, isEnvName) }

func isEnvName(name string) error {
	if !envName().MatchString(name) {
		return fmt.Errorf("%q is not the name of a variable of the environment", name)
	}
	return nil
}

// setSoundly refuses a second set of a name, and one without any values.
func setSoundly(s Setting, before []Item, r Item) error {
	for _, other := range before {
		if other.key() == r.key() {
			return fmt.Errorf("there is another set %q, %s", r.key(), other.Place.String())
		}
	}
	for _, f := range s.Fields {
		if f.Kind != Text && !f.Where && r.has(f.Name()) {
			return nil
		}
	}
	return errors.New("the set " + r.key() + " has no values")
}

func addVariableSet(c *Settings, s Setting, r Item) {
	var v VariableSet
	fill(&v, s.Fields, r)
	c.VariableSets = append(c.VariableSets, v)
}

func addEnvironment(c *Settings, s Setting, r Item) {
	var e EnvironmentSet
	fill(&e, s.Fields, r)
	c.Environments = append(c.Environments, e)
}
