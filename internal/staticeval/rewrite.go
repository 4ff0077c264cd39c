package staticeval

import (
	"cmp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/relock-dev/relock/internal/collect"
)

// rewrite returns a copy of an expression whose loops are charged before they
// run, and whose templates have holes. It copies because goroutines share the
// expressions of a file.
func (e *evaluation) rewrite(expr hclsyntax.Expression) hclsyntax.Expression {
	switch n := expr.(type) {
	case *hclsyntax.TemplateExpr:
		c := *n
		c.Parts = e.rewriteAll(n.Parts)
		return &holedTemplate{&c, &c, e}
	case *hclsyntax.TemplateWrapExpr:
		c := *n
		c.Wrapped = e.rewrite(n.Wrapped)
		return &c
	case *hclsyntax.TemplateJoinExpr:
		c := *n
		c.Tuple = e.rewrite(n.Tuple)
		return &c
	case *hclsyntax.FunctionCallExpr:
		c := *n
		c.Args = e.rewriteAll(n.Args)
		return &c
	case *hclsyntax.ConditionalExpr:
		c := *n
		c.Condition, c.TrueResult, c.FalseResult = e.whole(n.Condition), e.rewrite(n.TrueResult), e.rewrite(n.FalseResult)
		return &conditional{&c, &c}
	case *hclsyntax.BinaryOpExpr:
		c := *n
		c.LHS, c.RHS = e.whole(n.LHS), e.whole(n.RHS)
		return &c
	case *hclsyntax.UnaryOpExpr:
		c := *n
		c.Val = e.whole(n.Val)
		return &c
	case *hclsyntax.ParenthesesExpr:
		c := *n
		c.Expression = e.rewrite(n.Expression)
		return &c
	}
	return e.rewriteCollection(expr)
}

// rewriteCollection rewrites expressions that make or read collections.
func (e *evaluation) rewriteCollection(expr hclsyntax.Expression) hclsyntax.Expression {
	switch n := expr.(type) {
	case *hclsyntax.TupleConsExpr:
		c := *n
		c.Exprs = e.rewriteAll(n.Exprs)
		return &c
	case *hclsyntax.ObjectConsExpr:
		c := *n
		c.Items = make([]hclsyntax.ObjectConsItem, len(n.Items))
		for i, item := range n.Items {
			c.Items[i] = hclsyntax.ObjectConsItem{KeyExpr: e.rewrite(item.KeyExpr), ValueExpr: e.rewrite(item.ValueExpr)}
		}
		return &c
	case *hclsyntax.ObjectConsKeyExpr:
		if hcl.ExprAsKeyword(n.Wrapped) != "" && !n.ForceNonLiteral {
			return n
		}
		c := *n
		c.Wrapped = e.whole(n.Wrapped)
		return &c
	case *hclsyntax.IndexExpr:
		c := *n
		c.Collection, c.Key = e.rewrite(n.Collection), e.whole(n.Key)
		return &c
	case *hclsyntax.RelativeTraversalExpr:
		c := *n
		c.Source = e.rewrite(n.Source)
		return &c
	case *hclsyntax.ForExpr:
		c := *n
		c.ValExpr = e.rewrite(n.ValExpr)
		body := []hclsyntax.Expression{c.ValExpr}
		if n.KeyExpr != nil {
			c.KeyExpr = e.whole(n.KeyExpr)
			body = append(body, c.KeyExpr)
		}
		if n.CondExpr != nil {
			c.CondExpr = e.whole(n.CondExpr)
			body = append(body, c.CondExpr)
		}
		return &loop{n, e, e.rewrite(n.CollExpr), body, func(collection hclsyntax.Expression) hclsyntax.Expression {
			turned := c
			turned.CollExpr = collection
			return &turned
		}}
	case *hclsyntax.SplatExpr:
		each := e.rewrite(n.Each)
		return &loop{n, e, e.rewrite(n.Source), []hclsyntax.Expression{each}, func(collection hclsyntax.Expression) hclsyntax.Expression {
			turned := *n
			turned.Source, turned.Each = collection, each
			return &turned
		}}
	}
	return expr
}

func (e *evaluation) rewriteAll(exprs []hclsyntax.Expression) []hclsyntax.Expression {
	return collect.Mapped(exprs, e.rewrite)
}

func valued(v cty.Value, rng hcl.Range) hclsyntax.Expression {
	return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: rng}
}

// conditional has the reasons of the chosen result only. HCL would add those of
// the other one.
type conditional struct {
	hclsyntax.Expression
	of *hclsyntax.ConditionalExpr // the expression
}

