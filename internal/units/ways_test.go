package units

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// TestUnit_ways reads generated files whose directives have unknown conditions. If each way
// requires the same, the unit is known.
func TestUnit_ways(t *testing.T) {
	t.Parallel()
	aliased := "%{ if local.x == \"staging\" }\nprovider \"tls\" {\n  alias = \"dns\"\n  role = \"${local.x}\"\n}\n%{ endif }\n"
	requires := func(version string) string {
		return "terraform {\n  required_providers {\n    tls = {\n      source = \"hashicorp/tls\"\n      version = \"" + version + "\"\n    }\n  }\n}\n"
	}
	decides := func(how string) string {
		return `unknown: a directive in the generated file "g" has a condition that is not known, and ` + how + `: it depends on the environment variable X`
	}
	either := func(yes, no string) string {
		return "%{ if local.x == \"a\" }\n" + yes + "\n%{ else }\n" + no + "\n%{ endif }\n"
	}
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"aliases":           {"provider \"tls\" {}\n" + aliased, []string{"random", "tls"}},
		"one_of_three":      {"provider \"tls\" {}\n" + aliased + strings.ReplaceAll(aliased, "staging", "dev") + strings.ReplaceAll(aliased, "staging", "production"), []string{"random", "tls"}},
		"of_the_module":     {"%{ if local.x == \"a\" }\nprovider \"random\" {}\n%{ endif }\n", []string{"random"}},
		"the_same_in_both":  {either(requires("1.0.0"), "# other\n"+requires("1.0.0")), []string{"random", "tls 1.0.0"}},
		"another_version":   {either(requires("1.0.0"), requires("2.0.0")), []string{decides("what is required depends on it")}},
		"another_provider":  {either("provider \"tls\" {}", ""), []string{decides("what is required depends on it")}},
		"another_module":    {either("module \"m\" {\n  source = \"./a\"\n}", "module \"m\" {\n  source = \"./b\"\n}"), []string{decides("what is required depends on it")}},
		"another_local":     {either("locals {\n  a = 1\n}", "locals {\n  a = 2\n}"), []string{decides("what is required depends on it")}},
		"a_loop":            {"provider \"tls\" {}\n%{ for y in split(\",\", local.x) }\nprovider \"tls\" {\n  alias = \"a\"\n  region = \"${y}\"\n}\n%{ endfor }\n", []string{"random", "tls"}},
		"a_loop_that_adds":  {"%{ for y in split(\",\", local.x) }\nprovider \"tls\" {}\n%{ endfor }\n", []string{decides("what is required depends on it")}},
		"a_loop_that_names": {"%{ for y in split(\",\", local.x) }\nprovider \"tls\" {\n  version = \"${y}\"\n}\n%{ endfor }\n", []string{decides("a part that is not known may change what is required")}},
		"what_init_refuses": {either("provider \"tls\" {", "provider \"tls\" {}"), []string{"random", "tls"}},
		"too_many":          {strings.Repeat("%{ if local.x == \"a\" }#%{ endif }\n", 6), []string{`unknown: the contents of the generated file "g" are not statically known: it depends on the environment variable X, and there are more than 32 ways through the template`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := "-- modules/a/main.tf --\nresource \"random_pet\" \"x\" {}\n-- modules/a/a/main.tf --\n-- modules/a/b/main.tf --\n-- live/app/terragrunt.hcl --\nlocals {\n  x = get_env(\"X\")\n}\nterraform {\n  source = \"../../modules/a\"\n}\n" +
				generated("g", "g.tf", "overwrite", tt.text)
			if diff := cmp.Diff(tt.want, required(t, tree(files), "live/app")); diff != "" {
				t.Errorf("required (-want +got):\n%s", diff)
			}
		})
	}
}

// In two files each condition counts. Both together have 32 ways, and the place is that of
// the condition.
func TestUnit_waysOfTwoFiles(t *testing.T) {
	t.Parallel()
	unit := func(first, second int) Unit {
		open := func(n int) string { return strings.Repeat("%{ if local.x == \"a\" }#%{ endif }\n", n) }
		files := tree("-- u/terragrunt.hcl --\nlocals {\n  x = get_env(\"X\")\n}\n" + generated("a", "a.tf", "overwrite", open(first)) + generated("b", "b.tf", "overwrite", open(second)))
		a := NewAssembler(NewFiles(files), nil, scan.Options{})
		return a.Assemble(t.Context(), readUnit(a.tree, "u", nil), nil, provider.Newest(provider.Terraform)).Unit
	}
	if u := unit(2, 3); !u.Known() {
		t.Errorf("with 32 ways the unit is not known: %v", u.Problems)
	}
	const want = `a directive in the generated file "a" has a condition that is not known, and there are more than 32 ways through the generated files: it depends on the environment variable X`
	u := unit(3, 3)
	if len(u.Problems) != 1 || u.Problems[0].Reason != want || u.Problems[0].Place.String() != "u/terragrunt.hcl:8" {
		t.Errorf("with 64 ways the problems are %+v, want %s", u.Problems, want)
	}
}
