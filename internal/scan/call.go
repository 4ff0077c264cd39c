package scan

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

// sourceKind says what a module source is.
type sourceKind int

const (
	badSource     sourceKind = iota // an error that has been reported
	localSource                     // a path relative to the calling module
	otherSource                     // in a registry, or in a package that is fetched
	earlySource                     // has a value in a scope only
	unknownSource                   // is not statically known
)

// moduleSource says where the module of a call is.
type moduleSource struct {
	kind sourceKind
	text string             // if it is known
	addr moduleaddr.Address // what the text says
	why  staticeval.Unknown // it is not read, if it is neither bad nor local
	// version is the version constraint of one that is not local, if versioned.
	version   string
	versioned bool
	place
}

// decodeSource reads what a call says about where its module is. Early
// evaluation admits references to what is known before a plan: then what is no
// constant is left to evaluateSource.
func decodeSource(d *decoder, c call, early bool) moduleSource {
	if c.source == nil {
		return moduleSource{}
	}
	version, ok := decodeArgument(d, c.version, early)
	if !ok || version.set && !d.versionSyntax(c.version.Expr, version.text) {
		return moduleSource{}
	}
	source, ok := decodeArgument(d, c.source, early)
	switch {
	case !ok:
		return moduleSource{}
	case !source.known || !version.known:
		return moduleSource{kind: earlySource, place: placeOf(c.source.Expr.Range())}
	}
	// Only early evaluation takes a null for no version at all.
	version.set = version.set || c.version != nil && !early
	return locateModule(d, c, source, version)
}

// evaluate is decodeSource where references have values.
func (c call) evaluate(tool provider.Tool, value evaluator) (moduleSource, []provider.Diagnostic) {
	d := &decoder{tool: tool, name: c.file}
	unknown := moduleSource{kind: unknownSource, place: placeOf(c.source.Expr.Range())}
	source, ok := evaluateArgument(d, c.source, value, "source", &unknown.why)
	if !ok {
		return moduleSource{}, d.diags
	}
	unknown.text = source.text
	var version argument
	if c.version != nil {
		version, ok = evaluateArgument(d, c.version, value, "version", &unknown.why)
		if !ok || version.set && !d.versionSyntax(c.version.Expr, version.text) {
			return moduleSource{}, d.diags
		}
	}
	if unknown.why.Reason != "" {
		return unknown, d.diags
	}
	return locateModule(d, c, source, version), d.diags
}

// evaluator gives the value of an expression, or says why it has none.
type evaluator func(hcl.Expression) (cty.Value, *staticeval.Unknown)

// evaluateArgument evaluates an argument of a call, which must be a string. If it is
// not known it says why; it returns false after reporting an error.
func evaluateArgument(d *decoder, attr *hcl.Attribute, evaluate evaluator, what string, unknown *staticeval.Unknown) (argument, bool) {
	expr, diags := template(attr.Expr)
	if d.hcl(provider.CodeInvalidConfig, diags) {
		return argument{}, false
	}
	value, why := evaluate(expr)
	if why == nil {
		var marks cty.ValueMarks
		value, marks = value.Unmark()
		text, err := convert.Convert(value, cty.String)
		switch {
		case len(marks) > 0:
			why = &staticeval.Unknown{Refused: true, Reason: "it comes from a value that is sensitive or ephemeral"}
		case err != nil:
			why = &staticeval.Unknown{Refused: true, Reason: "it must be a string"}
		case text.IsNull():
			return argument{known: true}, true
		default:
			return argument{text: text.AsString(), set: true, known: true}, true
		}
	}
	if !why.Refused {
		*unknown = staticeval.Unknown{Reason: "its " + what + " is not statically known: " + why.Reason, Hint: why.Hint}
		return argument{}, true
	}
	at := placeOf(attr.Expr.Range())
	d.diags = append(d.diags, provider.Diagnostic{
		Code: provider.CodeInvalidConfig, File: at.file, Line: at.line,
		Message: "invalid module " + what + ": " + why.Reason, Hint: why.Hint,
	})
	return argument{}, false
}

