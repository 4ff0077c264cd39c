package tfconfig

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/provider"
)

// providerRef names a provider configuration within a module: NAME or NAME.ALIAS. The zero
// value is no reference.
type providerRef struct{ name, alias string }

func (r providerRef) String() string {
	if r.alias == "" {
		return r.name
	}
	return r.name + "." + r.alias
}

// refOf reads a reference of one or two parts.
func refOf(traversal hcl.Traversal) (providerRef, bool) {
	if len(traversal) == 0 || len(traversal) > 2 || traversal.IsRelative() {
		return providerRef{}, false
	}
	ref := providerRef{name: traversal.RootName()}
	if len(traversal) == 1 {
		return ref, true
	}
	alias, ok := traversal[1].(hcl.TraverseAttr)
	ref.alias = alias.Name
	return ref, ok
}

// decodeRef reads the reference in a provider meta-argument or on one side of a module's
// providers map. It is NAME or NAME.ALIAS, also in quotes (in JSON always). Some releases
// allow an instance key after the alias.
func decodeRef(d *decoder, expr hcl.Expression) (providerRef, bool) {
	traversal, ok := refTraversal(d, expr)
	if n := len(traversal); n == 3 && d.tool.Has(provider.ProviderInstances) {
		if _, isKey := traversal[n-1].(hcl.TraverseIndex); isKey {
			traversal = traversal[:n-1]
		}
	}
	ref, isRef := refOf(traversal)
	switch {
	case !ok || !isRef:
		d.errorf(expr.Range(), "invalid provider configuration reference: it must be a provider's local name, or a local name, a dot and an alias")
		return providerRef{}, false
	case !provider.NormalisedName(ref.name):
		d.errorf(expr.Range(), badName)
		return providerRef{}, false
	}
	return ref, true
}

// decodeMetaArgument reads the meta-argument provider, if there is one.
func decodeMetaArgument(d *decoder, attrs hcl.Attributes) (providerRef, bool) {
	if attr, ok := attrs["provider"]; ok {
		return decodeRef(d, attr.Expr)
	}
	return providerRef{}, true
}

func refTraversal(d *decoder, expr hcl.Expression) (hcl.Traversal, bool) {
	if key, ok := expr.(*hclsyntax.ObjectConsKeyExpr); ok {
		expr = key.Wrapped
	}
	if excessive(expr) {
		return nil, false
	}
	if d.tool.Has(provider.ProviderInstances) {
		expr, _ = inJSON(expr, hclsyntax.ParseExpression)
		if index, ok := expr.(*hclsyntax.IndexExpr); ok {
			expr = index.Collection
		}
	}
	if quoted, ok := expr.(*hclsyntax.TemplateExpr); ok && quoted.IsStringLiteral() {
		v, _ := quoted.Value(nil)
		traversal, diags := hclsyntax.ParseTraversalAbs([]byte(v.AsString()), d.file.Path, expr.Range().Start)
		return traversal, !diags.HasErrors()
	}
	traversal, diags := hcl.AbsTraversalForExpr(expr)
	return traversal, !diags.HasErrors()
}

// inJSON parses the text of a JSON string: JSON writes references, types and, with early
// evaluation, templates as strings. Any other expression is returned unchanged.
func inJSON(
	expr hcl.Expression, parse func([]byte, string, hcl.Pos) (hclsyntax.Expression, hcl.Diagnostics),
) (hcl.Expression, hcl.Diagnostics) {
	if !json.IsJSONExpression(expr) || excessive(expr) {
		return expr, nil
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || v.IsNull() {
		return expr, nil
	}
	rng := expr.Range()
	native, diags := parse([]byte(v.AsString()), rng.Filename, rng.Start)
	if diags.HasErrors() {
		return expr, diags
	}
	return native, nil
}
