package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// step is a row of the table in ARCHITECTURE.md: | 1 | `Type.name` | `file` | … |.
var step = regexp.MustCompile("(?m)^\\| \\d+ \\| `([\\w.]+)` \\| `(internal/[\\w/]+\\.go)` \\|")

// TestMainLine holds that the functions by which ARCHITECTURE.md leads from main.tf
// to the bytes of a lock file are in the files that it names, and are no more than 25.
func TestMainLine(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := step.FindAllStringSubmatch(string(doc), -1)
	if len(steps) < 20 || len(steps) > 25 {
		t.Errorf("ARCHITECTURE.md leads from main.tf to the bytes in %d steps, want 20 to 25", len(steps))
	}
	for _, s := range steps {
		if !declares(t, s[2], s[1]) {
			t.Errorf("ARCHITECTURE.md names %s in %s, which does not declare it", s[1], s[2])
		}
	}
}

// declares reports whether a file declares a function, or a method as TYPE.NAME.
func declares(t *testing.T, file, name string) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("reading %s: %v", file, err)
		return false
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		full := fn.Name.Name
		if fn.Recv != nil {
			typ := fn.Recv.List[0].Type
			if pointer, ok := typ.(*ast.StarExpr); ok {
				typ = pointer.X
			}
			if named, ok := typ.(*ast.Ident); ok {
				full = strings.Join([]string{named.Name, full}, ".")
			}
		}
		if full == name {
			return true
		}
	}
	return false
}
