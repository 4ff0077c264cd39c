package scan

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

// Early evaluation runs expressions that may come from anyone, with functions
// and loops, and nothing in HCL stops one. So the work that an expression can
// make is estimated before it is evaluated, and values are measured after. The
// bounds are far beyond what the source of a module needs.
const (
	maxEarly  = 64 << 10 // bytes of an expression
	maxValue  = 32 << 10 // size of a value, as sizeOf measures it
	maxLoops  = 3        // for expressions and splats within each other
	maxChain  = 200      // references that lead to each other, across modules
	maxEffort = 64 << 20 // steps of all evaluations for one root module, estimated
)

// survey is what must be known of an expression before it is evaluated.
type survey struct {
	expr      hclsyntax.Expression
	bytes     int
	loops     int // how deep they are in each other
	functions []string
	diags     hcl.Diagnostics // of parsing the strings of JSON
	huge      bool            // it holds a number of absurd size, or is too long
}

// surveyOf looks through an expression. JSON is translated first, so that its
// strings are the templates that they are for an evaluation.
func surveyOf(expr hcl.Expression) survey {
	s := survey{bytes: length(expr), huge: tooLong(expr)}
	if s.huge {
		return s
	}
	if s.expr = s.native(expr); s.expr != nil {
		_ = hclsyntax.Walk(s.expr, &surveyor{survey: &s})
	}
	return s
}

// length is how many bytes of its file an expression takes.
func length(expr hcl.Expression) int {
	rng := expr.Range()
	return rng.End.Byte - rng.Start.Byte
}

func tooLong(expr hcl.Expression) bool { return length(expr) > maxEarly }

// simple reports whether an expression has neither loops nor functions, nor
// any absurd size.
func (s survey) simple() bool {
	return !s.huge && s.expr != nil && s.loops == 0 && len(s.functions) == 0
}

// expands reports whether a function in it can make more elements than it gets.
func (s survey) expands() bool {
	return slices.ContainsFunc(s.functions, func(name string) bool { return slices.Contains(expanding, name) })
}

// native translates JSON to the expression that it stands for. It returns nil
// for what has none, after noting why.
func (s *survey) native(expr hcl.Expression) hclsyntax.Expression {
	if native, ok := expr.(hclsyntax.Expression); ok {
		return native
	}
	if !json.IsJSONExpression(expr) {
		return nil
	}
	rng := expr.Range()
	if items, diags := hcl.ExprList(expr); !diags.HasErrors() {
		tuple := &hclsyntax.TupleConsExpr{SrcRange: rng, OpenRange: rng}
		for _, item := range items {
			tuple.Exprs = append(tuple.Exprs, s.native(item))
		}
		return whole(tuple, tuple.Exprs)
	}
	if pairs, diags := hcl.ExprMap(expr); !diags.HasErrors() {
		object := &hclsyntax.ObjectConsExpr{SrcRange: rng, OpenRange: rng}
		var parts []hclsyntax.Expression
		for _, pair := range pairs {
			item := hclsyntax.ObjectConsItem{KeyExpr: s.native(pair.Key), ValueExpr: s.native(pair.Value)}
			object.Items = append(object.Items, item)
			parts = append(parts, item.KeyExpr, item.ValueExpr)
		}
		return whole(object, parts)
	}
	return s.nativeLeaf(expr)
}

// whole returns the expression if none of its parts is missing.
func whole(expr hclsyntax.Expression, parts []hclsyntax.Expression) hclsyntax.Expression {
	if slices.Contains(parts, nil) {
		return nil
	}
	return expr
}

func (s *survey) nativeLeaf(expr hcl.Expression) hclsyntax.Expression {
	rng := expr.Range()
	value, diags := expr.Value(nil)
	if diags.HasErrors() {
		s.diags = append(s.diags, diags...)
		return nil
	}
	if value.Type() != cty.String || value.IsNull() {
		return &hclsyntax.LiteralValueExpr{Val: value, SrcRange: rng}
	}
	if len(value.AsString()) > maxExpression {
		s.huge = true
		return nil
	}
	template, diags := hclsyntax.ParseTemplate([]byte(value.AsString()), rng.Filename, rng.Start)
	if diags.HasErrors() {
		s.diags = append(s.diags, diags...)
		return nil
	}
	return template
}

// surveyor walks an expression for a survey.
type surveyor struct {
	*survey
	depth int
}

// Enter implements hclsyntax.Walker.
func (s *surveyor) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch n := node.(type) {
	case *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
		s.depth++
		s.loops = max(s.loops, s.depth)
	case *hclsyntax.FunctionCallExpr:
		if !slices.Contains(s.functions, n.Name) {
			s.functions = append(s.functions, n.Name)
		}
	case *hclsyntax.LiteralValueExpr:
		s.huge = s.huge || hugeNumber(n.Val)
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (s *surveyor) Exit(node hclsyntax.Node) hcl.Diagnostics {
	switch node.(type) {
	case *hclsyntax.ForExpr, *hclsyntax.SplatExpr:
		s.depth--
	}
	return nil
}

// effort estimates how many steps the evaluation of an expression takes that
// refers to these values, counted once for each reference.
func (s survey) effort(values []cty.Value) int {
	bytes, elements := s.bytes, s.bytes/2
	for _, v := range values {
		bytes += sizeOf(v)
		if s.loops > 0 {
			elements += elementsOf(v)
		}
	}
	if s.expands() {
		elements += max(maxRange, bytes)
	}
	for range s.loops {
		if bytes > maxEffort {
			break
		}
		bytes *= max(elements, 1)
	}
	return bytes
}

// maxRange is how many numbers the function range returns at most.
const maxRange = 1024

// sizeOf measures a value: the bytes of its strings and one for everything in
// it. It stops once the value is too large, as a number is of absurd size.
func sizeOf(v cty.Value) int {
	size := 0
	for _, part := range cty.DeepValues(plain(v)) {
		size++
		switch {
		case part.IsNull() || !part.IsKnown():
		case part.Type() == cty.String:
			size += len(part.AsString())
		case hugeNumber(part):
			size += maxValue + 1
		}
		if size > maxValue {
			break
		}
	}
	return size
}

// elementsOf counts what is in a value, at any depth.
func elementsOf(v cty.Value) int {
	count := 0
	for range cty.DeepValues(plain(v)) {
		count++
	}
	return count
}

// plain is the value without marks.
func plain(v cty.Value) cty.Value {
	if !v.ContainsMarked() { // removing marks copies all of it
		return v
	}
	v, _ = v.UnmarkDeep()
	return v
}
