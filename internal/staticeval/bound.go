package staticeval

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Nothing in HCL stops an evaluation. So its cost is estimated before it, in
// bytes of what must be read and written: of the expression, of the values at
// all its references, and of what its functions give. The bounds are far beyond
// what the source of a module needs.
const (
	// MaxExpression is how many bytes an expression may have.
	MaxExpression = 64 << 10
	maxEvaluation = 1 << 20  // cost of an evaluation, and of a value
	maxTotal      = 64 << 20 // cost of all evaluations that share a Bound, and of all values that are kept
	maxReferences = 10_000   // that are evaluated for a Bound
	maxChain      = 200      // references that lead to each other, across scopes

	perValue = 64 // bytes that a value takes in addition to its text, roughly
)

// Bound is what many evaluations may cost together: those for one root module.
// Its zero value is a whole one.
type Bound struct{ references, chain, spent int }

func (b *Bound) refer() bool {
	b.references++
	return b.references <= maxReferences
}

// Take charges a cost, also of what is done beside evaluations, in bytes of what must be
// read and written. It reports whether that was still allowed.
func (b *Bound) Take(cost int) bool {
	b.spent = min(b.spent+cost, maxTotal+1)
	return b.spent <= maxTotal
}

// Spent is the cost that was charged.
func (b *Bound) Spent() int { return b.spent }

// cost is an upper bound of the size of what a call gives, and of its work.
func (f Function) cost(args []cty.Value) int {
	sum := costs(args)
	if f.Cost != nil {
		sum += f.Cost(args)
	}
	return sum
}

func costs(args []cty.Value) int {
	sum := 0
	for _, arg := range args {
		sum += cost(arg, false)
	}
	return sum
}

// cost measures a value: its text, its digits, and something for everything in
// it. It stops once that is too much. Where types are unified, those of a tuple
// or an object are compared pair by pair [cty 1.19 cty/convert/sort_types.go]. In
// arithmetic a string is the number that it is converted to.
func cost(v cty.Value, arithmetic bool) int {
	if v.ContainsMarked() {
		v, _ = v.UnmarkDeep()
	}
	sum := 0
	for _, part := range cty.DeepValues(v) {
		sum += perValue
		switch typ := part.Type(); {
		case typ.IsTupleType():
			sum += pairs(typ.Length())
		case typ.IsObjectType():
			sum += pairs(len(typ.AttributeTypes()))
		case typ == cty.String && !part.IsNull() && part.IsKnown():
			sum += len(part.AsString())
			if arithmetic {
				sum += exponent(part.AsString())
			}
		default:
			sum += digits(part)
		}
		if sum > maxEvaluation {
			break
		}
	}
	return sum
}

// costAt is the cost of the part of a value that a reference leads to.
func costAt(v cty.Value, traversal hcl.Traversal, arithmetic bool) int {
	if attribute(traversal) != "" {
		if at, diags := traversal[2:].TraverseRel(v); !diags.HasErrors() {
			v = at
		}
	}
	return cost(v, arithmetic)
}

// pairs is the cost of n types that may be compared with each other: about as
// much as four bytes of text for each pair.
func pairs(n int) int { return 4 * min(n*n, maxEvaluation) }

// digits is how many a number has when it is printed; 0 for all else.
func digits(v cty.Value) int {
	if v.Type() != cty.Number || v.IsNull() || !v.IsKnown() {
		return 0
	}
	exponent := v.AsBigFloat().MantExp(nil)
	return max(exponent, -exponent) / 3
}

// exponent is that of a number in a string, at most what is too much.
func exponent(s string) int {
	mantissa := strings.TrimRight(s, "0123456789")
	written := s[len(mantissa):]
	mantissa = strings.TrimRight(mantissa, "+-")
	if written == "" || mantissa == "" || !strings.Contains("eEpP", mantissa[len(mantissa)-1:]) {
		return 0
	}
	n, err := strconv.Atoi(written)
	if err != nil {
		return maxEvaluation + 1
	}
	return min(n, maxEvaluation+1)
}

