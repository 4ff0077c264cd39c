package settings

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/relock-dev/relock/internal/globs"
)

// maxSets bounds the sets of values that one lock file serves: a root module may be read
// once for each.
const maxSets = 16

// VariableSet is a set of values of variables for some root modules.
type VariableSet struct {
	Name        string            `key:"name"`
	Values      map[string]string `key:"values"`      // as texts, by variable
	Files       []string          `key:"var-files"`   // relative to the root module; later ones win
	Directories []string          `key:"directories"` // globs; empty: everywhere
}

func variableRows(v *VariableSet) []Setting {
	return []Setting{
		{field: &v.Name, Required: true, check: isSetName,
			Doc: "Name of the set, as messages have it: up to 50 letters, digits, dots, dashes and underscores."},
		{field: &v.Values, check: isVariable, Doc: "Values by the names of variables."},
		{field: &v.Files, check: isVariableFile,
			Doc: "Paths of variable files, relative to the root module, like envs/prod.tfvars. Later ones win, and values win over all of them. On a pull request's head, they are read from the head."},
		{field: &v.Directories, Where: true, check: globs.IsGlob,
			Doc: "Globs of the directories of the root modules that are run with the set. Without it: everywhere."},
	}
}

// EnvironmentSet is a set of values that Terragrunt units are read with, as if they were run
// so.
type EnvironmentSet struct {
	Name        string            `key:"name"`
	Env         map[string]string `key:"env"`         // variables of the environment
	Features    map[string]string `key:"features"`    // feature flags
	Directories []string          `key:"directories"` // globs; empty: everywhere
}

func environmentRows(e *EnvironmentSet) []Setting {
	return []Setting{
		{field: &e.Name, Required: true, check: isSetName,
			Doc: "Name of the set, as messages have it: up to 50 letters, digits, dots, dashes and underscores."},
		{field: &e.Env, check: isEnvName, Doc: "What get_env returns, by the names of variables of the environment."},
		{field: &e.Features, check: isVariable,
			Doc: "Values of feature flags, by their names, instead of their defaults."},
		{field: &e.Directories, Where: true, check: globs.IsGlob,
			Doc: "Globs of the directories of the units that are run with the set. Without it: everywhere."},
	}
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

// setSoundly refuses a second set of a name, and one without any values.
func setSoundly(s Setting, before []Item, r Item) error {
	if err := another("set", before, r); err != nil {
		return err
	}
	for _, f := range s.Fields {
		if f.Kind != Text && !f.Where && r.has(f.Name()) {
			return nil
		}
	}
	return errors.New("the set " + r.key() + " has no values")
}

// another refuses a second record of one name.
func another(what string, before []Item, r Item) error {
	for _, other := range before {
		if other.key() == r.key() {
			return fmt.Errorf("there is another %s %q, %s", what, r.key(), other.Place.String())
		}
	}
	return nil
}
