package upgrade

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// sources are the files of the package without its tests, by name.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if files[e.Name()], err = parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// One table says what the mode, Exact, Strict and Prune mean. Code that reads them
// elsewhere makes a second table.
func TestOnlyTheTableLooksAtModes(t *testing.T) {
	t.Parallel()
	for name, file := range sources(t) {
		found := map[string]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains([]string{"Mode", "Exact", "Strict", "Prune"}, s.Sel.Name) && !isEncoding(s.X) {
				found[s.Sel.Name] = true
			}
			return true
		})
		if name == "behaviour.go" {
			if len(found) != 4 {
				t.Errorf("behaviour.go looks at %v, want all four options", found)
			}
		} else if len(found) > 0 {
			t.Errorf("%s looks at %v: ask Options.behaviour instead", name, found)
		}
	}
}

// isEncoding reports whether an expression is one of base64's encodings, which have
// a method Strict.
func isEncoding(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && strings.HasSuffix(s.Sel.Name, "Encoding")
}

// Code that waits for a network is in ask.go. All other code is a function of its
// arguments.
func TestOnlyQuestionsHaveAContext(t *testing.T) {
	t.Parallel()
	for name, file := range sources(t) {
		imports := slices.ContainsFunc(file.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"context"` })
		if imports != (name == "ask.go") {
			t.Errorf("%s imports context: %v; ask.go does so alone", name, imports)
		}
	}
}
