package staticeval

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Directive is a directive of a template, %{ if … } or %{ for … }, that depends
// on an unknown value.
type Directive struct {
	Why   *Unknown
	Place hcl.Range // of the unknown value
}

// branching is one way through the open directives of an expression: the choice
// at each, in order. A missing choice is the first one: the condition is false,
// or the loop has no turn.
type branching struct {
	chosen []bool
	met    []Directive
}

// choose is the choice at a directive.
func (b *branching) choose(d Directive) bool {
	n := len(b.met)
	b.met = append(b.met, d)
	if n == len(b.chosen) {
		b.chosen = append(b.chosen, false)
	}
	return b.chosen[n]
}

// next is the way after a completed one; nil after the last.
func (b *branching) next() *branching {
	i := len(b.met) - 1
	for i >= 0 && b.chosen[i] {
		i--
	}
	if i < 0 {
		return nil
	}
	return &branching{chosen: append(slices.Clone(b.chosen[:i]), true)}
}

// Ways evaluates a template for each choice at its open directives: a condition
// is true or false, and a loop has one turn or none. It returns at most most
// values. open has each directive once; without any, there is one value. The
// values that the template refers to are evaluated once.
func (s *Scope) Ways(expr hcl.Expression, most int) (values []cty.Value, open []Directive, why *Unknown) {
	known := map[hcl.Range]bool{}
	for way := (&branching{}); way != nil; way = way.next() {
		if len(values) == most {
			return nil, open, &Unknown{Reason: fmt.Sprintf("%s, and there are more than %d ways through the template", open[0].Why.Reason, most)}
		}
		s.Holes.way = way
		v, why := s.Value(expr)
		s.Holes.way = nil
		for _, d := range way.met {
			if !known[d.Place] {
				known[d.Place] = true
				open = append(open, d)
			}
		}
		if why != nil {
			return []cty.Value{v}, open, why
		}
		values = append(values, v)
	}
	return values, open, nil
}

// valueOfPart is the value of a part of a template. For an open directive, it
// follows the present way.
func valueOfPart(part hclsyntax.Expression, ctx *hcl.EvalContext, run *evaluation) (cty.Value, hcl.Diagnostics) {
	way := run.holes.way
	if way == nil {
		return part.Value(ctx)
	}
	switch n := part.(type) {
	case *conditional:
		condition, diags := n.of.Condition.Value(ctx)
		plain, marks := condition.Unmark()
		choice, err := convert.Convert(plain, cty.Bool)
		if !n.directive() || diags.HasErrors() || err != nil || choice.IsNull() {
			break
		}
		holds := choice.IsKnown() && choice.True()
		if !choice.IsKnown() {
			holds = way.choose(Directive{because(marks, run), n.of.Condition.Range()})
		}
		if holds {
			return n.of.TrueResult.Value(ctx)
		}
		return n.of.FalseResult.Value(ctx)
	case *hclsyntax.TemplateJoinExpr:
		l, ok := n.Tuple.(*loop)
		if !ok {
			break
		}
		over, diags := l.over.Value(ctx)
		plain, marks := over.Unmark()
		if diags.HasErrors() || plain.IsKnown() {
			break
		}
		why := because(marks, run)
		if !way.choose(Directive{why, l.over.Range()}) {
			return cty.StringVal(""), nil
		}
		return l.turn(ctx, why)
	}
	return part.Value(ctx)
}

// because returns why a value with these marks is unknown.
func because(marks cty.ValueMarks, run *evaluation) *Unknown {
	if why := reasonOf(marks); why != nil {
		return why
	}
	if run.unknown != nil {
		return run.unknown
	}
	return nowhere
}
