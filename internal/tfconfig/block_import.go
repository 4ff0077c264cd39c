package tfconfig

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/relock-dev/relock/internal/problem"
)

// importBlock imports an existing object as a resource.
type importBlock struct {
	Place    problem.Place
	to       resourceKey
	inModule bool        // the resource belongs to a module below the one with the block
	provider providerRef // of the meta-argument; zero if there is none
}

var importSchema = &hcl.BodySchema{Attributes: append(attributes("provider"), hcl.AttributeSchema{Name: "to", Required: true})}

func decodeImport(d *decoder, f *file, block *hcl.Block) {
	i := importBlock{Place: d.placeOf(block.DefRange)}
	attrs := d.content(block.Body, importSchema).Attributes
	to, ok := attrs["to"]
	if !ok || !decodeTarget(d, &i, to.Expr) {
		return
	}
	if attr, ok := attrs["provider"]; ok && i.inModule {
		d.errorf(attr.NameRange, "invalid import block: provider can be set only for resources of the module itself")
		return
	}
	i.provider, ok = decodeMetaArgument(d, attrs)
	if ok {
		f.imports = append(f.imports, i)
	}
}

// decodeTarget reads the to argument of an import block: a resource, perhaps of a module.
// Instance keys do not matter here.
func decodeTarget(d *decoder, i *importBlock, expr hcl.Expression) bool {
	native, _ := inJSON(expr, hclsyntax.ParseExpression)
	steps, ok := attrSteps(native)
	for len(steps) >= 2 && steps[0] == "module" {
		i.inModule = true
		steps = steps[2:]
	}
	if !ok || excessive(native) || len(steps) != 2 || steps[0] == "data" || steps[0] == "ephemeral" {
		d.errorf(expr.Range(), "invalid import address: it must be a resource, like aws_instance.web or module.net.aws_vpc.main")
		return false
	}
	i.to = resourceKey{kind: "resource", typ: steps[0], name: steps[1]}
	return true
}

// attrSteps returns the names in a reference, without keys.
func attrSteps(expr hcl.Expression) ([]string, bool) {
	switch e := expr.(type) {
	case *hclsyntax.IndexExpr:
		return attrSteps(e.Collection)
	case *hclsyntax.RelativeTraversalExpr:
		steps, ok := attrSteps(e.Source)
		return append(steps, names(e.Traversal)...), ok
	case *hclsyntax.ScopeTraversalExpr:
		return names(e.Traversal), true
	}
	return nil, false
}

func names(traversal hcl.Traversal) []string {
	var names []string
	for _, step := range traversal {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, s.Name)
		case hcl.TraverseAttr:
			names = append(names, s.Name)
		}
	}
	return names
}
