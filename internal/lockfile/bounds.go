package lockfile

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// maxDepth bounds how deeply expressions nest. HCL's parser and evaluator
// recurse, and a Go program does not survive a full stack: a hundred thousand
// opening brackets would end the whole run. Real lock files reach a depth of 3
// and hold no operators.
const maxDepth = 1000

// tooDeep returns the line at which the nesting exceeds maxDepth, or 0. Each
// token that is neither a bracket nor part of plain data counts as one level
// that is never left, since operators nest without brackets.
func tooDeep(src []byte) int {
	if !dense(src) {
		return 0
	}
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos) // ParseConfig reports the errors
	open, operators := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen,
			hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp:
			open++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen,
			hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			open = max(open-1, 0)
		case hclsyntax.TokenIdent, hclsyntax.TokenEqual, hclsyntax.TokenComma, hclsyntax.TokenNumberLit,
			hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit, hclsyntax.TokenNewline,
			hclsyntax.TokenComment, hclsyntax.TokenEOF:
		default:
			operators++
		}
		if open+operators > maxDepth {
			return t.Range.Start.Line
		}
	}
	return 0
}

// plain are the bytes that words, numbers and the space between them consist of.
var plain = func() (set [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_, \t\r\n") {
		set[c] = true
	}
	return set
}()

// dense reports whether there are bytes enough besides the plain ones to nest
// beyond maxDepth: every level takes at least one. Few real files have so many,
// and the others need not be read into tokens twice.
func dense(src []byte) bool {
	n := 0
	for _, c := range src {
		if !plain[c] {
			n++
		}
	}
	return n > maxDepth
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