// expression is what must be known of an expression before it is evaluated.
type expression struct {
	native     hclsyntax.Expression
	cost       int
	functions  []string
	arithmetic bool     // it computes with numbers
	digits     int      // of the longest number that is written, or of those together that are computed with
	levels     int      // of templates and conditionals within each other, each of which copies
	unknown    *Unknown // it is not evaluated
}

// look looks through an expression.
func look(expr hcl.Expression, loops bool) expression {
	e := expression{cost: length(expr)}
	if e.cost > MaxExpression {
		e.unknown = Costly
		return e
	}
	e.native, e.unknown = translate(expr)
	if e.unknown == nil {
		_ = hclsyntax.Walk(e.native, &looker{expression: &e, loops: loops, numbers: []int{0}})
	}
	return e
}

// looker walks an expression.
type looker struct {
	*expression
	loops bool // they are admitted
	// numbers are, for each call around the node, the operators of arithmetic
	// that have it as an operand: their results can be as large as all operands
	// together, but nobody knows how large a number is in a string that is yet
	// to be put together.
	numbers  []int
	operands int // digits of all numbers that are computed with
	level    int
}

// Enter implements hclsyntax.Walker.
func (l *looker) Enter(node hclsyntax.Node) hcl.Diagnostics {
	l.nest(node, 1)
	switch n := node.(type) {
	case *hclsyntax.ForExpr:
		if !l.loops {
			l.refuse(Loop)
		}
	case *hclsyntax.SplatExpr:
		if !l.loops {
			l.refuse(Splat)
		}
	case *hclsyntax.FunctionCallExpr:
		l.cost += pairs(len(n.Args))
		l.numbers = append(l.numbers, 0)
		if !slices.Contains(l.functions, n.Name) {
			l.functions = append(l.functions, n.Name)
		}
	case *hclsyntax.TupleConsExpr:
		l.cost += pairs(len(n.Exprs))
	case *hclsyntax.ObjectConsExpr:
		l.cost += pairs(len(n.Items))
	case *hclsyntax.LiteralValueExpr:
		l.literal(n.Val, l.numbers[len(l.numbers)-1] > 0)
	case *hclsyntax.TemplateExpr:
		if !n.IsStringLiteral() && l.numbers[len(l.numbers)-1] > 0 {
			l.refuse(Costly)
		}
	}
	if l.cost > maxEvaluation {
		l.refuse(Costly)
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (l *looker) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if _, ok := node.(*hclsyntax.FunctionCallExpr); ok {
		l.numbers = l.numbers[:len(l.numbers)-1]
	}
	l.nest(node, -1)
	return nil
}

// literal counts what is written, in arithmetic also of a string that is converted to a
// number.
func (l *looker) literal(v cty.Value, arithmetic bool) {
	l.cost += cost(v, arithmetic)
	size := digits(v)
	if arithmetic {
		l.operands += size + exponent(text(v))
		size = l.operands
	}
	l.digits = max(l.digits, size)
}

// nest enters or leaves what counts by how deep it is.
func (l *looker) nest(node hclsyntax.Node, by int) {
	var op *hclsyntax.Operation
	switch n := node.(type) {
	case *hclsyntax.TemplateExpr, *hclsyntax.ConditionalExpr, *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
		if text, ok := n.(*hclsyntax.TemplateExpr); !ok || !text.IsStringLiteral() {
			l.level += by
			l.levels = max(l.levels, l.level)
		}
	case *hclsyntax.BinaryOpExpr:
		op = n.Op
	case *hclsyntax.UnaryOpExpr:
		op = n.Op
	}
	if op != nil && op.Type == cty.Number {
		l.arithmetic = true
		l.numbers[len(l.numbers)-1] += by
	}
}

func (l *looker) refuse(why *Unknown) {
	if l.unknown == nil {
		l.unknown = why
	}
}
