package scan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

// TestModules_hostile_files reads files that would end the run, or keep it busy
// for ever, if they were parsed or evaluated as they stand.
func TestModules_hostile_files(t *testing.T) {
	t.Parallel()
	const (
		many    = 120_000
		maxFile = 16 << 20 // bytes that are read of a file
	)
	required := func(expr string) string {
		return "terraform {\n  required_providers {\n    a = " + expr + "\n  }\n}\n"
	}
	loops := `"x"`
	for i := range 60 {
		loops = fmt.Sprintf(`[for v%d in [%s] : "${v%d}${v%d}"][0]`, i, loops, i, i)
	}
	tests := map[string]struct{ name, text string }{
		"brackets":           {"main.tf", "locals {\n  a = " + strings.Repeat("[", many)},
		"parentheses":        {"main.tf", "locals {\n  a = " + strings.Repeat("(\n", many)},
		"blocks":             {"main.tf", strings.Repeat("a {\n", many)},
		"templates":          {"main.tf", "locals {\n  a = " + strings.Repeat(`"${`, many)},
		"template_controls":  {"main.tf", `locals { a = "` + strings.Repeat(`%{if a}`, many) + `" }`},
		"negations":          {"main.tf", "locals {\n  a = " + strings.Repeat("!", many) + "b\n}"},
		"conditionals":       {"main.tf", "locals {\n  a = " + strings.Repeat("b ? c : ", many) + "d\n}"},
		"JSON_arrays":        {"main.tf.json", `{"locals":{"a":` + strings.Repeat("[", many)},
		"JSON_objects":       {"main.tf.json", strings.Repeat(`{"a":`, many)},
		"loops":              {"main.tf", required("{ version = " + loops + " }")},
		"long_expression":    {"main.tf", required(`{ version = "` + strings.Repeat(" ", 2*staticeval.MaxExpression) + `1.0" }`)},
		"huge_number":        {"main.tf", required("1e600000000")},
		"tiny_number":        {"main.tf", required("1e-600000000")},
		"huge_in_a_template": {"main.tf", required(`"${1e600000000}"`)},
		"converted":          {"main.tf", required(`{ version = "~> ${"1e600000000" * 1}" }`)},
		"huge_product":       {"main.tf", required(`{ version = "${` + strings.Repeat("1e1200 * ", 800) + `1}" }`)},
		"huge_JSON_number":   {"main.tf.json", `{"terraform":{"required_providers":{"a":1e600000000}}}`},
		"large":              {"main.tf", strings.Repeat("# comment\n", maxFile/10+1)},
		"long_reference":     {"main.tf", `resource "a_b" "c" { provider = "a` + strings.Repeat("[0]", staticeval.MaxConstant) + `" }`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, tool := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
				modules, diags, err := scanned(t.Context(), fileTree(map[string]string{tt.name: tt.text}, nil), nil, Options{Dirs: []string{"."}, Tool: tool})
				if err != nil || len(diags) > 0 || len(modules) != 1 {
					t.Fatalf("scanned = %v, %v, %v, want one module", modules, diags, err)
				}
				if all := modules[0].All(); !hasErrors(all.Diagnostics) && len(all.Unread) == 0 {
					t.Errorf("no error, and nothing unread, for %s under %s", name, tool)
				}
			}
		})
	}
}

