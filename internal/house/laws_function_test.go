package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/uudashr/gocognit"
)

// mostComplex is the cognitive complexity that a function may have.
const mostComplex = 25

// complexFunctions are those over mostComplex, and how complex they are.
func complexFunctions(house []*room) map[string]int {
	found := map[string]int{}
	for _, s := range house {
		s.functions(func(name string, f *ast.FuncDecl) {
			if n := gocognit.Complexity(f); n > mostComplex {
				found[name] = max(found[name], n) // a function may be there once for each platform
			}
		})
	}
	return found
}

func TestLawOfComplexity(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string { return strings.Repeat("if true {\n", depth) + strings.Repeat("}\n", depth) }
	house := samples(t, [2]string{"p", `
		type T struct{}
		func most() {` + nested(6) + strings.Repeat("if true {}\n", 4) + `}
		func over() {` + nested(6) + strings.Repeat("if true {}\n", 5) + `}
		// ignored is not: the word below is no way out.
		//
		//gocognit:ignore
		func (t *T) ignored(all []int) {
			for range all {
				switch f := func() { ` + nested(5) + ` }; {
				case f != nil && true || false:
				}
			}
		}`})
	finds(t, complexFunctions, house, map[string]int{"p.over": 26, "p.T.ignored": 30})
}

// hiddenAssignments are the functions in which the head of an if or a switch assigns
// to something that exists, and how often. An assignment of errors alone is none.
func hiddenAssignments(house []*room) map[string]int {
	found := map[string]int{}
	for _, s := range house {
		s.functions(func(name string, f *ast.FuncDecl) {
			ast.Inspect(f.Body, func(n ast.Node) bool {
				var init ast.Stmt
				switch n := n.(type) {
				case *ast.IfStmt:
					init = n.Init
				case *ast.SwitchStmt:
					init = n.Init
				case *ast.TypeSwitchStmt:
					init = n.Init
				}
				if s.changes(init) {
					found[name]++
				}
				return true
			})
		})
	}
	return found
}

// changes reports whether a statement changes a variable that exists and is no error.
// In a file for another platform, whose types are not known, an error is one by name.
func (s *room) changes(init ast.Stmt) bool {
	switch init := init.(type) {
	case *ast.IncDecStmt:
		return true
	case *ast.AssignStmt:
		for _, left := range init.Lhs {
			name, _ := left.(*ast.Ident)
			typ := s.info.TypeOf(left)
			switch {
			case init.Tok == token.DEFINE, name != nil && name.Name == "_":
			case typ == nil && name != nil && name.Name == "err":
			case typ == nil || !types.Identical(typ, types.Universe.Lookup("error").Type()):
				return true
			}
		}
	}
	return false
}

func TestLawOfAssignments(t *testing.T) {
	t.Parallel()
	house := samples(t, [2]string{"p", `
		func g() (int, error) { return 0, nil }
		func e() error { return nil }
		type T struct { err error; n int }
		func allowed(t *T) {
			var err error
			if err = e(); err != nil {}
			if t.err = e(); t.err != nil {}
			if _, err = g(); err != nil {}
			if n, err := g(); err != nil || n > 0 {}
			switch err := err.(type) { case nil: _ = err }
			for t.n = 0; t.n < 3; t.n++ {}
		}
		func (t *T) hidden() {
			var err error
			if t.n, err = g(); err != nil {}
			if t.n++; t.n > 1 {}
			func() {
				switch t.n += 2; {
				case t.n > 1:
				}
			}()
			switch t.n = 1; any(t.n).(type) { }
		}`})
	finds(t, hiddenAssignments, house, map[string]int{"p.T.hidden": 4})
	house[0].info = &types.Info{}
	finds(t, hiddenAssignments, house, map[string]int{"p.T.hidden": 4, "p.allowed": 1}) // t.err is not known to be an error
}
