package tfconfig

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/staticeval"
)

// The evaluation of expressions recurses, and can take any amount of time and
// memory. Files may come from anyone, so there are bounds, far beyond what a
// configuration needs and far below what ends a run. Those on what is parsed are
// package hclfile's, those on what is evaluated package staticeval's.
const (
	maxFile    = 16 << 20 // bytes of a file
	maxPackage = 500_000  // pieces, as hclfile counts them, of what is read of a module package
	pieceFile  = 20       // pieces that a file counts for besides
)

// constant evaluates an expression without variables and functions
// [terraform 1.11 internal/configs/provider_requirements.go]. What would
// take useless time or memory is an error here.
func constant(expr hcl.Expression) (cty.Value, hcl.Diagnostics) {
	v, why, diags := staticeval.Constant(expr)
	if why != nil {
		return cty.DynamicVal, hcl.Diagnostics{{
			Severity: hcl.DiagError, Summary: "Unsuitable value", Detail: why.Reason, Subject: expr.Range().Ptr(),
		}}
	}
	return v, diags
}

func excessive(expr hcl.Expression) bool { return staticeval.Check(expr) != nil }