// TestModules_hostile_expressions evaluates expressions that would take for ever
// or fill the memory, by the rules of a tool that evaluates them early.
func TestModules_hostile_expressions(t *testing.T) {
	t.Parallel()
	chain := func(n int, first, next string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "locals {\n  l0 = %s\n", first)
		for i := range n {
			fmt.Fprintf(&b, "  l%d = %s\n", i+1, strings.ReplaceAll(next, "PREV", fmt.Sprintf("local.l%d", i)))
		}
		fmt.Fprintf(&b, "}\nmodule \"a\" {\n  source = local.l%d\n}\n", n)
		return b.String()
	}
	source := func(expr string) string { return "module \"a\" {\n  source = " + expr + "\n}\n" }
	nested := func(n int, open, inner, close string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(close, n)
	}
	loops := `"x"`
	for i := range 60 {
		loops = fmt.Sprintf(`[for v%d in [%s] : "${v%d}${v%d}"][0]`, i, loops, i, i)
	}
	long := `"` + strings.Repeat("a", 8000) + `"`
	tests := map[string]string{
		"doubling":          chain(60, `"./a"`, `"${PREV}${PREV}"`),
		"doubling_tuples":   chain(60, `["./a"]`, `[PREV, PREV]`),
		"doubling_objects":  chain(60, `{ a = "./a" }`, `{ a = PREV, b = PREV }`),
		"replacing":         chain(60, long, `replace(PREV, "a", PREV)`),
		"joining":           chain(60, long, `join(PREV, split("", PREV))`),
		"products":          chain(60, `range(1000)`, `setproduct(PREV, PREV, PREV)`),
		"a_long_chain":      chain(5_000, `"./a"`, `PREV`),
		"squares":           chain(40, `9e1200`, `PREV * PREV`),
		"nested_loops":      source(loops),
		"loops":             source(`[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : "${a}${b}${c}"]]][0][0][0]`),
		"tries":             source(nested(60, "try(", `"./a${[][0]}"`, `)`)),
		"cans":              source(`can(` + nested(60, "can(", `true`, `)`) + `) ? "./b${1e9999}" : ""`),
		"padding":           source(`format("%999999999d", 1)`),
		"indenting":         source(`indent(999999999, "a\nb")`),
		"a_huge_number":     source(`"./${tonumber("1e600000000")}"`),
		"a_huge_JSON":       source(`"./${jsondecode("1e600000000")}"`),
		"deep_JSON":         source(`jsondecode("` + strings.Repeat("[", 60_000) + `")`),
		"a_long_expression": source(`"./` + strings.Repeat("a", 128<<10) + `${1}"`),
		"splats":            source(`[range(1000)][*][*][*][*][0]`),
		"a_long_default":    "variable \"a\" {\n  default = \"./" + strings.Repeat("a", 128<<10) + "\"\n}\n" + source("var.a"),
		"a_large_default":   "variable \"a\" {\n  default = [" + strings.Repeat("0,", 31_000) + "[]]\n}\n" + source("join(\"\", var.a[*])"),
		"a_loop_in_a_type":  "variable \"a\" {\n  type = object({ a = optional(string, " + loops + ") })\n  default = { b = 1 }\n}\n" + source("var.a.a"),
		"converted":         source(`"./${"1e600000000" * 1}"`),
		"a_converted_type":  "variable \"a\" {\n  type = list(any)\n  default = [" + strings.Repeat("0,\"\",", 7_000) + "0]\n}\n" + source("var.a[0]"),
		"many_arguments":    source(`format("` + strings.Repeat("%[1]s", 1500) + `", ` + long + `)`),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fileTree(map[string]string{"main.tf": text, "a/main.tf": ""}, nil)
			modules, diags, err := scanned(t.Context(), tree, nil, Options{Dirs: []string{"."}, Tool: provider.OpenTofu})
			if err != nil || len(diags) > 0 || len(modules) != 1 {
				t.Fatalf("scanned = %v, %v, %v, want one module", modules, diags, err)
			}
			if m := modules[0]; len(m.All().Unread) == 0 && !hasErrors(m.All().Diagnostics) {
				t.Error("the call was followed")
			}
		})
	}
}

// endlessSource makes a package for every call, which calls others.
type endlessSource struct{ calls int }

func (s endlessSource) Fetch(_ context.Context, _ provider.Tool, call Call) (Package, error) {
	var b strings.Builder
	for i := range s.calls {
		fmt.Fprintf(&b, "module \"m%d\" {\n  source = \"%s%d\"\n}\n", i, call.Source, i)
	}
	return Package{FS: fileTree(map[string]string{"main.tf": b.String()}, nil), Dir: ".", ID: call.Source}, nil
}

// Packages that call ever more packages have an end too.
func TestModules_endless_packages(t *testing.T) {
	t.Parallel()
	for _, calls := range []int{1, 3} {
		tree := fileTree(map[string]string{"main.tf": "module \"m\" {\n  source = \"https://example.com/x.zip?\"\n}\n"}, nil)
		modules, _, err := scanned(t.Context(), tree, endlessSource{calls}, Options{Dirs: []string{"."}})
		if err != nil || len(modules) != 1 {
			t.Fatalf("scanned = %v, %v, want one module", modules, err)
		}
		m := modules[0]
		if calls == 1 && !hasErrors(m.All().Diagnostics) || calls > 1 && len(m.All().Unread) == 0 {
			t.Errorf("%d calls in each package: no end was reported", calls)
		}
	}
}

// Large files are as usual as they are harmless.
func TestModules_large_file(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "resource \"null_resource\" \"r%d\" {\n  triggers = { a = [\"${-1}\", !true ? \"b\" : \"c\"] }\n}\n", i)
	}
	list := `{"locals":{"a":[` + strings.Repeat(`{"}":["\\"]},`, 10_000) + `{}]}}`
	modules, _, err := scanned(t.Context(), fileTree(map[string]string{"main.tf": b.String(), "list.tf.json": list}, nil), nil, Options{Dirs: []string{"."}})
	if err != nil || len(modules) != 1 || len(modules[0].All().Diagnostics) > 0 {
		t.Fatalf("scanned = %v, %v, want one module without diagnostics", modules, err)
	}
}

// A module tree that doubles at every step has an end here.
func TestModules_exploding_tree(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 40 {
		call := fmt.Sprintf("  source = \"../m%d\"\n", i+1)
		files[fmt.Sprintf("m%d/main.tf", i)] = "module \"a\" {\n" + call + "}\nmodule \"b\" {\n" + call + "}\n"
	}
	files["m40/main.tf"] = ""
	modules, _, err := scanned(t.Context(), fileTree(files, nil), nil, Options{Dirs: []string{"m0"}})
	if err != nil || len(modules) != 1 || !hasErrors(modules[0].All().Diagnostics) {
		t.Fatalf("scanned = %v, %v, want one module with an error", modules, err)
	}
}

func TestModules_cancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tree := fileTree(map[string]string{"main.tf": "", ".terraform.lock.hcl": ""}, nil)
	if modules, _, err := scanned(ctx, tree, nil, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("scanned = %v, %v, want %v", modules, err, context.Canceled)
	}
}
