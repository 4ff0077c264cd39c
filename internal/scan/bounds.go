package scan

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/staticeval"
)

// The evaluation of expressions recurses, and can take any amount of time and
// memory. Files may come from anyone, so there are bounds, far beyond what a
// configuration needs and far below what ends a run. Those on what is parsed are
// package hclfile's.
const (
	maxFile       = 16 << 20 // bytes of a file
	maxExpression = 8 << 10  // bytes of an expression that is evaluated
	maxPackage    = 500_000  // pieces, as hclfile counts them, of what is read of a module package
	pieceFile     = 20       // pieces that a file counts for besides
	maxExponent   = 4096     // of a number that is written, to the base 2
)

// constant evaluates an expression as the tools evaluate the arguments that
// must be known before anything else: without variables and functions, so that
// "~> ${1}.0" has a value. In JSON, strings are then taken literally.
//
// What would take useless time or memory is refused, where the tools would try:
// loops, long expressions and numbers of absurd size.
func constant(expr hcl.Expression) (cty.Value, hcl.Diagnostics) {
	if diag := unbounded(expr); diag != nil {
		return cty.DynamicVal, hcl.Diagnostics{diag}
	}
	v, diags := expr.Value(nil)
	if !diags.HasErrors() && hugeNumber(v) {
		return cty.DynamicVal, append(diags, unsuitable(expr, "it holds a number that is too large"))
	}
	return v, diags
}

func unbounded(expr hcl.Expression) *hcl.Diagnostic {
	rng := expr.Range()
	if rng.End.Byte-rng.Start.Byte > maxExpression {
		return unsuitable(expr, "it is too long")
	}
	native, ok := expr.(hclsyntax.Expression)
	if !ok {
		return nil
	}
	var found *hcl.Diagnostic
	hclsyntax.VisitAll(native, func(n hclsyntax.Node) hcl.Diagnostics {
		if literal, ok := n.(*hclsyntax.LiteralValueExpr); ok && hugeNumber(literal.Val) {
			found = unsuitable(expr, "it holds a number that is too large")
		}
		return nil
	})
	if why := staticeval.Check(native); found == nil && why != nil {
		found = unsuitable(expr, why.Reason)
	}
	return found
}

func hugeNumber(v cty.Value) bool {
	if v.Type() != cty.Number || v.IsNull() || !v.IsKnown() {
		return false
	}
	exponent := v.AsBigFloat().MantExp(nil)
	return exponent > maxExponent || exponent < -maxExponent
}

func unsuitable(expr hcl.Expression, why string) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Unsuitable value",
		Detail:   why,
		Subject:  expr.Range().Ptr(),
	}
}
