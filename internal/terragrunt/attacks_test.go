package terragrunt

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/units"
)

// attack is a hostile tree whose stacks try to read or generate more than the tree allows.
type attack struct {
	files string
	links map[string]string
	says  string // words of the reason why the stacks are refused or not known; empty: there are units, or none
	units int
}

func stackOf(blocks ...string) string {
	return "-- live/terragrunt.stack.hcl --\n" + strings.Join(blocks, "")
}

func block(kind, name, source, at, more string) string {
	return fmt.Sprintf("%s %q {\n  source = %q\n  path = %q\n%s}\n", kind, name, source, at, more)
}

const plainUnit = "-- units/app/terragrunt.hcl --\nterraform {\n  source = \"${get_repo_root()}/modules/a\"\n}\n"

// manyStacks are stacks of the same unit.
func manyStacks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "-- live%d/terragrunt.stack.hcl --\n%s", i, block("unit", "a", "../units/large", "a", ""))
	}
	return b.String()
}

func attacks() map[string]attack {
	unit := func(name, at string) string { return block("unit", name, "../units/app", at, "") }
	noDot := "  no_dot_terragrunt_stack = true\n"
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(unit(fmt.Sprintf("u%d", i), fmt.Sprintf("u%d", i)))
		}
		return b.String()
	}
	doubling := func(source string) string {
		return block("stack", "a", source, "a", "") + block("stack", "b", source, "b", "")
	}
	table := map[string]attack{
		"path that leads up":                     {files: stackOf(unit("a", "../../x")), says: "leads out of the stack"},
		"path that leads up and back":            {files: stackOf(unit("a", "../.terragrunt-stack/x")), says: "leads out of the stack"},
		"path that begins with two dots":         {files: stackOf(unit("a", "..x")), says: "leads out of the stack"},
		"path that leads up without the dot":     {files: stackOf(block("unit", "a", "../units/app", "../units/app", noDot)), says: "leads out of the stack"},
		"absolute path":                          {files: stackOf(unit("a", "/etc")), says: "its path is absolute"},
		"empty path":                             {files: stackOf(unit("a", "")), says: "it has no path"},
		"blank path":                             {files: stackOf(unit("a", "  ")), says: "it has no path"},
		"path of the stack itself":               {files: stackOf(block("unit", "a", "../units/app", ".", noDot)), says: "is that of a stack"},
		"path of .git":                           {files: stackOf(block("unit", "a", "../units/app", ".git/hooks", noDot)), says: "none that a repository can have"},
		"path of .GIT":                           {files: stackOf(block("unit", "a", "../units/app", "x/.GIT", noDot)), says: "none that a repository can have"},
		"path of .terraform":                     {files: stackOf(block("unit", "a", "../units/app", ".terraform/x", noDot)), says: "none that a repository can have"},
		"path of the cache":                      {files: stackOf(unit("a", ".terragrunt-cache/x")), says: "none that a repository can have"},
		"path over a file":                       {files: stackOf(block("unit", "a", "../units/app", "prod/main.tf/x", noDot)) + "-- live/prod/main.tf --\n", says: "leads through a file or a link"},
		"path that is a lock file":               {files: stackOf(block("unit", "a", "../units/app", "prod/.terraform.lock.hcl", noDot)) + "-- live/prod/.terraform.lock.hcl --\n", says: "leads through a file or a link"},
		"path through a link":                    {files: stackOf(block("unit", "a", "../units/app", "link/x", noDot)), links: map[string]string{"live/link": "../modules"}, says: "leads through a file or a link"},
		"path with a newline":                    {files: stackOf(block("unit", "a", "../units/app", "a\nb", "")), says: "none that a repository can have"},
		"path with an escape":                    {files: stackOf(strings.Replace(unit("a", "X"), `"X"`, `"a\u001b[31mb"`, 1)), says: "none that a repository can have"},
		"path with a backslash":                  {files: stackOf(block("unit", "a", "../units/app", `..\x`, "")), says: "leads out of the stack"},
		"path with a backslash within":           {files: stackOf(block("unit", "a", "../units/app", `a\..\..\x`, "")), says: "none that a repository can have"},
		"path with NUL":                          {files: stackOf(strings.Replace(unit("a", "X"), `"X"`, `"a\u0000b"`, 1)), says: "none that a repository can have"},
		"path that is a list":                    {files: stackOf("unit \"a\" {\n  source = \"../units/app\"\n  path = [\"x\"]\n}\n"), says: "it must be a string"},
		"two units of one path":                  {files: stackOf(unit("a", "x"), unit("b", "x/../x")), says: "two blocks have the path"},
		"a unit and a stack of one path":         {files: stackOf(unit("a", "x"), block("stack", "a", "../units/app", "./x", "")), says: "two blocks have the path"},
		"two units of one name":                  {files: stackOf(unit("a", "x"), unit("a", "y")), says: "two blocks have the name"},
		"paths that differ in case":              {files: stackOf(unit("a", "x"), unit("b", "X")), units: 2},
		"a unit in a unit":                       {files: stackOf(unit("a", "x"), unit("b", "x/y")), units: 2},
		"name with a newline and an escape":      {files: stackOf(strings.Replace(unit("NAME", "../x"), `"NAME"`, `"a\n\u001b[2J::error::"`, 1)), says: "leads out of the stack"},
		"source that leads out":                  {files: stackOf(block("unit", "a", "../../../etc", "a", "")), says: "it leads out of the repository"},
		"absolute source":                        {files: stackOf(block("unit", "a", "/etc", "a", "")), says: "it leads out of the repository"},
		"source of file://":                      {files: stackOf(block("unit", "a", "file:///etc", "a", "")), says: "it comes from outside of the repository"},
		"source of git::file://":                 {files: stackOf(block("unit", "a", "git::file:///etc/x.git", "a", "")), says: "it comes from outside of the repository"},
		"source with ext::":                      {files: stackOf(block("unit", "a", "git::ext::sh -c touch%20x", "a", "")), says: "it comes from outside of the repository"},
		"source whose subdirectory leads out":    {files: stackOf(block("unit", "a", "../units//../../../etc", "a", "")), says: "leads out of the module package"},
		"source that is a file":                  {files: stackOf(block("unit", "a", "../units/app/terragrunt.hcl", "a", "")), says: "read only where relock is run by hand"},
		"source by a link that leads out":        {files: stackOf(block("unit", "a", "../out", "a", "")), links: map[string]string{"out": "../../etc"}, says: "does not exist"},
		"source by a link in a circle":           {files: stackOf(block("unit", "a", "../out", "a", "")), links: map[string]string{"out": "out"}, says: "does not exist"},
		"configuration by a link that leads out": {files: stackOf(block("unit", "a", "../linked", "a", "")), links: map[string]string{"linked/terragrunt.hcl": "/etc/passwd"}, says: "has no terragrunt.hcl"},
		"stack file by a link that leads out":    {links: map[string]string{"live/terragrunt.stack.hcl": "../../etc/passwd"}},
		"source with a value of the machine":     {files: stackOf("unit \"a\" {\n  source = run_cmd(\"cat\", \"/etc/passwd\")\n  path = \"a\"\n}\n"), says: "run_cmd depends on a command"},
		"path with a value of the environment":   {files: stackOf("unit \"a\" {\n  source = \"../units/app\"\n  path = get_env(\"HOME\")\n}\n"), says: "it depends on the environment variable HOME"},
		"locals in a circle":                     {files: stackOf("locals {\n  a = local.b\n  b = local.a\n}\nunit \"a\" {\n  source = local.a\n  path = \"a\"\n}\n"), says: "refers to itself"},
		"paths in a circle":                      {files: stackOf("unit \"a\" {\n  source = \"../units/app\"\n  path = unit.b.path\n}\nunit \"b\" {\n  source = \"../units/app\"\n  path = unit.a.path\n}\n"), says: "is not known in a configuration"},
		"a stack of itself":                      {files: stackOf(block("stack", "a", "${get_repo_root()}/live", "a", "")), says: "is too large or too complex"},
		"two stacks of each other":               {files: stackOf(block("stack", "a", "${get_repo_root()}/other", "a", "")) + "-- other/terragrunt.stack.hcl --\n" + block("stack", "a", "${get_repo_root()}/live", "a", ""), says: "more than 50 stacks are within each other"},
		"stacks that double":                     {files: stackOf(doubling("${get_repo_root()}/live")), says: "is too large or too complex"},
		"4,000 units":                            {files: stackOf(many(4000)), says: "is too large or too complex"},
		"many stacks of a large source":          {files: manyStacks(6) + "-- units/large/terragrunt.hcl --\n-- units/large/main.tf --\n" + strings.Repeat("\n", 90<<20/perByte), says: "what all stacks of the repository generate is too large", units: 4},
		"a file that includes itself":            {files: stackOf("include \"a\" {\n  path = \"terragrunt.stack.hcl\"\n}\n"), says: "includes another one"},
		"an included file outside":               {files: stackOf("include \"a\" {\n  path = \"/etc/passwd\"\n}\n"), says: "it leads out of the repository"},
		"16 MiB of brackets":                     {files: stackOf(strings.Repeat("[", 1<<20)), says: "words, lines and signs"},
		"values of 2 MiB":                        {files: stackOf("locals {\n  a = \"" + strings.Repeat("x", 60_000) + "\"\n}\n" + block("unit", "a", "../units/app", "a", "  values = {\n    x = [for i in range(1000) : \"${local.a}${i}\"]\n  }\n")), units: 1},
		"values that are text":                   {files: stackOf(block("unit", "a", "../units/app", "a", "  values = \"x\"\n")), says: "it must be an object"},
		"a source that is the repository":        {files: stackOf(block("unit", "a", "..", "a", "")) + "-- terragrunt.hcl --\n", units: 1},
		"a source in what is generated":          {files: stackOf(unit("a", "a"), block("unit", "b", "./.terragrunt-stack/a", "b", "")), says: "does not exist"},
		"a source within, that leads out":        {files: stackOf(block("stack", "s", "../stacks//s", "s", "")) + "-- stacks/s/terragrunt.stack.hcl --\n" + block("unit", "a", "../../..//etc", "a", "  update_source_with_cas = true\n"), says: "leads out of what was copied"},
		"an absolute source within":              {files: stackOf(block("stack", "s", "../stacks//s", "s", "")) + "-- stacks/s/terragrunt.stack.hcl --\n" + block("unit", "a", "/etc", "a", "  update_source_with_cas = true\n"), says: "takes a relative source"},
		"a block that is none":                   {files: stackOf("resource \"a\" \"b\" {\n}\n"), says: `has no block "resource"`},
		"labels that are too many":               {files: stackOf("unit \"a\" \"b\" {\n}\n"), says: "another number of labels"},
	}
	return table
}

