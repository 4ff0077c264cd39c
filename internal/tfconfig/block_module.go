package tfconfig

import (
	"maps"

	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/problem"
)

// ModuleCall is a module block, or the module block in a run of a test file.
type ModuleCall struct {
	Place           problem.Place
	Name            string
	source, version *callArgument
	passed          []passedProvider
	Args            map[string]*hcl.Attribute // for early evaluation
	Module          ModuleSource              // from source and version, after files are merged
	// Pin is the place of the argument that says which release is called: the version, or
	// else the source. Expression is what is written there, if that is no literal.
	Pin        problem.Place
	Expression string
	Stack      bool // a stack calls another stack
}

// callArgument is an argument of a call, perhaps from an override file.
type callArgument struct {
	Expr hcl.Expression
	file problem.Place
	// written is the expression of an argument that refers to values; else empty.
	written string
}

// decodeCallArgument is an argument of a call with its file; nil if it is missing.
func decodeCallArgument(d *decoder, attr *hcl.Attribute) *callArgument {
	if attr == nil {
		return nil
	}
	a := &callArgument{Expr: attr.Expr, file: d.file}
	if len(attr.Expr.Variables()) > 0 {
		a.written = d.scoped(attr.Expr).written
	}
	return a
}

// pin is the argument that says which release is called; nil if there is none.
func (c ModuleCall) pin() *callArgument {
	if c.version != nil {
		return c.version
	}
	return c.source
}

// place is where the argument's value starts.
func (a callArgument) place() problem.Place { return a.file.At(a.Expr.Range().Start.Line) }

// passedProvider is an entry of a module's providers map.
type passedProvider struct {
	Place         problem.Place
	child, parent providerRef
}

var callSchema = &hcl.BodySchema{Attributes: attributes("source", "version", "providers")}

func decodeCall(d *decoder, f *file, block *hcl.Block) {
	c := ModuleCall{Place: d.placeOf(block.DefRange), Name: block.Labels[0]}
	if !d.identifier(block, 0) {
		return
	}
	content, rest, diags := block.Body.PartialContent(callSchema)
	d.hcl(diags)
	attrs := content.Attributes
	c.source, c.version = decodeCallArgument(d, attrs["source"]), decodeCallArgument(d, attrs["version"])
	if evaluatesEarly(d.tool) {
		c.Args, _ = rest.JustAttributes()
	}
	if c.source == nil && !d.override {
		d.errorf(block.DefRange, "missing required argument: module %q has no source", c.Name)
	}
	var pairs []hcl.KeyValuePair
	if attr, ok := attrs["providers"]; ok {
		pairs, diags = hcl.ExprMap(attr.Expr)
		d.hcl(diags)
	}
	for _, pair := range pairs {
		child, childOK := decodeRef(d, pair.Key)
		parent, parentOK := decodeRef(d, pair.Value)
		if childOK && parentOK {
			c.passed = append(c.passed, passedProvider{Place: d.placeOf(pair.Key.Range()), child: child, parent: parent})
		}
	}
	f.calls = append(f.calls, c)
}

// override replaces the parts that an override file sets.
func (c *ModuleCall) override(o ModuleCall) {
	if o.source != nil {
		c.source = o.source
	}
	if o.version != nil {
		c.version = o.version
	}
	if len(o.passed) > 0 {
		c.passed = o.passed
	}
	if len(o.Args) > 0 {
		args := maps.Clone(c.Args)
		maps.Copy(args, o.Args)
		c.Args = args
	}
}
