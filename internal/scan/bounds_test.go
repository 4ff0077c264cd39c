package scan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

// TestModules_hostile_files reads files that would end the run, or keep it busy
// for ever, if they were parsed or evaluated as they stand.
func TestModules_hostile_files(t *testing.T) {
	t.Parallel()
	const many = 120_000
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
		"long_expression":    {"main.tf", required(`{ version = "` + strings.Repeat(" ", 2*maxExpression) + `1.0" }`)},
		"huge_number":        {"main.tf", required("1e600000000")},
		"tiny_number":        {"main.tf", required("1e-600000000")},
		"huge_in_a_template": {"main.tf", required(`"${1e600000000}"`)},
		"huge_JSON_number":   {"main.tf.json", `{"terraform":{"required_providers":{"a":1e600000000}}}`},
		"large":              {"main.tf", strings.Repeat("# comment\n", maxFile/10+1)},
		"long_reference":     {"main.tf", `resource "a_b" "c" { provider = "a` + strings.Repeat("[0]", maxExpression) + `" }`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, tool := range []provider.ToolName{provider.Terraform, provider.OpenTofu} {
				modules, diags, err := Modules(t.Context(), fileTree(map[string]string{tt.name: tt.text}, nil), Options{Dirs: []string{"."}, Tool: tool})
				if err != nil || len(diags) > 0 || len(modules) != 1 {
					t.Fatalf("Modules = %v, %v, %v, want one module", modules, diags, err)
				}
				if !hasErrors(modules[0].Diagnostics) {
					t.Errorf("no error for %s under %s", name, tool)
				}
			}
		})
	}
}

// Large files are as usual as they are harmless.
func TestModules_large_file(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range maxDepth + closeLook/8 {
		fmt.Fprintf(&b, "resource \"null_resource\" \"r%d\" {\n  triggers = { a = [\"${-1}\", !true ? \"b\" : \"c\"] }\n}\n", i)
	}
	list := `{"locals":{"a":[` + strings.Repeat(`{"}":["\\"]},`, closeLook) + `{}]}}`
	modules, _, err := Modules(t.Context(), fileTree(map[string]string{"main.tf": b.String(), "list.tf.json": list}, nil), Options{Dirs: []string{"."}})
	if err != nil || len(modules) != 1 || len(modules[0].Diagnostics) > 0 {
		t.Fatalf("Modules = %v, %v, want one module without diagnostics", modules, err)
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
	modules, _, err := Modules(t.Context(), fileTree(files, nil), Options{Dirs: []string{"m0"}})
	if err != nil || len(modules) != 1 || !hasErrors(modules[0].Diagnostics) {
		t.Fatalf("Modules = %v, %v, want one module with an error", modules, err)
	}
}

func TestModules_cancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tree := fileTree(map[string]string{"main.tf": "", ".terraform.lock.hcl": ""}, nil)
	for _, dirs := range [][]string{nil, {"."}} {
		if modules, _, err := Modules(ctx, tree, Options{Dirs: dirs}); !errors.Is(err, context.Canceled) {
			t.Errorf("Modules(%v) = %v, %v, want %v", dirs, modules, err, context.Canceled)
		}
	}
}
