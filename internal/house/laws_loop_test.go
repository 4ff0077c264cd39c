package house

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"
)

// loopsOverModules are the functions outside of outline that go over the root modules of
// a report, and how many times: by range, or by a call that takes the whole list, such
// as one of package slices.
func loopsOverModules(house []*room) map[string]int {
	found := map[string]int{}
	for _, s := range house {
		if s.name == "outline" || s.info == nil {
			continue
		}
		modules := func(x ast.Expr) bool {
			slice, ok := s.info.TypeOf(x).(*types.Slice)
			if !ok {
				return false
			}
			elem, ok := types.Unalias(slice.Elem()).(*types.Named)
			return ok && elem.Obj().Name() == "Module" && elem.Obj().Pkg().Path() == module+"/internal/report"
		}
		s.functions(func(name string, f *ast.FuncDecl) {
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.RangeStmt:
					if modules(n.X) {
						found[name]++
					}
				case *ast.CallExpr:
					if called, ok := n.Fun.(*ast.SelectorExpr); ok && walks(s, called) && len(n.Args) > 0 && modules(n.Args[0]) {
						found[name]++
					}
				}
				return true
			})
		})
	}
	return found
}

// walks reports whether a function is one of a package that goes over lists.
func walks(s *room, called *ast.SelectorExpr) bool {
	o := s.info.Uses[called.Sel]
	return o != nil && o.Pkg() != nil && (o.Pkg().Path() == "slices" || strings.HasSuffix(o.Pkg().Path(), "internal/collect"))
}

func TestLawOfLoops(t *testing.T) {
	t.Parallel()
	const text = `type Module struct{}
type Report struct{ Modules []Module }
func each(r Report) { for range r.Modules { for range r.Modules {} } }
func other(list []string) { for range list {} }
`
	finds(t, loopsOverModules, samples(t, [2]string{"report", text}), map[string]int{"report.each": 2})
}
