package tfconfig

import (
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/relock-dev/relock/internal/staticeval"
)

// Variable is the part of a variable block that early evaluation reads. Its arguments are
// read at the first reference to it.
type Variable struct {
	Name string
	args map[string]*hcl.Attribute
}

var variableSchema = &hcl.BodySchema{Attributes: attributes("type", "default", "sensitive", "ephemeral", "nullable", "const")}

func decodeVariable(d *decoder, f *file, block *hcl.Block) {
	if evaluatesEarly(d.tool) {
		content, _, _ := block.Body.PartialContent(variableSchema)
		f.variables = append(f.variables, Variable{Name: block.Labels[0], args: content.Attributes})
	}
}

func decodeLocals(d *decoder, f *file, block *hcl.Block) {
	if evaluatesEarly(d.tool) {
		attrs, _ := block.Body.JustAttributes()
		if f.locals == nil {
			f.locals = map[string]*hcl.Attribute{}
		}
		maps.Copy(f.locals, attrs)
	}
}

// override returns the variable with the arguments that an override file sets.
func (v Variable) override(o Variable) Variable {
	if v.Name == "" {
		return o
	}
	args := maps.Clone(v.args)
	maps.Copy(args, o.args)
	v.args = args
	return v
}

// Claim is an argument that must be true or false. set is false if the variable does not
// have it, or has another value.
func (v Variable) Claim(name string) (claim, set bool) {
	attr, ok := v.args[name]
	if !ok {
		return false, false
	}
	value, err := convert.Convert(staticeval.Literal(attr.Expr), cty.Bool)
	if err != nil || value.IsNull() || !value.IsKnown() {
		return false, false
	}
	return value.True(), true
}

// Is reports whether an argument is true.
func (v Variable) Is(name string) bool {
	claim, _ := v.Claim(name)
	return claim
}

// Fallback is the default. ok is false if there is none.
func (v Variable) Fallback() (value cty.Value, ok bool) {
	attr, ok := v.args["default"]
	if !ok {
		return cty.DynamicVal, false
	}
	return staticeval.Literal(attr.Expr), true
}

// Constraint is the type that values are converted to. An unknown type constraint may be
// valid in a newer release: then any value will do.
func (v Variable) Constraint() (cty.Type, *typeexpr.Defaults) {
	attr, ok := v.args["type"]
	if !ok {
		return cty.DynamicPseudoType, nil
	}
	expr, _ := inJSON(attr.Expr, hclsyntax.ParseExpression)
	if excessive(expr) {
		return cty.DynamicPseudoType, nil
	}
	typ, defaults, diags := typeexpr.TypeConstraintWithDefaults(expr)
	if diags.HasErrors() {
		return cty.DynamicPseudoType, nil
	}
	return typ, defaults
}

// Parse reads a value from the command line or the environment. For a variable of a
// primitive type or without a type the text is the value. For any other type it is an
// expression; ok is false if the text is none.
func (v Variable) Parse(text string) (cty.Value, bool) {
	typ, _ := v.Constraint()
	if _, typed := v.args["type"]; !typed || typ.IsPrimitiveType() {
		return cty.StringVal(text), true
	}
	if len(text) > staticeval.MaxConstant {
		return cty.DynamicVal, false
	}
	expr, diags := hclsyntax.ParseExpression([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.DynamicVal, false
	}
	value := staticeval.Literal(expr)
	return value, value.IsWhollyKnown()
}
