// Package hclfile parses files in HCL's native syntax and its JSON syntax that
// may come from anyone.
//
// The parsers of HCL recurse, and take some hundred bytes of memory for each
// token and each error: a file of 16 MiB can fill a stack or take gigabytes. So
// the bytes are looked at before the parsers are: a file may have so many pieces
// (an upper bound of its tokens), nest so deep and write so long numbers as here
// stands, which is far beyond what people and programs write. An excess is an
// error with its line.
//
// What the parsed expressions may cost when they are evaluated is the business
// of those who evaluate them.
package hclfile

import (
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"

	"github.com/relock-dev/relock/internal/provider"
)

// The limits on a file.
const (
	// maxPieces bounds the words, lines, operators and other signs of a file. A
	// file of a megabyte, as programs generate them, has some 200,000; lock files
	// have a few thousand.
	maxPieces = 300_000
	// maxDepth bounds how deep brackets, templates and operators nest. A hundred
	// thousand opening brackets fill the stack.
	maxDepth = 1000
	// maxDigits bounds the digits of a number in their sequence: reading one
	// takes time that grows with the square of its length.
	maxDigits = 16 << 10
	// maxProblems bounds the errors in one file that are passed on.
	maxProblems = 100
)

// Parse reads a file by the syntax that its name ends in: JSON for .json. Either
// there is a file or there are diagnostics, errors with CodeSyntax at their lines:
// what could be read of such a file would only lead to further messages about the
// same mistake.
func Parse(src []byte, name string) (*hcl.File, []provider.Diagnostic) {
	isJSON := isJSON(name)
	if diag := excess(src, name, isJSON); diag != nil {
		return nil, diagnostics(name, hcl.Diagnostics{diag})
	}
	var file *hcl.File
	var diags hcl.Diagnostics
	if isJSON {
		file, diags = json.Parse(src, name)
	} else {
		file, diags = hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	}
	if d, unmerged := provider.Unmerged(src, name); unmerged && diags.HasErrors() {
		return nil, []provider.Diagnostic{d}
	}
	if diags.HasErrors() {
		return nil, diagnostics(name, few(diags))
	}
	return file, nil
}

// ParseTemplate reads a file that is a template as a whole, within the limits of
// Parse.
func ParseTemplate(src []byte, name string) (hclsyntax.Expression, []provider.Diagnostic) {
	tokens, diags := hclsyntax.LexTemplate(src, name, hcl.InitialPos)
	switch line := deepNative(tokens); {
	case diags.HasErrors():
		return nil, diagnostics(name, few(diags))
	case len(tokens) > maxPieces:
		return nil, diagnostics(name, hcl.Diagnostics{tooMuch(name, 1, "the file has more than %d words, lines and signs", maxPieces)})
	case line > 0:
		return nil, diagnostics(name, hcl.Diagnostics{tooDeep(name, line)})
	}
	expr, diags := hclsyntax.ParseTemplate(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diagnostics(name, few(diags))
	}
	return expr, nil
}

// diagnostics are the errors among HCL's. Its warnings are about style.
func diagnostics(name string, diags hcl.Diagnostics) []provider.Diagnostic {
	var errors []provider.Diagnostic
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		diag := provider.Diagnostic{Code: provider.CodeSyntax, Message: Sentence(d), File: name}
		if d.Subject != nil {
			diag.Line = d.Subject.Start.Line
		}
		errors = append(errors, diag)
	}
	return errors
}

func isJSON(name string) bool { return path.Ext(name) == ".json" }

// Pieces returns how many pieces a file has, an upper bound of what Parse takes
// for it: some hundred bytes and some microseconds each.
func Pieces(src []byte, name string) int {
	n, _ := pieces(src, isJSON(name), math.MaxInt)
	return n
}

func pieces(src []byte, isJSON bool, most int) (n, line int) {
	if isJSON {
		return piecesJSON(src, most)
	}
	return piecesNative(src, most)
}

// few drops diagnostics beyond the first hundred, and says so.
func few(diags hcl.Diagnostics) hcl.Diagnostics {
	if len(diags) <= maxProblems {
		return diags
	}
	next := diags[maxProblems]
	rest := &hcl.Diagnostic{
		Severity: hcl.DiagError, Subject: next.Subject,
		Summary: fmt.Sprintf("%d further errors from here on are not listed", len(diags)-maxProblems),
	}
	return append(diags[:maxProblems:maxProblems], rest)
}

// Sentence joins the two parts of a diagnostic. The second part repeats names,
// which are identifiers, except in JSON: there they can be any text.
func Sentence(d *hcl.Diagnostic) string {
	summary := strings.ToLower(d.Summary[:1]) + d.Summary[1:]
	if d.Detail == "" || d.Subject == nil || strings.HasSuffix(d.Subject.Filename, ".json") {
		return summary
	}
	detail := strings.Join(strings.Fields(d.Detail), " ")
	return summary + ": " + strings.TrimSuffix(detail, ".")
}

// excess returns an error at the first line with which a file exceeds a limit.
func excess(src []byte, name string, isJSON bool) *hcl.Diagnostic {
	if len(src) > maxPieces { // no piece is empty
		if _, line := pieces(src, isJSON, maxPieces); line > 0 {
			return tooMuch(name, line, "the file has more than %d words, lines and signs", maxPieces)
		}
	}
	if line := longNumber(src); line > 0 {
		return tooMuch(name, line, "the file has a number of more than %d digits", maxDigits)
	}
	if isJSON {
		if line := deepJSON(src); line > 0 {
			return tooDeep(name, line)
		}
		return nil
	}
	if !dense(src) && !cut(src) {
		return nil // most files need not be read into tokens twice
	}
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos) // parsing reports the errors
	if line := deepNative(tokens); line > 0 {
		return tooDeep(name, line)
	}
	if line := longLiteral(tokens); line > 0 {
		return tooMuch(name, line, "the file has a string or heredoc in too many parts: the parser would copy more than %d MiB", maxCopied>>20)
	}
	return nil
}

func tooDeep(name string, line int) *hcl.Diagnostic {
	return tooMuch(name, line, "the file is nested too deeply: more than %d levels", maxDepth)
}

func tooMuch(name string, line int, format string, args ...any) *hcl.Diagnostic {
	at := hcl.Pos{Line: line, Column: 1}
	return &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: fmt.Sprintf(format, args...),
		Subject: &hcl.Range{Filename: name, Start: at, End: at},
	}
}
