// Package hclfile parses files in HCL's native syntax and its JSON syntax that
// may come from anyone.
//
// The parsers of HCL recurse, and take some hundred bytes of memory for each
// token and each error: a file of 16 MiB can fill a stack or take gigabytes. So
// relock checks the bytes first. The limits are on pieces (an upper bound of the
// tokens), on nesting and on the length of numbers. They are far beyond the files
// of people and programs. An excess is an error with its line.
//
// The limits on evaluation are in the packages that evaluate the parsed
// expressions.
package hclfile

import (
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
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

// Parse reads a file by the syntax of its name: JSON for .json. It returns a
// file, or errors with CodeSyntax at their lines. It drops a file with errors,
// since its parts would only cause further messages about the same mistake.
func Parse(src []byte, file problem.Place) (*hcl.File, []problem.Problem) {
	isJSON := isJSON(file.Path)
	if diags := excess(src, file, isJSON); diags != nil {
		return nil, diags
	}
	var parsed *hcl.File
	var diags hcl.Diagnostics
	if isJSON {
		parsed, diags = json.Parse(src, file.Path)
	} else {
		parsed, diags = hclsyntax.ParseConfig(src, file.Path, hcl.InitialPos)
	}
	if d, unmerged := problem.Unmerged(src, file); unmerged && diags.HasErrors() {
		return nil, []problem.Problem{d}
	}
	if diags.HasErrors() {
		return nil, ErrorsIn(few(diags), problem.CodeSyntax, file)
	}
	return parsed, nil
}

// ParseTemplate reads a file that is a template as a whole, within the limits of
// Parse.
func ParseTemplate(src []byte, file problem.Place) (hclsyntax.Expression, []problem.Problem) {
	tokens, diags := hclsyntax.LexTemplate(src, file.Path, hcl.InitialPos)
	switch line := deepNative(tokens); {
	case diags.HasErrors():
		return nil, ErrorsIn(few(diags), problem.CodeSyntax, file)
	case len(tokens) > maxPieces:
		return nil, tooMany(file.At(1))
	case line > 0:
		return nil, tooDeep(file.At(line))
	}
	expr, diags := hclsyntax.ParseTemplate(src, file.Path, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, ErrorsIn(few(diags), problem.CodeSyntax, file)
	}
	return expr, nil
}

// ErrorsIn are the errors among HCL's about a file. Its warnings are about style.
func ErrorsIn(diags hcl.Diagnostics, code problem.Code, file problem.Place) []problem.Problem {
	var errors []problem.Problem
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		diag := problem.Problem{Code: code, Message: Sentence(d), Place: file}
		if d.Subject != nil {
			diag.Place = file.At(d.Subject.Start.Line)
		}
		errors = append(errors, diag)
	}
	return errors
}

func isJSON(name string) bool { return path.Ext(name) == ".json" }

// Pieces returns the number of pieces of a file. Parse takes at most some hundred
// bytes and some microseconds for each.
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
		Summary: collect.Count(len(diags)-maxProblems, "further error from here on is", "further errors from here on are") + " not listed",
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
func excess(src []byte, file problem.Place, isJSON bool) []problem.Problem {
	if len(src) > maxPieces { // no piece is empty
		if _, line := pieces(src, isJSON, maxPieces); line > 0 {
			return tooMany(file.At(line))
		}
	}
	if line := longNumber(src); line > 0 {
		return tooMuch(file.At(line), "the file has a number of more than %d digits", maxDigits)
	}
	if isJSON {
		return tooDeep(file.At(deepJSON(src)))
	}
	if !dense(src) && !cut(src) {
		return nil // most files need not be read into tokens twice
	}
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos) // parsing reports the errors
	if line := deepNative(tokens); line > 0 {
		return tooDeep(file.At(line))
	}
	return tooMuch(file.At(longLiteral(tokens)),
		"the file has a string or heredoc in too many parts: the parser would copy more than %d MiB", maxCopied>>20)
}

func tooMany(at problem.Place) []problem.Problem {
	return tooMuch(at, "the file has more than %d words, lines and signs", maxPieces)
}

func tooDeep(at problem.Place) []problem.Problem {
	return tooMuch(at, "the file is nested too deeply: more than %d levels", maxDepth)
}

// tooMuch is an error at a line; none if that is 0.
func tooMuch(at problem.Place, format string, limit int) []problem.Problem {
	if at.Line == 0 {
		return nil
	}
	return []problem.Problem{{Code: problem.CodeSyntax, Message: fmt.Sprintf(format, limit), Place: at}}
}
