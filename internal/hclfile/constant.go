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
	// maxExponent bounds the numbers that are written, to the base 2, and what is
	// computed from several: as text, a number has a digit for every three.
	maxExponent = 4096
)

// Excess is why an expression is not evaluated, as the end of a sentence about it: it
// need not end in useful time or memory.
type Excess string

// The kinds of excess.
const (
	None Excess = ""
	Long Excess = "it is too long"                      // more than MaxExpression bytes
	Loop Excess = "it is computed by a for expression"  // nested ones over literal lists multiply: a few lines can take years
	Huge Excess = "it holds a number that is too large" // whose text would fill the memory
)

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
	var l looker
	_ = hclsyntax.Walk(native, &l)
	return l.found
}

// looker walks an expression and keeps what was found last.
type looker struct {
	found      Excess
	arithmetic int // operators around the node that compute with numbers
	exponents  int // of all numbers that are computed with, together: so large is the result at most
}

// Enter implements hclsyntax.Walker.
func (l *looker) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch n := node.(type) {
	case *hclsyntax.ForExpr:
		l.found = Loop
	case *hclsyntax.LiteralValueExpr:
		l.literal(n.Val)
	case *hclsyntax.TemplateExpr:
		// How large a number is in a string that is yet to be put together,
		// nobody knows.
		if l.arithmetic > 0 && !n.IsStringLiteral() {
			l.found = Huge
		}
	}
	if computes(node) {
		l.arithmetic++
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (l *looker) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if computes(node) {
		l.arithmetic--
	}
	return nil
}

// literal looks at a number, or in arithmetic at a string that is converted to one.
func (l *looker) literal(v cty.Value) {
	if l.arithmetic > 0 && v.Type() == cty.String {
		if number, err := cty.ParseNumberVal(v.AsString()); err == nil {
			v = number
		}
	}
	size := exponent(v)
	if l.arithmetic > 0 {
		l.exponents += size
		size = l.exponents
	}
	if size > maxExponent {
		l.found = Huge
	}
}

func computes(node hclsyntax.Node) bool {
	switch n := node.(type) {
	case *hclsyntax.BinaryOpExpr:
		return n.Op.Type == cty.Number
	case *hclsyntax.UnaryOpExpr:
		return n.Op.Type == cty.Number
	}
	return false
}

// Constant evaluates an expression as the tools evaluate what must be known
// before anything else: without variables and functions, so that "~> ${1}.0" has a
// value. In JSON, strings are then taken literally. What exceeds a limit has no
// value [case 244] [terraform 1.11 internal/configs/provider_requirements.go].
func Constant(expr hcl.Expression) (cty.Value, Excess, hcl.Diagnostics) {
	if excess := ExcessOf(expr); excess != None {
		return cty.DynamicVal, excess, nil
	}
	v, diags := expr.Value(nil)
	if !diags.HasErrors() && exponent(v) > maxExponent {
		return cty.DynamicVal, Huge, diags
	}
	return v, None, diags
}

// exponent is that of a number to the base 2, without its sign; 0 for all else.
func exponent(v cty.Value) int {
	if v.Type() != cty.Number || v.IsNull() || !v.IsKnown() {
		return 0
	}
	e := v.AsBigFloat().MantExp(nil)
	return max(e, -e)
}
