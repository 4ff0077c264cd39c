package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryWriteIsListed reads internal/github for the methods that write to GitHub: those
// that call a method of go-github that does more than read, that make a request with another
// method than GET, or that say of a request to GraphQL that it writes. The table of
// writes has a row for each that is called, and for nothing else.
func TestEveryWriteIsListed(t *testing.T) {
	t.Parallel()
	all := functionsOf(t, "internal/github/*.go")
	called := map[string]bool{}
	for _, f := range functionsOf(t, "internal/*/*.go") {
		ast.Inspect(f, func(n ast.Node) bool {
			if method, ok := n.(*ast.SelectorExpr); ok {
				called[method.Sel.Name] = true
			}
			return true
		})
	}
	found := slices.DeleteFunc(writersOf(all), func(name string) bool { return !called[name] })
	for _, w := range found {
		if !slices.ContainsFunc(writes, func(row written) bool { return row.write == w }) {
			t.Errorf("%s writes to GitHub, and has no row in the table of every write", w)
		}
	}
	for _, row := range writes {
		if !slices.Contains(found, row.write) {
			t.Errorf("the table of every write has a row for %s, which does not write", row.write)
		}
	}
	if len(found) < 15 {
		t.Errorf("only %q write to GitHub", found)
	}
}

// functionsOf are the functions of some files, tests left out.
func functionsOf(t *testing.T, pattern string) (all []*ast.FuncDecl) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				all = append(all, f)
			}
		}
	}
	return all
}

// writersOf are the names of the functions that write. A method of Repository that is not
// exported writes for those that call it.
func writersOf(all []*ast.FuncDecl) []string {
	writing := map[string]bool{}
	for _, f := range all {
		// GraphQL is posted to for reading, too; who writes says so.
		writing[f.Name.Name] = writing[f.Name.Name] || f.Name.Name != "post" && sends(f.Body, isWrite)
	}
	carries := func(f *ast.FuncDecl) bool {
		return receiver(f) == "Repository" && !f.Name.IsExported() && writing[f.Name.Name]
	}
	for again := true; again; {
		again = false
		for _, f := range all {
			calls := sends(f.Body, func(call *ast.CallExpr) bool {
				method, ok := call.Fun.(*ast.SelectorExpr)
				return ok && slices.ContainsFunc(all, func(g *ast.FuncDecl) bool { return carries(g) && g.Name.Name == method.Sel.Name })
			})
			if calls && !writing[f.Name.Name] {
				writing[f.Name.Name], again = true, true
			}
		}
	}
	var names []string
	for _, f := range all {
		if writing[f.Name.Name] && !carries(f) {
			names = append(names, f.Name.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// receiver is the name of the type whose method a function is; empty if it is none.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	name, _ := of.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

// sends reports whether a function has a call that is one of those, or says of a request that
// it writes.
func sends(body ast.Node, one func(*ast.CallExpr) bool) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = found || one(n)
		case *ast.KeyValueExpr:
			key, _ := n.Key.(*ast.Ident)
			value, _ := n.Value.(*ast.Ident)
			found = found || key != nil && key.Name == "write" && value != nil && value.Name == "true"
		}
		return !found
	})
	return found
}

// readsOnly begins the names of the methods of go-github that change nothing.
var readsOnly = regexp.MustCompile("^(Get|List|Find|Compare)")

// isWrite reports whether a call of go-github writes: rest.SERVICE.METHOD, or
// rest.NewRequest with another method of HTTP than GET.
func isWrite(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of := ""
	if s, ok := method.X.(*ast.SelectorExpr); ok {
		of = s.Sel.Name
		if client, ok := s.X.(*ast.SelectorExpr); ok && client.Sel.Name == "rest" && ast.IsExported(of) {
			return !readsOnly.MatchString(method.Sel.Name)
		}
	}
	if id, ok := method.X.(*ast.Ident); ok {
		of = id.Name
	}
	if of != "rest" || method.Sel.Name != "NewRequest" {
		return false
	}
	verb, ok := call.Args[0].(*ast.SelectorExpr)
	return !ok || verb.Sel.Name != "MethodGet"
}
