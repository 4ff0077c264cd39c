package lockfile

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/relock-dev/relock/internal/hclfile"
)

// FuzzConstant holds hclfile's way to evaluate against that of this package. The
// one difference is that numbers are bounded there.
func FuzzConstant(f *testing.F) {
	for _, seed := range []string{`"a${1}"`, `[for a in ["b"] : a]`, `"%{for a in ["b"]}a%{endfor}"`, `1e5000`, `null`, `-1 + 2`, `"a" == b`, `[1][0]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		expr, diags := hclsyntax.ParseExpression([]byte(src), "", hcl.InitialPos)
		if diags.HasErrors() || hclfile.Pieces([]byte(src), "") > 100 {
			return
		}
		value, excess, diags := hclfile.Constant(expr)
		if excess == hclfile.Huge {
			return
		}
		if long(expr) != (excess == hclfile.Long) || !long(expr) && loops(expr) != (excess == hclfile.Loop) {
			t.Fatalf("%q: long %t, loops %t, want %v", src, long(expr), loops(expr), excess)
		}
		if excess != hclfile.None {
			return
		}
		want, wantDiags := expr.Value(nil)
		if !value.RawEquals(want) || diags.Error() != wantDiags.Error() {
			t.Errorf("%q = %#v, %v, want %#v, %v", src, value, diags, want, wantDiags)
		}
	})
}
