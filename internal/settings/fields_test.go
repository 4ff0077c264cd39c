package settings

import (
	"reflect"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/policy"
)

// TestEveryTagHasARow holds that no field names a key, a flag or an input that nothing reads,
// and that every row is about a field with a name.
func TestEveryTagHasARow(t *testing.T) {
	t.Parallel()
	tagsHaveRows[Settings](t, All)
	for key, check := range map[string]func(*testing.T, []Setting){
		"rules": tagsHaveRows[policy.Rule], "registries": tagsHaveRows[Registry],
		"module-vars": tagsHaveRows[VariableSet], "terragrunt.environments": tagsHaveRows[EnvironmentSet],
	} {
		s, ok := lookup(Setting.Name, key)
		if !ok {
			t.Fatalf("there is no setting %s", key)
		}
		check(t, s.Fields)
	}
}

func tagsHaveRows[T any](t *testing.T, rows []Setting) {
	t.Helper()
	tagged := map[any]Setting{}
	readTags(reflect.ValueOf(new(T)).Elem(), "", nil, tagged)
	for _, field := range tagged {
		name, found := field.Name(), false
		for _, row := range rows {
			section := field.Key != "" && strings.HasPrefix(row.Name(), field.Key+".")
			found = found || row.Name() == name || section
		}
		if name != "" && !found {
			t.Errorf("the tag of %s in %T has no row", name, *new(T))
		}
	}
	for i, row := range rows {
		if row.Name() == "" {
			t.Errorf("row %d is about a field of %T without a name", i, *new(T))
		}
	}
}
