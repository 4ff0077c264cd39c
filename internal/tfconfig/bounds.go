package tfconfig

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/staticeval"
)

// The evaluation of expressions is recursive, and may take any amount of time and memory.
// Files may come from anyone, so there are bounds: far above what a configuration needs,
// and far below what stops a run. Package hclfile bounds parsing, and package staticeval
// evaluation.
const (
	maxFile    = 16 << 20 // bytes of a file
	maxPackage = 500_000  // pieces, as hclfile counts them, in all files of a module package that are read
	pieceFile  = 20       // pieces that each file costs in addition
)

// constant evaluates an expression without variables and functions [terraform 1.11
// internal/configs/provider_requirements.go]. An expression that would take too much time
// or memory is an error.
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