// Value implements hcl.Expression.
func (c *conditional) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	condition, diags := c.of.Condition.Value(ctx)
	plain, marks := condition.Unmark()
	choice, err := convert.Convert(plain, cty.Bool)
	if diags.HasErrors() || err != nil || choice.IsNull() || !choice.IsKnown() {
		return c.of.Value(ctx)
	}
	chosen, other := c.of.TrueResult, c.of.FalseResult
	if choice.False() {
		chosen, other = other, chosen
	}
	value, diags := chosen.Value(ctx)
	rest, failed := other.Value(ctx)
	if diags.HasErrors() || failed.HasErrors() {
		return value.WithMarks(marks), diags
	}
	rest, _ = rest.UnmarkDeep()
	both := hclsyntax.ConditionalExpr{Condition: valued(condition, c.of.Condition.Range()), SrcRange: c.of.SrcRange}
	both.TrueResult, both.FalseResult = valued(value, chosen.Range()), valued(rest, other.Range())
	if choice.False() {
		both.TrueResult, both.FalseResult = both.FalseResult, both.TrueResult
	}
	return both.Value(ctx)
}

// directive reports whether a conditional is a template's %{ if … }, which begins
// before its condition.
func (c *conditional) directive() bool {
	return c.of.SrcRange.Start.Byte < c.of.Condition.StartRange().Start.Byte
}

// loop is a for or splat expression whose turns are charged.
type loop struct {
	hclsyntax.Expression
	run  *evaluation
	over hclsyntax.Expression   // the collection
	body []hclsyntax.Expression // evaluated for each element
	on   func(collection hclsyntax.Expression) hclsyntax.Expression
}

// Value implements hcl.Expression.
func (l *loop) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	over, diags := l.over.Value(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	if !l.run.turns(ctx, over, l.body) {
		return l.run.without(Costly, cty.DynamicPseudoType), nil
	}
	return l.on(valued(over, l.over.Range())).Value(ctx)
}

// turn is the text of a directive's only turn, over an unknown element.
func (l *loop) turn(ctx *hcl.EvalContext, why *Unknown) (cty.Value, hcl.Diagnostics) {
	of, ok := l.Expression.(*hclsyntax.ForExpr)
	if !ok {
		return l.run.without(why, cty.String), nil
	}
	inner := ctx.NewChild()
	inner.Variables = map[string]cty.Value{of.ValVar: cty.DynamicVal.Mark(why)}
	if of.KeyVar != "" {
		inner.Variables[of.KeyVar] = cty.DynamicVal.Mark(why)
	}
	return l.body[0].Value(inner)
}

// turns charges a loop over a collection, and reports whether it may run. For
// each element it charges the expressions and their references outside the loop.
// For each reference that may be a loop variable it charges the elements
// together.
func (e *evaluation) turns(ctx *hcl.EvalContext, over cty.Value, body []hclsyntax.Expression) bool {
	over, _ = over.Unmark()
	n := 1
	if over.IsKnown() && !over.IsNull() && over.CanIterateElements() {
		n = over.LengthInt()
	}
	each, elements := perValue, cost(over, e.of.arithmetic)
	sum := elements + pairs(n)
	for _, expr := range body {
		each += length(expr)
		for _, traversal := range expr.Variables() {
			sum += elements
			if value, diags := traversal.TraverseAbs(ctx); !diags.HasErrors() {
				each += cost(value, e.of.arithmetic)
			}
		}
		if sum > maxEvaluation || each > maxEvaluation {
			return e.take(maxEvaluation + 1)
		}
	}
	return e.take(sum + n*each)
}

// whole is an expression that a decision depends on.
func (e *evaluation) whole(expr hclsyntax.Expression) hclsyntax.Expression {
	return &decisive{e.rewrite(expr), e}
}

type decisive struct {
	hclsyntax.Expression
	run *evaluation
}

// Value implements hcl.Expression.
func (d *decisive) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	value, diags := d.Expression.Value(ctx)
	return d.run.decided(value), diags
}

// holedTemplate is a template that may have unknown parts.
type holedTemplate struct {
	hclsyntax.Expression
	of  *hclsyntax.TemplateExpr // the expression
	run *evaluation
}

// Value implements hcl.Expression.
func (t *holedTemplate) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	c := *t.of
	c.Parts = make([]hclsyntax.Expression, len(t.of.Parts))
	for i, part := range t.of.Parts {
		value, diags := valueOfPart(part, ctx, t.run)
		if diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		if plain, marks := value.Unmark(); !plain.IsKnown() && !directive(part) {
			why := cmp.Or(reasonOf(marks), t.run.unknown, nowhere)
			value = cty.StringVal(t.run.holes.Text(why)).WithMarks(marks)
		}
		c.Parts[i] = valued(value, part.Range())
	}
	return c.Value(ctx)
}

// directive reports whether a part of a template is %{ if … } or %{ for … }.
func directive(part hclsyntax.Expression) bool {
	switch n := part.(type) {
	case *hclsyntax.TemplateJoinExpr:
		return true
	case *conditional:
		return n.directive()
	}
	return false
}
