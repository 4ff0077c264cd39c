package house

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// TestFormatsHaveATextForEachPlace holds what safe.Format panics for, also where no test
// comes by.
func TestFormatsHaveATextForEachPlace(t *testing.T) {
	formats := 0
	for _, s := range rooms(t) {
		for _, file := range s.files {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 || !isFormat(s.info, call.Fun) || call.Ellipsis.IsValid() {
					return true
				}
				value := s.info.Types[call.Args[0]].Value
				if value == nil { // safe itself passes a format on
					return true
				}
				formats++
				format := constant.StringVal(value)
				if places := strings.Count(format, "%s"); places != len(call.Args)-1 || strings.Count(format, "%") != places {
					t.Errorf("%s: %d texts for %q", s.fset.Position(call.Pos()), len(call.Args)-1, format)
				}
				return true
			})
		}
	}
	if formats < 30 {
		t.Errorf("found %d formats, which cannot be all", formats)
	}
}

// isFormat reports whether a function is safe.Format, or another one of safe that takes a
// format.
func isFormat(info *types.Info, f ast.Expr) bool {
	sel, ok := f.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := info.Uses[sel.Sel].(*types.Func)
	return ok && of.Pkg() != nil && of.Pkg().Name() == "safe" && slices.Contains([]string{"Format", "Detail", "And", "Maybe", "AndMaybe"}, of.Name())
}
