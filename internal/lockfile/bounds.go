package lockfile

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// maxExpression bounds the bytes of an expression: operators without brackets
// nest as deep as it is long, and evaluation recurses. The longest in real lock
// files are a hundred bytes of constraints.
const maxExpression = 8 << 10

// maxProblems bounds the errors that are reported of one file.
const maxProblems = 100

func long(expr hcl.Expression) bool {
	rng := expr.Range()
	return rng.End.Byte-rng.Start.Byte > maxExpression
}

// loops reports whether an expression repeats another. Nested loops over
// literal lists multiply: a few lines can take years to evaluate.
func loops(expr hcl.Expression) bool {
	found := false
	hclsyntax.VisitAll(expr.(hclsyntax.Expression), func(n hclsyntax.Node) hcl.Diagnostics {
		_, isFor := n.(*hclsyntax.ForExpr)
		found = found || isFor
		return nil
	})
	return found
}