// TestStackAttacks holds that nothing outside the tree is read, that generated directories
// are bounded, and that no text of a stack file reaches people unquoted.
func TestStackAttacks(t *testing.T) {
	t.Parallel()
	all := attacks()
	if len(all) < 40 {
		t.Fatalf("%d attacks, want 40", len(all))
	}
	for name, tt := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := tree(tt.files + plainUnit + module("modules/a", "random", "~> 3.0"))
			for at, to := range tt.links {
				files[at] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
			}
			var dirs []string
			for at := range files {
				if path.Base(at) == units.StackName {
					dirs = append(dirs, path.Dir(at))
				}
			}
			stacks := readStacks(t.Context(), files, dirs, Options{})
			if stacks == nil {
				if tt.says != "" {
					t.Error("there is no stack")
				}
				return
			}
			_, problems, err := unitRoots(t.Context(), stacks.tree, scan.Identify(stacks.tree, sortedUnits(stacks), scan.Options{}), Options{stacks: stacks, List: true})
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, p := range problems {
				said = append(said, p.Message)
			}
			text := strings.Join(said, "\n")
			if !strings.Contains(text, tt.says) || tt.says != "" && len(stacks.units) > 1 && tt.units == 0 {
				t.Errorf("%d units, and it says %q, want %q", len(stacks.units), text, tt.says)
			}
			if tt.units > 0 && len(stacks.units) != tt.units {
				t.Errorf("%d units, want %d: %s", len(stacks.units), tt.units, text)
			}
			if strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""), unicode.IsControl) || strings.Contains(text, "relock-top") || strings.Contains(text, "root:x") {
				t.Errorf("it says %q", text)
			}
			for dir := range stacks.units {
				if !fs.ValidPath(dir) || strings.HasPrefix(dir, "..") || units.HasElement(dir, ".git") {
					t.Errorf("a unit is at %q", dir)
				}
			}
		})
	}
}

