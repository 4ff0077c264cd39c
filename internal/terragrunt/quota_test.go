package terragrunt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
)

// TestStackQuota holds that the units of one stack share a quota: for what they evaluate,
// for their modules, and for the files that they generate. If it is exceeded, each of them
// has an error with the place of the stack. A stack beside it is read.
func TestStackQuota(t *testing.T) {
	t.Parallel()
	var providers, units, locals, all strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&providers, "provider a%d {}\n", i)
	}
	for i := range 60 {
		fmt.Fprintf(&locals, "  a%d = jsondecode(file(\"a.json\"))\n", i)
		fmt.Fprintf(&all, "local.a%d, ", i)
	}
	const some = 30
	for i := range some {
		units.WriteString(block("unit", fmt.Sprint(i), "../units/app", fmt.Sprint(i), ""))
	}
	small := "-- other/terragrunt.stack.hcl --\n" + block("unit", "a", "../units/small", "a", "") +
		"-- units/small/terragrunt.hcl --\nterraform {\n  source = \"${get_repo_root()}/modules/a\"\n}\n" + module("modules/a", "random", "~> 3.0")
	tests := map[string]string{
		"module":          "terraform {\n  source = \"${get_repo_root()}/m\"\n}\n-- m/main.tf --\n" + providers.String(),
		"child module":    "terraform {\n  source = \"${get_repo_root()}//m\"\n}\n-- m/main.tf --\nmodule \"a\" {\n  source = \"../n\"\n}\n-- n/main.tf --\n" + providers.String(),
		"generated files": "generate \"a\" {\n  path = \"a.tf\"\n  if_exists = \"overwrite\"\n  contents = file(\"a.txt\")\n}\n-- units/app/a.txt --\n" + providers.String(),
		"evaluation": "locals {\n" + locals.String() + "  b = [" + all.String() + "\"${get_repo_root()}/modules/a\"]\n}\nterraform {\n  source = local.b[60]\n}\n" +
			"-- units/app/a.json --\n" + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "\n",
	}
	for name, unit := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := tree(stackOf(units.String()) + small + "-- units/app/terragrunt.hcl --\n" + unit)
			stacks := readStacks(t.Context(), files, []string{"live", "other"}, Options{})
			roots, problems, err := unitRoots(t.Context(), stacks.tree, scan.Identify(stacks.tree, sortedUnits(stacks), scan.Options{}), Options{stacks: stacks, List: true})
			if err != nil || len(roots) != some+1 {
				t.Fatalf("%d root modules, %v, %v", len(roots), problems, err)
			}
			for _, m := range scan.Load(t.Context(), roots, nil, scan.Options{}) {
				unread := len(m.Tree.Diagnostics) == 1 && m.Tree.Diagnostics[0] == problem.Problem{
					Code: problem.CodeInvalidConfig, Message: costly.Reason, Hint: costly.Hint, Place: problem.Place{Path: "live/terragrunt.stack.hcl", Line: 1},
				}
				if large := strings.HasPrefix(m.Dir, "live/"); large != unread || large != (len(m.Tree.Unread) > 0) {
					t.Errorf("%s has %d requirements, unread %v, and says %v", m.Dir, len(m.Tree.Requirements), m.Tree.Unread, m.Tree.Diagnostics)
				}
			}
		})
	}
}
