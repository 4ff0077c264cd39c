package staticeval

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// HCL has no way to stop an evaluation. So relock estimates its cost first, in
// bytes that are read and written: of the expression, of all referenced values,
// and of the results of functions. The limits are far beyond what the source of a
// module needs.
const (
	// MaxExpression is the highest number of bytes of an expression.
	MaxExpression = 64 << 10
	maxEvaluation = 1 << 20  // cost of an evaluation, and of a value
	maxTotal      = 64 << 20 // cost of all evaluations that share a Bound, and of all kept values
	maxReferences = 10_000   // that one Bound evaluates
	maxChain      = 200      // references in a row, across scopes

	perValue = 64 // approximate bytes of a value beyond its text
)

// Bound is the shared budget of many evaluations: those of one root module. Its
// zero value is a full budget.
type Bound struct{ references, chain, spent int }

func (b *Bound) refer() bool {
	b.references++
	return b.references <= maxReferences
}

// Take charges a cost in bytes that are read and written, also for work beside
// evaluations. It reports whether the budget still allowed it.
func (b *Bound) Take(cost int) bool {
	b.spent = min(b.spent+cost, maxTotal+1)
	return b.spent <= maxTotal
}

// Spent is the charged cost.
func (b *Bound) Spent() int { return b.spent }

// cost is an upper bound of the size of a call's result and of its work.
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

// cost measures a value: its text, its digits, and a constant for each part. It
// stops when the cost is too high. If types are unified, the types of a tuple or
// an object are compared pair by pair [cty 1.19 cty/convert/sort_types.go]. In
// arithmetic a string counts as the number that it is converted to.
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

// costAt is the cost of the part of a value that a reference selects.
func costAt(v cty.Value, traversal hcl.Traversal, arithmetic bool) int {
	if attribute(traversal) != "" {
		if at, diags := traversal[2:].TraverseRel(v); !diags.HasErrors() {
			v = at
		}
	}
	return cost(v, arithmetic)
}

// pairs is the cost of comparing n types with each other: about four bytes of
// text for each pair.
func pairs(n int) int { return 4 * min(n*n, maxEvaluation) }

// digits is the number of digits of a printed number; 0 for other values.
func digits(v cty.Value) int {
	if v.Type() != cty.Number || v.IsNull() || !v.IsKnown() {
		return 0
	}
	exponent := v.AsBigFloat().MantExp(nil)
	return max(exponent, -exponent) / 3
}

// exponent is the exponent of a number in a string, limited to just above the
// bound.
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

// expression has the facts about an expression that are needed before its
// evaluation.
type expression struct {
	native     hclsyntax.Expression
	cost       int
	functions  []string
	arithmetic bool     // it computes with numbers
	digits     int      // of the longest written number, or of all numbers of a computation together
	levels     int      // of nested templates and conditionals, each of which copies
	unknown    *Unknown // the reason why it is not evaluated
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
	loops bool // loops are allowed
	// numbers are, for each call around the node, the arithmetic operators with
	// the call as an operand. Their results can be as large as all operands
	// together. The size of a number in a string that a template builds is
	// unknown.
	numbers  []int
	operands int // digits of all numbers in computations
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

// literal counts a literal. In arithmetic it counts a string as a number, too.
func (l *looker) literal(v cty.Value, arithmetic bool) {
	l.cost += cost(v, arithmetic)
	size := digits(v)
	if arithmetic {
		l.operands += size + exponent(text(v))
		size = l.operands
	}
	l.digits = max(l.digits, size)
}

// nest enters or leaves a node whose cost depends on its depth.
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
