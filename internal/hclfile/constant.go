package hclfile

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// The limits on an expression that is evaluated without variables and functions.
const (
	// MaxExpression bounds its bytes: operators without brackets nest as deep as
	// it is long, and evaluation recurses. The longest that people write are a
	// hundred bytes of constraints.
	MaxExpression = 8 << 10
	// maxExponent bounds the numbers that are written, to the base 2: as text, a
	// number has a digit for every three.
	maxExponent = 4096
)

// Excess is why an expression is not evaluated, where the tools would try: it
// need not end in useful time or memory.
type Excess int

// The kinds of excess.
const (
	None Excess = iota
	Long        // more than MaxExpression bytes
	Loop        // nested for expressions over literal lists multiply: a few lines can take years
	Huge        // a number whose text would fill the memory
)

// String says it of an expression, as the end of a sentence.
func (e Excess) String() string {
	switch e {
	case Long:
		return "it is too long"
	case Loop:
		return "it is computed by a for expression"
	case Huge:
		return "it holds a number that is too large"
	}
	return "it can be evaluated"
}

// ExcessOf looks through an expression before it is evaluated.
func ExcessOf(expr hcl.Expression) Excess {
	rng := expr.Range()
	if rng.End.Byte-rng.Start.Byte > MaxExpression {
		return Long
	}
	native, ok := expr.(hclsyntax.Expression)
	if !ok {
		return None
	}
	found := None
	hclsyntax.VisitAll(native, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.ForExpr:
			found = Loop
		case *hclsyntax.LiteralValueExpr:
			if huge(n.Val) {
				found = Huge
			}
		}
		return nil
	})
	return found
}

// Constant evaluates an expression as the tools evaluate what must be known
// before anything else: without variables and functions, so that "~> ${1}.0" has a
// value. In JSON, strings are then taken literally. What exceeds a limit has no
// value.
func Constant(expr hcl.Expression) (cty.Value, Excess, hcl.Diagnostics) {
	if excess := ExcessOf(expr); excess != None {
		return cty.DynamicVal, excess, nil
	}
	v, diags := expr.Value(nil)
	if !diags.HasErrors() && huge(v) {
		return cty.DynamicVal, Huge, diags
	}
	return v, None, diags
}

func huge(v cty.Value) bool {
	if v.Type() != cty.Number || v.IsNull() || !v.IsKnown() {
		return false
	}
	exponent := v.AsBigFloat().MantExp(nil)
	return exponent > maxExponent || exponent < -maxExponent
}
