package scan

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// The parsers of HCL and the evaluation of expressions recurse, and a Go
// program does not survive a full stack; evaluation can also take any amount of
// time and memory. Files may come from anyone, so there are bounds, far beyond
// what a configuration needs and far below what ends a run: a hundred thousand
// opening brackets fill the stack.
const (
	maxFile       = 16 << 20 // bytes of a file
	maxDepth      = 1000     // of nesting in a file
	closeLook     = 5000     // brackets and operators in a file whose nesting is looked at closely
	maxExpression = 8 << 10  // bytes of an expression that is evaluated
	maxExponent   = 4096     // of a number that is written, to the base 2
)

// nesting are the bytes that may begin a level of nesting: brackets, template
// sequences and the operators that have an expression to their right.
var nesting = []byte("([{!-?")

// tooDeep returns the line at which the nesting of a file exceeds maxDepth, or
// 0. Only files with very many brackets and operators are looked at closely.
func tooDeep(src []byte, isJSON bool) int {
	most := 0
	for i := range nesting {
		most += bytes.Count(src, nesting[i:i+1])
	}
	switch {
	case most <= closeLook:
		return 0
	case isJSON:
		return deepJSON(src)
	}
	return deepNative(src)
}

// deepJSON counts brackets outside of strings.
func deepJSON(src []byte) int {
	depth, line := 0, 1
	inString := false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '\n':
			line++
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth > maxDepth {
			return line
		}
	}
	return 0
}

// deepNative counts open brackets and templates and, in each of them, the
// operators that nest without a bracket. A comma ends the expression of such
// operators, and so does a line's end wherever it means something. A template's
// control sequences (%{ if … }) nest up to the end of the template.
func deepNative(src []byte) int {
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos) // parsing reports the errors
	type level struct {
		lines     bool // a line's end ends an expression here
		operators int
	}
	open, depth := []level{{lines: true}}, 0
	for _, t := range tokens {
		top := &open[len(open)-1]
		switch t.Type {
		case hclsyntax.TokenTemplateControl:
			top.operators++
			open, depth = append(open, level{}), depth+2
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
			hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp:
			open = append(open, level{lines: t.Type == hclsyntax.TokenOBrace})
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
			hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if len(open) > 1 {
				depth -= 1 + top.operators
				open = open[:len(open)-1]
			}
		case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenQuestion:
			top.operators++
			depth++
		case hclsyntax.TokenComma, hclsyntax.TokenNewline:
			if t.Type == hclsyntax.TokenComma || top.lines {
				depth -= top.operators
				top.operators = 0
			}
		}
		if depth > maxDepth {
			return t.Range.Start.Line
		}
	}
	return 0
}

// constant evaluates an expression as the tools evaluate the arguments that
// must be known before anything else: without variables and functions, so that
// "~> ${1}.0" has a value. In JSON, strings are then taken literally.
//
// What would take useless time or memory is refused, where the tools would try:
// for expressions, long expressions and numbers of absurd size.
func constant(expr hcl.Expression) (cty.Value, hcl.Diagnostics) {
	if diag := unbounded(expr); diag != nil {
		return cty.DynamicVal, hcl.Diagnostics{diag}
	}
	v, diags := expr.Value(nil)
	if !diags.HasErrors() && hugeNumber(v) {
		return cty.DynamicVal, append(diags, unsuitable(expr, "it holds a number that is too large"))
	}
	return v, diags
}

func unbounded(expr hcl.Expression) *hcl.Diagnostic {
	rng := expr.Range()
	if rng.End.Byte-rng.Start.Byte > maxExpression {
		return unsuitable(expr, "it is too long")
	}
	native, ok := expr.(hclsyntax.Expression)
	if !ok {
		return nil
	}
	var found *hcl.Diagnostic
	hclsyntax.VisitAll(native, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.ForExpr:
			found = unsuitable(expr, "it is computed by a for expression")
		case *hclsyntax.LiteralValueExpr:
			if hugeNumber(n.Val) {
				found = unsuitable(expr, "it holds a number that is too large")
			}
		}
		return nil
	})
	return found
}

func hugeNumber(v cty.Value) bool {
	if v.Type() != cty.Number || v.IsNull() || !v.IsKnown() {
		return false
	}
	exponent := v.AsBigFloat().MantExp(nil)
	return exponent > maxExponent || exponent < -maxExponent
}

func unsuitable(expr hcl.Expression, why string) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Unsuitable value",
		Detail:   why,
		Subject:  expr.Range().Ptr(),
	}
}
