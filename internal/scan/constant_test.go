package scan

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"

	"github.com/relock-dev/relock/internal/hclfile"
)

// FuzzConstant holds hclfile's way to evaluate against that of this package.
func FuzzConstant(f *testing.F) {
	for _, seed := range []string{`"a${1}"`, `[for a in ["b"] : a]`, `"%{for a in ["b"]}a%{endfor}"`, `1e5000`, `null`, `-1 + 2`, `"a" == b`, `1e4000 * 1e4000`, `{"a": "${1}"}`, `[1e5000]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if hclfile.Pieces([]byte(src), "") > 100 {
			return
		}
		var exprs []hcl.Expression
		if expr, diags := hclsyntax.ParseExpression([]byte(src), "", hcl.InitialPos); !diags.HasErrors() {
			exprs = append(exprs, expr)
		}
		if expr, diags := json.ParseExpression([]byte(src), ""); !diags.HasErrors() {
			exprs = append(exprs, expr)
		}
		for _, expr := range exprs {
			want, wantDiags := constant(expr)
			value, excess, diags := hclfile.Constant(expr)
			if excess != hclfile.None {
				diags = append(diags, unsuitable(expr, excess.String()))
			}
			if !value.RawEquals(want) || diags.Error() != wantDiags.Error() {
				t.Errorf("%q = %#v, %v, want %#v, %v", src, value, diags, want, wantDiags)
			}
			if before := unbounded(expr); (before == nil) != (hclfile.ExcessOf(expr) == hclfile.None) {
				t.Errorf("%q: %v, want %v", src, hclfile.ExcessOf(expr), before)
			}
		}
	})
}
