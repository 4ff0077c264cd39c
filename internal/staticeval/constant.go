package staticeval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// The limits on an expression that is evaluated without variables and functions.
const (
	// MaxConstant bounds its bytes. The longest that people write are a hundred bytes
	// of constraints.
	MaxConstant = 8 << 10
	// maxConstantDigits bounds the numbers that are written, and what is computed from
	// several: a lock file has thousands of constants, each of which becomes a text.
	maxConstantDigits = 4096 / 3
)

// Why Check and Constant refuse an expression.
var (
	Long   = &Unknown{Reason: "it is too long"}                       // more than MaxConstant bytes
	Loop   = &Unknown{Reason: "it is computed by a for expression"}   // nested ones over literal lists multiply: a few lines can take years
	Splat  = &Unknown{Reason: "it is computed by a splat expression"} // likewise
	Costly = &Unknown{Reason: "it is too large or too complex"}       // such as a number whose text would fill the memory
)

// Check says why an expression is not evaluated, whatever it refers to: one of the
// reasons above, or nil. In JSON, where strings stand for themselves, only the length
// matters.
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

// Constant evaluates an expression as the tools evaluate what must be known
// before anything else: without variables and functions, so that "~> ${1}.0" has a
// value. In JSON, strings are then taken literally. What Check refuses has no value
// [case 244] [terraform 1.11 internal/configs/provider_requirements.go].
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
