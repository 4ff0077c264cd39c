package tfconfig

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/hclfile"
	"github.com/relock-dev/relock/internal/staticeval"
)

// The evaluation of expressions recurses, and can take any amount of time and
// memory. Files may come from anyone, so there are bounds, far beyond what a
// configuration needs and far below what ends a run. Those on what is parsed are
// package hclfile's.
const (
	maxFile       = 16 << 20 // bytes of a file
	maxExpression = hclfile.MaxExpression
	maxPackage    = 500_000 // pieces, as hclfile counts them, of what is read of a module package
	pieceFile     = 20      // pieces that a file counts for besides
)

// constant evaluates an expression without variables and functions
// [terraform 1.11 internal/configs/provider_requirements.go]. What would
// take useless time or memory is an error here.
func constant(expr hcl.Expression) (cty.Value, hcl.Diagnostics) {
	why := iterates(expr)
	if why == hclfile.None {
		v, excess, diags := hclfile.Constant(expr)
		if excess == hclfile.None {
			return v, diags
		}
		why = excess
	}
	return cty.DynamicVal, hcl.Diagnostics{{
		Severity: hcl.DiagError, Summary: "Unsuitable value", Detail: string(why), Subject: expr.Range().Ptr(),
	}}
}

// iterates says why an expression is not evaluated whatever it refers to, as
// package staticeval has it; empty for others.
func iterates(expr hcl.Expression) hclfile.Excess {
	rng := expr.Range()
	if native, ok := expr.(hclsyntax.Expression); ok && rng.End.Byte-rng.Start.Byte <= maxExpression {
		if why := staticeval.Check(native); why != nil {
			return hclfile.Excess(why.Reason)
		}
	}
	return hclfile.None
}

func excessive(expr hcl.Expression) bool {
	return hclfile.ExcessOf(expr) != hclfile.None || iterates(expr) != hclfile.None
}
