package staticeval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// The limits of an expression without variables and functions.
const (
	// MaxConstant is its highest number of bytes. People write constraints of at
	// most a hundred bytes.
	MaxConstant = 8 << 10
	// maxConstantDigits limits the digits of written numbers and of computations.
	// A lock file has thousands of constants, each of which becomes a text.
	maxConstantDigits = 4096 / 3
)

// The reasons why Check and Constant refuse an expression.
var (
	Long   = &Unknown{Reason: "it is too long"}                       // more than MaxConstant bytes
	Loop   = &Unknown{Reason: "it is computed by a for expression"}   // nested ones over literal lists multiply: a few lines can take years
	Splat  = &Unknown{Reason: "it is computed by a splat expression"} // for the same reason
	Costly = &Unknown{Reason: "it is too large or too complex"}       // such as a number whose text would fill the memory
)

// Check returns one of the reasons above, or nil if the expression may be
// evaluated. It ignores what the expression refers to. JSON strings are literal,
// so only their length counts.
func Check(expr hcl.Expression) *Unknown {
	native, ok := expr.(hclsyntax.Expression)
	switch {
	case length(expr) > MaxConstant:
		return Long
	case !ok:
		return nil
	}
	e := look(native, false)
	if e.unknown == nil && e.digits > maxConstantDigits {
		return Costly
	}
	return e.unknown
}

// Constant evaluates an expression that the tools need before anything else:
// without variables and functions. So "~> ${1}.0" has a value. JSON strings are
// literal. An expression that Check refuses has no value [case 244] [terraform
// 1.11 internal/configs/provider_requirements.go].
func Constant(expr hcl.Expression) (cty.Value, *Unknown, hcl.Diagnostics) {
	if why := Check(expr); why != nil {
		return cty.DynamicVal, why, nil
	}
	v, diags := expr.Value(nil)
	if digits(v) > maxConstantDigits {
		return cty.DynamicVal, Costly, diags
	}
	return v, nil, diags
}
