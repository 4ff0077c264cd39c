package scan

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/hclfile"
	"github.com/relock-dev/relock/internal/provider"
)

// place is where something stands: a file of the scanned file tree and a line.
type place struct {
	file string
	line int
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

func (p place) compare(q place) int {
	return cmp.Or(strings.Compare(p.file, q.file), cmp.Compare(p.line, q.line))
}

// placeOf is the place where a range begins.
func placeOf(rng hcl.Range) place { return place{file: rng.Filename, line: rng.Start.Line} }

// problems collects diagnostics. Their messages repeat nothing of a file but
// identifiers and what has a canonical form, since they are shown where nobody
// should be able to place a text.
type problems struct{ diags []provider.Diagnostic }

// maxProblems bounds the errors about one file, or about what the files of one
// module say together: a file can hold a mistake in each of its lines.
const maxProblems = 100

// report adds an error, or says once that there are more.
func (p *problems) report(d provider.Diagnostic) {
	switch n := len(p.diags); {
	case n == maxProblems:
		d.Code, d.Message = provider.CodeInvalidConfig, "further errors from here on are not listed"
	case n > maxProblems:
		return
	}
	p.diags = append(p.diags, d)
}

// Messages that are used in many places.
const (
	badName        = "invalid provider name: it must hold only lower-case letters, digits and single dashes between them"
	badAddr        = "invalid provider source address: it must be like aws, hashicorp/aws or example.com/acme/widget"
	badType        = "invalid provider source address: its last part must not begin with terraform-, which only names of repositories do; leave that prefix out, as in hashicorp/aws"
	badVersion     = "invalid version constraint: it must be like \">= 1.2.3, < 2.0.0\""
	badVersionTerm = "invalid version constraint: each term must be an operator, at most one space, and a version like 1, 1.2 or 1.2.3-beta"
)

// add reports an error in the configuration.
func (p *problems) add(at place, format string, args ...any) {
	p.report(provider.Diagnostic{
		Code: provider.CodeInvalidConfig, Message: fmt.Sprintf(format, args...), File: at.file, Line: at.line,
	})
}

// unreadable reports a file, or a directory, that could not be read.
func (p *problems) unreadable(what, name string, err error) {
	p.report(provider.Diagnostic{
		Code: provider.CodeUnreadable, Message: fmt.Sprintf("the %s could not be read: %v", what, reason(err)), File: name,
	})
}

// hcl reports the errors among HCL's diagnostics, and whether there are any.
// HCL's warnings are about style.
func (p *problems) hcl(code provider.Code, diags hcl.Diagnostics) (failed bool) {
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		failed = true
		diag := provider.Diagnostic{Code: code, Message: hclfile.Sentence(d)}
		if d.Subject != nil {
			diag.File, diag.Line = d.Subject.Filename, d.Subject.Start.Line
		}
		p.report(diag)
	}
	return failed
}

// decoder reads one configuration file by the rules of a tool.
type decoder struct {
	problems
	tool     provider.Tool
	name     string // of the file, in the scanned file tree
	override bool   // it is an override file
}

// body parses the file; one that is not valid HCL has none.
func (d *decoder) body(src []byte) (hcl.Body, bool) {
	f, errors := hclfile.Parse(src, d.name)
	if f != nil {
		return f.Body, true
	}
	before := len(d.diags)
	for _, e := range errors {
		d.report(e)
	}
	if bytes.Contains(src, []byte("\n<<<<<<< ")) {
		d.diags[before].Hint = "resolve the merge conflict that is marked in the file"
	}
	return nil, false
}

// content reads the part of a body that the schema names and leaves the rest.
func (d *decoder) content(body hcl.Body, schema *hcl.BodySchema) *hcl.BodyContent {
	content, _, diags := body.PartialContent(schema)
	d.hcl(provider.CodeInvalidConfig, diags)
	return content
}

// errorf reports an error at the beginning of a range.
func (d *decoder) errorf(rng hcl.Range, format string, args ...any) {
	d.add(placeOf(rng), format, args...)
}

// identifier reports whether a block's label is one, and an error if not.
func (d *decoder) identifier(block *hcl.Block, label int) bool {
	if hclsyntax.ValidIdentifier(block.Labels[label]) {
		return true
	}
	d.errorf(block.LabelRanges[label], "invalid name: it must begin with a letter or underscore and hold only letters, digits, underscores and dashes")
	return false
}

// argument is the value of an argument that must be a string.
type argument struct {
	text  string
	set   bool // it is there, and not null
	known bool // without variables and functions
}

// text evaluates an expression to a string, converting as the tools do. It
// returns false after reporting an error.
func (d *decoder) text(expr hcl.Expression) (argument, bool) {
	v, diags := constant(expr)
	if d.hcl(provider.CodeInvalidConfig, diags) {
		return argument{}, false
	}
	v, err := convert.Convert(v, cty.String)
	switch {
	case err != nil || !v.IsKnown():
		d.errorf(expr.Range(), "unsuitable value: it must be a string")
		return argument{}, false
	case v.IsNull():
		return argument{known: true}, true
	}
	return argument{text: v.AsString(), set: true, known: true}, true
}

// versionText is a version constraint string as written. The tools parse it
// twice: with go-version when they read the file, and with their own, narrower
// grammar when they merge the module tree. An override file can repair what only
// the second parser refuses.
type versionText struct {
	text string
	place
}

// constraint reads a version constraint string; nil means that there is none.
func (d *decoder) constraint(expr hcl.Expression) *versionText {
	v, ok := d.text(expr)
	if !ok || !v.set || !d.versionSyntax(expr, v.text) {
		return nil
	}
	return &versionText{text: v.text, place: placeOf(expr.Range())}
}

// versionSyntax reports whether go-version reads a constraint string, and an
// error if not.
func (d *decoder) versionSyntax(expr hcl.Expression, text string) bool {
	_, err := goversion.NewConstraint(text)
	if err != nil {
		d.errorf(expr.Range(), badVersion)
	}
	return err == nil
}
