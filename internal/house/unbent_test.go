package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"testing"
)

// made are the types whose values nobody changes once they are made, each with the files
// that make them: a field that is set elsewhere can be forgotten elsewhere.
var made = map[string][]string{
	"run.Ask":          {"ask.go"},
	"run.job":          {"job.go"},
	"settings.Sources": {},
}

// TestNobodyBendsWhatIsMade holds that no function assigns to a field of such a value but in
// the file that makes them.
func TestNobodyBendsWhatIsMade(t *testing.T) {
	t.Parallel()
	if got := bent(rooms(t)); len(got) > 0 {
		t.Errorf("a value is changed after it was made: %v", got)
	}
}

// bent are the places at which a field of what is made is assigned to, besides the files
// that make it.
func bent(house []*room) []string {
	var found []string
	for _, s := range house {
		for _, file := range s.files {
			name := filepath.Base(s.fset.Position(file.Pos()).Filename)
			ast.Inspect(file, func(n ast.Node) bool {
				assigned, ok := n.(*ast.AssignStmt)
				if !ok || assigned.Tok == token.DEFINE {
					return true
				}
				for _, left := range assigned.Lhs {
					if of := s.fieldOf(left); of != "" && !slices.Contains(made[of], name) {
						found = append(found, s.fset.Position(left.Pos()).String())
					}
				}
				return true
			})
		}
	}
	return found
}

// fieldOf is the type, as PACKAGE.NAME, of whose value an expression is a field, or a field of
// a field; empty if that is none of what is made.
func (s *room) fieldOf(x ast.Expr) string {
	for {
		selected, ok := x.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		typ := s.info.Types[selected.X].Type
		if pointer, ok := typ.(*types.Pointer); ok {
			typ = pointer.Elem()
		}
		if named, ok := typ.(*types.Named); ok && named.Obj().Pkg() != nil {
			name := named.Obj().Pkg().Name() + "." + named.Obj().Name()
			if _, ok := made[name]; ok {
				return name
			}
		}
		x = selected.X
	}
}

// The test sees an assignment to a field, to a field of a field, and through a pointer; the
// file that makes a value may assign.
func TestBentValuesAreFound(t *testing.T) {
	t.Parallel()
	house := samples(t, [2]string{"run", `
		type Ask struct{ verb string; means struct{ head int } }
		type other struct{ ask Ask }
		func bends(a Ask, p *Ask, o other) { a.verb = "x"; a.means.head, p.verb = 1, "y"; o.ask.verb += "z" }
		func makes() Ask { a := Ask{verb: "x"}; return a }`})
	if got := bent(house); len(got) != 4 {
		t.Errorf("found %v, want four assignments", got)
	}
}
