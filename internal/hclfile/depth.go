package hclfile

import (
	"bytes"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// maxCopied bounds the bytes that the parser copies to join literals. A heredoc
// of a megabyte in lines of a hundred bytes takes five times less.
const maxCopied = 2 << 30

// closeLook is the number of brackets and operators from which a file's nesting
// is checked. Fewer are harmless in any nesting.
const closeLook = 5000

// nesting are the bytes that may begin a level of nesting: brackets, template
// sequences and the operators that have an expression to their right.
var nesting = []byte("([{!-?")

// deepNative returns the line at which the nesting of a file in native syntax
// exceeds maxDepth, or 0. It counts open brackets and templates and, in each of
// them, the operators that nest without a bracket. A comma ends the expression of
// such operators, and so does a line's end wherever it means something. A
// template's control sequences (%{ if … }) nest up to the end of the template.
func deepNative(tokens hclsyntax.Tokens) int {
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

// longLiteral returns the line at which the literals of templates become too
// expensive to read, or 0. The parser joins the lines of a heredoc, and the parts
// of a string between escapes, by copying the text so far for each of them.
func longLiteral(tokens hclsyntax.Tokens) int {
	copied, joined := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit:
			joined += len(t.Bytes)
			copied += joined
		default:
			joined = 0
		}
		if copied > maxCopied {
			return t.Range.Start.Line
		}
	}
	return 0
}

// cut reports whether a file has so many ends of literals that joining them may
// be too expensive.
func cut(src []byte) bool {
	parts := 1
	for _, end := range []string{"\n", "\r", "$", "%"} {
		parts += 2 * bytes.Count(src, []byte(end))
	}
	return parts > maxCopied/max(len(src), 1)
}

// dense reports whether a file has closeLook signs that nest.
func dense(src []byte) bool {
	most := 0
	for i := range nesting {
		most += bytes.Count(src, nesting[i:i+1])
	}
	return most > closeLook
}