func sortedUnits(s *allStacks) []string {
	var dirs []string
	for dir := range s.units {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs
}

// BenchmarkStacks reads a stack of many units.
func BenchmarkStacks(b *testing.B) {
	for _, units := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(units), func(b *testing.B) {
			var text strings.Builder
			for i := range units {
				text.WriteString(block("unit", fmt.Sprintf("u%d", i), "../units/app", fmt.Sprintf("u%d", i), "  values = {\n    n = \"x\"\n  }\n"))
			}
			files := tree(stackOf(text.String()) + plainUnit + module("modules/a", "random", "~> 3.0"))
			for b.Loop() {
				stacks := readStacks(b.Context(), files, []string{"live"}, Options{})
				found := scan.Identify(stacks.tree, sortedUnits(stacks), scan.Options{Tool: provider.Terraform})
				roots, _, err := unitRoots(b.Context(), stacks.tree, found, Options{stacks: stacks, List: true})
				if err != nil {
					b.Fatal(err)
				}
				modules := scan.Load(b.Context(), roots, nil, scan.Options{})
				if len(modules) != units || len(modules[0].Tree.Requirements) != 1 {
					b.Fatalf("%d root modules, of which the first requires %v", len(modules), modules[0].Tree.Requirements)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*units), "µs/unit")
		})
	}
}
