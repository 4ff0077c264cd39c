package tfconfig

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

// OpenEntry is an entry of required_providers whose provider or versions are not known. The
// file is not wrong: there may be a value where the tool runs.
type OpenEntry struct {
	Place problem.Place
	Name  string // the local name
	// Addr is the provider, if it is known. If not, the source address begins and ends with
	// these texts, with any text between them.
	Addr         provider.Addr
	Begins, Ends string
	Tool         provider.ToolName
	// Expression is the written expression without a value, and Why says why it has none.
	Expression string
	Why        staticeval.Unknown
}

// May reports whether the entry may require a provider. A source can name the provider in
// three ways.
func (e OpenEntry) May(addr provider.Addr) bool {
	if e.Addr != (provider.Addr{}) {
		return e.Addr == addr
	}
	written := []string{addr.String()}
	if addr.Host == e.Tool.DefaultHost() {
		written = append(written, addr.Namespace+"/"+addr.Type)
		if addr.Namespace == "hashicorp" {
			written = append(written, addr.Type)
		}
	}
	return slices.ContainsFunc(written, func(s string) bool {
		return len(s) >= len(e.Begins)+len(e.Ends) && strings.HasPrefix(s, e.Begins) && strings.HasSuffix(s, e.Ends)
	})
}

// doubt notes a part about a provider that known releases refuse, by the provider's local
// name.
func (d *decoder) doubt(rng hcl.Range, name string, expr hcl.Expression, message string) {
	place := d.placeOf(rng)
	d.doubts = append(d.doubts, Doubt{
		OpenEntry: OpenEntry{
			Place: place, Name: name, Tool: d.tool.Name, Expression: d.scoped(expr).written,
			Why: staticeval.Unknown{Reason: "the releases that relock knows refuse it: " + message, Hint: "update relock, if there is a newer release of it"},
		},
		Problem: problem.Problem{Code: problem.CodeInvalidConfig, Message: message, Place: place},
	})
}

// maxWritten bounds the bytes of a shown expression.
const maxWritten = 200

// scoped is an expression with its text, in one line.
func (d *decoder) scoped(expr hcl.Expression) scoped {
	text := strings.Join(strings.Fields(string(expr.Range().SliceBytes(d.src))), " ")
	if len(text) > maxWritten {
		text = strings.ToValidUTF8(text[:maxWritten], "") + "…"
	}
	return scoped{expr, text}
}

// decodeConstant gives an entry the values that need no scope. Other expressions may refer
// only to variables and locals [terraform 1.17
// internal/terraform/node_resolve_provider_requirement.go].
func decodeConstant(d *decoder, entry *requiredProvider) {
	for _, late := range []*scoped{&entry.source, &entry.constraint} {
		if late.expr == nil {
			continue
		}
		native, diags := inJSON(late.expr, hclsyntax.ParseTemplate)
		if d.hcl(diags) {
			return
		}
		late.expr = native
		if _, diags := constant(native); diags.HasErrors() {
			knownEntry(d, native)
			continue
		}
		text, ok := d.text(native)
		if ok && late == &entry.source {
			decodeAddr(d, entry, native, text)
		} else if ok {
			entry.version = d.versionText(native, text)
		}
		*late = scoped{}
	}
}

// knownEntry reports an error if an expression refers to anything else than variables and
// locals.
func knownEntry(d *decoder, expr hcl.Expression) {
	if excessive(expr) {
		return
	}
	for _, traversal := range expr.Variables() {
		if root := traversal.RootName(); root != "var" && root != "local" {
			d.errorf(traversal.SourceRange(), "dynamic value in static context: %s cannot be used in required_providers, only constant variables and locals can", root)
			return
		}
	}
}

// evaluateSource gives an entry its address, or notes in left what is known of it. It
// returns false after reporting an error.
func evaluateSource(d *decoder, entry *requiredProvider, value Evaluator, left *OpenEntry) bool {
	expr := entry.source.expr
	if expr == nil {
		left.Addr = entry.addr
		return true
	}
	text, ok := evaluateText(d, expr, value, "provider", "source", &left.Why)
	switch {
	case !ok:
		return false
	case left.Why.Reason != "":
		left.Expression = entry.source.written
		left.Begins, left.Ends = literalEnds(expr, value)
		return true
	}
	entry.expression = entry.source.written
	before := len(d.Diags)
	decodeAddr(d, entry, expr, text)
	left.Addr = entry.addr
	return len(d.Diags) == before
}

// evaluateVersion does the same for the version constraint.
func evaluateVersion(d *decoder, entry *requiredProvider, value Evaluator, left *OpenEntry) bool {
	expr := entry.constraint.expr
	if expr == nil {
		return true
	}
	var why staticeval.Unknown
	text, ok := evaluateText(d, expr, value, "provider", "version", &why)
	switch {
	case !ok:
		return false
	case why.Reason != "":
		if left.Why.Reason == "" {
			left.Why, left.Expression = why, entry.constraint.written
		}
		return true
	}
	before := len(d.Diags)
	entry.version = d.versionText(expr, text)
	if entry.version != nil {
		entry.version.Expression = entry.constraint.written
	}
	return len(d.Diags) == before
}

// literalEnds are the text before the first unknown part of a template, and the text after
// the last one.
func literalEnds(expr hcl.Expression, value Evaluator) (begins, ends string) {
	template, ok := expr.(*hclsyntax.TemplateExpr)
	if !ok {
		return "", ""
	}
	known := func(part hclsyntax.Expression) (string, bool) {
		v, why := value(part)
		if why != nil || v.IsMarked() || v.IsNull() || v.Type() != cty.String {
			return "", false
		}
		return strings.ToLower(v.AsString()), true
	}
	parts := template.Parts
	for len(parts) > 0 {
		text, ok := known(parts[0])
		if !ok {
			break
		}
		begins, parts = begins+text, parts[1:]
	}
	for len(parts) > 0 {
		text, ok := known(parts[len(parts)-1])
		if !ok {
			break
		}
		ends, parts = text+ends, parts[:len(parts)-1]
	}
	return begins, ends
}
