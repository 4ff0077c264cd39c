package staticeval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

// maxTemplate is the highest number of bytes of a JSON string that is parsed as a
// template.
const maxTemplate = 8 << 10

// length is the number of bytes of an expression in its file.
func length(expr hcl.Expression) int {
	rng := expr.Range()
	return rng.End.Byte - rng.Start.Byte
}

// translate returns the native form of a JSON expression, whose strings are
// templates. So other code handles one kind of expression.
func translate(expr hcl.Expression) (hclsyntax.Expression, *Unknown) {
	if native, ok := expr.(hclsyntax.Expression); ok {
		return native, nil
	}
	if !json.IsJSONExpression(expr) {
		return nil, refusal(nil)
	}
	rng := expr.Range()
	if items, diags := hcl.ExprList(expr); !diags.HasErrors() {
		exprs, unknown := translateAll(items)
		return &hclsyntax.TupleConsExpr{Exprs: exprs, SrcRange: rng, OpenRange: rng}, unknown
	}
	if pairs, diags := hcl.ExprMap(expr); !diags.HasErrors() {
		object := &hclsyntax.ObjectConsExpr{SrcRange: rng, OpenRange: rng}
		for _, pair := range pairs {
			parts, unknown := translateAll([]hcl.Expression{pair.Key, pair.Value})
			if unknown != nil {
				return nil, unknown
			}
			object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: parts[0], ValueExpr: parts[1]})
		}
		return object, nil
	}
	value, diags := expr.Value(nil)
	switch {
	case diags.HasErrors():
		return nil, refusal(diags)
	case value.Type() != cty.String || value.IsNull():
		return &hclsyntax.LiteralValueExpr{Val: value, SrcRange: rng}, nil
	case len(value.AsString()) > maxTemplate:
		return nil, Costly
	}
	template, diags := hclsyntax.ParseTemplate([]byte(value.AsString()), rng.Filename, rng.Start)
	if diags.HasErrors() {
		return nil, refusal(diags)
	}
	return template, nil
}

func translateAll(exprs []hcl.Expression) ([]hclsyntax.Expression, *Unknown) {
	native := make([]hclsyntax.Expression, len(exprs))
	for i, expr := range exprs {
		var unknown *Unknown
		native[i], unknown = translate(expr)
		if unknown != nil {
			return nil, unknown
		}
	}
	return native, nil
}
