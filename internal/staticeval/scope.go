// Package staticeval evaluates expressions of configuration that may come from
// anyone. It uses only facts that are known before anything runs: the caller's
// values for references, and a table of functions.
//
// It evaluates references, templates, conditionals, indexes, operators, and
// functions whose arguments limit their results. Loops run only if the caller
// allows them. The cost of an evaluation is estimated before it runs, so none
// must be stopped; for a loop, before all its turns. Everything else is Unknown:
// it may have a value when the tool runs. Constants, without references and
// calls, have the same guard with narrower limits.
package staticeval

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Scope has the references and functions of expressions.
type Scope struct {
	Functions []Function
	// Refer returns the value of root.name, or of root if name is empty. It is
	// called once for each. A value that is not completely known has a reason. A
	// missing reference is cty.NilVal with a reason: an expression that needs it
	// is an error, which try replaces. Without Refer no reference has a value.
	Refer func(root, name string) (cty.Value, *Unknown)
	// Holes allows loops (for and splat expressions), and texts with unknown
	// parts. Without Holes such a text is unknown. With it, reasons are marks on
	// unknown values, so each part of a value has its own.
	Holes *Holes
	// Bound is shared by scopes with one budget; nil means a budget for this
	// scope alone.
	Bound *Bound

	known map[reference]answer
}

type reference struct{ root, name string }

type answer struct {
	value   cty.Value
	unknown *Unknown
}

// Unknown says why an expression has no value here.
type Unknown struct {
	Reason string
	Hint   string // what to do next; may be empty
	// Refused means that the expression is an error. Otherwise it may have a
	// value when the tools run.
	Refused bool
}

// Error implements error, for functions that have no value here.
func (u *Unknown) Error() string { return u.Reason }

// nowhere is the reason of an unknown value without any other reason.
var nowhere = &Unknown{Reason: "its value is not known here"}

// Value evaluates an expression, and first its references. If the value is not
// completely known, it returns the first reason.
func (s *Scope) Value(expr hcl.Expression) (cty.Value, *Unknown) {
	if s.Bound == nil {
		s.Bound = &Bound{}
	}
	s.Bound.chain++
	defer func() { s.Bound.chain-- }()
	e := look(expr, s.Holes != nil)
	if e.unknown == nil && s.Bound.chain > maxChain {
		e.unknown = Costly
	}
	if e.unknown != nil {
		return cty.DynamicVal, e.unknown
	}
	run := &evaluation{bound: s.Bound, of: e, holes: s.Holes, left: maxEvaluation}
	ctx, unknown := s.context(run)
	if !run.take(e.cost) {
		return cty.DynamicVal, Costly
	}
	native := e.native
	if s.Holes != nil {
		native = run.rewrite(native)
	}
	value, diags := native.Value(ctx)
	switch {
	case diags.HasErrors():
		return cty.DynamicVal, cmp.Or(unknown, run.unknown, refusal(diags))
	case cost(value, false) > maxEvaluation:
		return cty.DynamicVal, Costly
	case value.IsWhollyKnown():
		return value, nil
	}
	return value, cmp.Or(ReasonFor(value), unknown, run.unknown, nowhere)
}

// Literal is the value of an expression without references and functions; unknown
// if it has none or is too large. JSON strings are literal.
func Literal(expr hcl.Expression) cty.Value {
	if json.IsJSONExpression(expr) && length(expr) <= MaxExpression {
		value, diags := expr.Value(nil)
		if !diags.HasErrors() && value.IsWhollyKnown() && cost(value, false) <= maxEvaluation {
			return value
		}
	} else if value, unknown := new(Scope).Value(expr); unknown == nil {
		return value
	}
	return cty.DynamicVal
}

// refusal says why HCL refuses an expression. It drops HCL's details, which
// repeat values that may be any text.
func refusal(diags hcl.Diagnostics) *Unknown {
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			return &Unknown{Refused: true, Reason: strings.ToLower(d.Summary[:1]) + d.Summary[1:]}
		}
	}
	return &Unknown{Refused: true, Reason: "it is no expression"}
}

// context has the functions and the referenced values of an expression, and
// charges their costs. It returns the reason of the first value that is not
// completely known.
func (s *Scope) context(run *evaluation) (*hcl.EvalContext, *Unknown) {
	var unknown *Unknown
	objects := map[string]map[string]cty.Value{}
	for _, traversal := range run.of.native.Variables() {
		ref := reference{traversal.RootName(), attribute(traversal)}
		value, why := s.refer(ref)
		unknown = cmp.Or(unknown, why)
		if objects[ref.root] == nil {
			objects[ref.root] = map[string]cty.Value{}
		}
		if value == cty.NilVal {
			continue
		}
		run.take(costAt(value, traversal, run.of.arithmetic))
		objects[ref.root][ref.name] = value
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: map[string]function.Function{}}
	for root, attrs := range objects {
		whole, alone := attrs[""]
		if !alone {
			whole = cty.ObjectVal(attrs)
		}
		ctx.Variables[root] = whole
	}
	for _, name := range run.of.functions {
		ctx.Functions[name] = run.call(s.function(name))
	}
	return ctx, unknown
}

// attribute is the second part of a reference like var.name.
func attribute(traversal hcl.Traversal) string {
	if len(traversal) > 1 {
		if attr, ok := traversal[1].(hcl.TraverseAttr); ok {
			return attr.Name
		}
	}
	return ""
}

// refer looks a reference up, once.
func (s *Scope) refer(ref reference) (cty.Value, *Unknown) {
	if a, ok := s.known[ref]; ok {
		return a.value, a.unknown
	}
	if s.known == nil {
		s.known = map[reference]answer{}
	}
	if s.Refer == nil || !s.Bound.refer() {
		return cty.DynamicVal, Costly
	}
	// This is the answer while the reference is evaluated: to meet it means a
	// cycle.
	s.known[ref] = answer{cty.DynamicVal, &Unknown{Refused: true, Reason: ref.root + "." + ref.name + " refers to itself"}}
	value, unknown := s.referred(ref)
	if value != cty.NilVal && !s.Bound.Take(cost(value, false)) {
		value, unknown = cty.DynamicVal, Costly
	}
	s.known[ref] = answer{value, unknown}
	return value, unknown
}

// referred is the value of a reference, without ways.
func (s *Scope) referred(ref reference) (cty.Value, *Unknown) {
	if s.Holes == nil {
		return s.Refer(ref.root, ref.name)
	}
	way := s.Holes.way
	s.Holes.way = nil
	defer func() { s.Holes.way = way }()
	return s.Refer(ref.root, ref.name)
}

// function returns a function by name. The name may have the tools' own namespace
// [terraform 1.8 internal/lang/functions.go].
func (s *Scope) function(name string) Function {
	own := strings.TrimPrefix(name, "core::")
	i := slices.IndexFunc(s.Functions, func(f Function) bool { return f.Name == own })
	if i < 0 {
		return unsupported(name)
	}
	return s.Functions[i]
}