// decodeArgument evaluates an argument of a call, which may be missing. With early
// evaluation, what is no constant is not known yet. It returns false after
// reporting an error.
func decodeArgument(d *decoder, attr *hcl.Attribute, early bool) (argument, bool) {
	switch {
	case attr == nil:
		return argument{known: true}, true
	case !early:
		return d.text(attr.Expr)
	}
	expr, diags := template(attr.Expr)
	if d.hcl(provider.CodeInvalidConfig, diags) {
		return argument{}, false
	}
	if _, diags := constant(expr); diags.HasErrors() {
		return argument{}, knownEarly(d, expr)
	}
	return d.text(expr)
}

// template parses a JSON string as what it is under early evaluation. Any other
// expression is returned as it is.
func template(expr hcl.Expression) (hcl.Expression, hcl.Diagnostics) {
	if !json.IsJSONExpression(expr) || unbounded(expr) {
		return expr, nil
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || v.IsNull() {
		return expr, nil
	}
	rng := expr.Range()
	return hclsyntax.ParseTemplate([]byte(v.AsString()), rng.Filename, rng.Start)
}

// knownEarly reports whether an expression refers only to what is known before
// a plan, and an error if not.
func knownEarly(d *decoder, expr hcl.Expression) bool {
	if unbounded(expr) {
		return true
	}
	for _, traversal := range expr.Variables() {
		switch root := traversal.RootName(); root {
		case "var", "local", "path":
		case "terraform":
			if d.tool.Has(provider.EarlyEvaluation) {
				continue
			}
			fallthrough
		default:
			d.errorf(traversal.SourceRange(), "dynamic value in static context: %s is not known before a plan", root)
			return false
		}
	}
	return true
}

// locateModule says where a module is, now that the arguments of its call are known. An
// address with a version must be one of a module registry; one without is tried in this order: local,
// registry, anything that go-getter fetches
// [case 123] [terraform 1.11 internal/getmodules/moduleaddrs/source_parsing.go].
func locateModule(d *decoder, c call, source, version argument) moduleSource {
	at := placeOf(c.source.Expr.Range())
	if !source.set {
		d.add(at, "invalid module source address: it must not be null")
		return moduleSource{}
	}
	addr, _ := moduleaddr.Parse(source.text, d.tool.Name) // whoever fetches the package says what is wrong with its address
	m := moduleSource{text: source.text, addr: addr, version: version.text, versioned: version.set, place: at}
	switch {
	case version.set && addr.Kind != moduleaddr.Registry:
		d.add(at, "invalid registry module source address: a module with a version must come from a module registry")
		return m
	case addr.Kind == moduleaddr.Local:
		m.kind = localSource
		return m
	case addr.Kind == moduleaddr.Registry:
		m.kind, m.why.Reason = otherSource, "it comes from a module registry"
		return m
	case addr.Kind == moduleaddr.Unknown:
		d.diags = append(d.diags, provider.Diagnostic{
			Code: provider.CodeInvalidConfig, File: at.file, Line: at.line,
			Message: "invalid module source address: it is no local path, no address of a module registry and no URL",
			Hint:    "a path relative to the module must begin with ./ or ../",
		})
		return m
	}
	m.kind, m.why.Reason = otherSource, "it comes from outside of the repository"
	return m
}

// checkCall checks what can be checked only where the module is called: that it has
// no import blocks, and that no provider configuration is passed to it under a name
// that stands for another provider there. As the tools do, it looks up the caller's
// side by the name that the called module uses, if the caller requires a provider
// of that name [case 105] [terraform 1.11 internal/configs/provider_validation.go].
func (c *config) checkCall(caller *config, by call, found *problems) {
	if len(c.imports) > 0 {
		found.add(c.imports[0].place, "import blocks can only be in the root module")
	}
	for _, p := range by.passed {
		inChild, err := c.provider(p.child.name)
		if err != nil {
			continue
		}
		inParent, err := caller.provider(p.parent.name)
		if entry, ok := caller.required[p.child.String()]; ok {
			inParent, err = entry.addr, nil
		}
		if err == nil && inChild != inParent {
			found.add(p.place, "provider type mismatch: %s is %s here, but %s is %s in the called module", p.parent, inParent, p.child, inChild)
		}
	}
}
