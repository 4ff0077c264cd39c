package tfconfig

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

// SourceKind is the kind of a module source.
type SourceKind int

const (
	badSource     SourceKind = iota // an error has been reported
	LocalSource                     // a path relative to the calling module
	RemoteSource                    // from a registry, or from a fetched package
	EarlySource                     // it needs a scope
	UnknownSource                   // it is not statically known
)

// ModuleSource is the place of a called module.
type ModuleSource struct {
	Kind SourceKind
	Text string             // if known
	Addr moduleaddr.Address // the parsed text
	Why  staticeval.Unknown // why it is not read, unless it is bad or local
	// Version is the version constraint of a module that is not local, if Versioned.
	Version   string
	Versioned bool
	Place     problem.Place
}

// evaluatesEarly reports whether the tool evaluates the sources and versions of module
// calls before it installs the modules. It uses the values that are known before a plan
// [opentofu 1.12 internal/configs/static_evaluator.go] [terraform 1.15
// internal/terraform/graph_builder_init.go].
func evaluatesEarly(tool provider.Tool) bool {
	return tool.Has(provider.EarlyEvaluation) || tool.Has(provider.ConstEvaluation)
}

// decodeSource reads the place of the called module from the call's arguments. With early
// evaluation, they may refer to values that are known before a plan. ModuleCall.Evaluate
// then evaluates them.
func decodeSource(d *decoder, c ModuleCall, early bool) ModuleSource {
	if c.source == nil {
		return ModuleSource{}
	}
	version, ok := decodeArgument(d, c.version, early)
	if !ok || version.set && !d.versionSyntax(c.version.Expr, version.text) {
		return ModuleSource{}
	}
	source, ok := decodeArgument(d, c.source, early)
	switch {
	case !ok:
		return ModuleSource{}
	case !source.known || !version.known:
		return ModuleSource{Kind: EarlySource, Place: c.source.place()}
	}
	// Only with early evaluation does null mean "no version".
	version.set = version.set || c.version != nil && !early
	return locateModule(d, c, source, version)
}

// Evaluate gives the place of the called module after references have values.
func (c ModuleCall) Evaluate(tool provider.Tool, value Evaluator) (ModuleSource, []problem.Problem) {
	d := &decoder{tool: tool, file: c.source.file}
	unknown := ModuleSource{Kind: UnknownSource, Place: c.source.place()}
	source, ok := evaluateText(d, c.source.Expr, value, "module", "source", &unknown.Why)
	if !ok {
		return ModuleSource{}, d.Diags
	}
	unknown.Text = source.text
	var version argument
	if c.version != nil {
		d.file = c.version.file
		version, ok = evaluateText(d, c.version.Expr, value, "module", "version", &unknown.Why)
		if !ok || version.set && !d.versionSyntax(c.version.Expr, version.text) {
			return ModuleSource{}, d.Diags
		}
	}
	if unknown.Why.Reason != "" {
		return unknown, d.Diags
	}
	return locateModule(d, c, source, version), d.Diags
}

// Evaluator returns the value of an expression, or says why it has none.
type Evaluator func(hcl.Expression) (cty.Value, *staticeval.Unknown)

// evaluateText evaluates an expression that must be a string, such as the version of a
// module. If the value is not known, unknown says why. It returns false after reporting an
// error.
func evaluateText(d *decoder, expr hcl.Expression, evaluate Evaluator, of, what string, unknown *staticeval.Unknown) (argument, bool) {
	expr, diags := inJSON(expr, hclsyntax.ParseTemplate)
	if d.hcl(diags) {
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
	d.AddHinting(d.placeOf(expr.Range()), why.Hint, "invalid %s %s: %s", of, what, why.Reason)
	return argument{}, false
}

// decodeArgument evaluates an argument of a call, which may be missing. With early
// evaluation, an expression that is no constant is not known yet. It returns false after
// reporting an error.
func decodeArgument(d *decoder, arg *callArgument, early bool) (argument, bool) {
	if arg == nil {
		return argument{known: true}, true
	}
	d.file = arg.file
	if !early {
		return d.text(arg.Expr)
	}
	expr, diags := inJSON(arg.Expr, hclsyntax.ParseTemplate)
	if d.hcl(diags) {
		return argument{}, false
	}
	if _, diags := constant(expr); diags.HasErrors() {
		return argument{}, knownEarly(d, expr)
	}
	return d.text(expr)
}

// knownEarly reports whether an expression refers only to values that are known before a
// plan. If not, it reports an error.
func knownEarly(d *decoder, expr hcl.Expression) bool {
	if excessive(expr) {
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

// locateModule gives the place of a module by the known arguments of its call. An address
// with a version must be a registry address. Without a version these are tried in order:
// local, registry, and any address that go-getter fetches [case 123] [terraform 1.11
// internal/getmodules/moduleaddrs/source_parsing.go].
func locateModule(d *decoder, c ModuleCall, source, version argument) ModuleSource {
	at := c.source.place()
	if !source.set {
		d.Add(at, "invalid module source address: it must not be null")
		return ModuleSource{}
	}
	addr, _ := moduleaddr.Parse(source.text, d.tool.Name) // fetching the package reports an invalid address
	m := ModuleSource{Text: source.text, Addr: addr, Version: version.text, Versioned: version.set, Place: at}
	switch {
	case version.set && addr.Kind != moduleaddr.Registry:
		d.Add(at, "invalid registry module source address: a module with a version must come from a module registry")
	case addr.Kind == moduleaddr.Local:
		m.Kind = LocalSource
	case addr.Kind == moduleaddr.Registry:
		m.Kind, m.Why.Reason = RemoteSource, "it comes from a module registry"
	case addr.Kind == moduleaddr.Unknown:
		d.AddHinting(at, "begin the path with ./ or ../ if it is relative to the module",
			"invalid module source address: it is no local path, no address of a module registry and no URL")
	default:
		m.Kind, m.Why.Reason = RemoteSource, "it comes from outside of the repository"
	}
	return m
}

// CheckCall checks the rules for a called module: it has no import blocks that the release
// admits only in the root module [case import-child].
func (c *Configuration) CheckCall(found *Mistakes) {
	if len(c.imports) > 0 && !c.Tool.Has(provider.ImportInModules) {
		found.Add(c.imports[0].Place, "import blocks can only be in the root module")
		found.Diags[len(found.Diags)-1].Code = UnknownPlace
	}
}

// CheckPassed checks the providers that a call passes. No provider configuration may be
// passed under a name that means another provider in the called module.
//
// As the tools do, it looks up the caller's side by the name that the called module uses,
// if the caller requires a provider of that name [case 105]. If the called module does not
// list a name, the name means the provider that any other module called here lists it as
// [terraform 1.11 internal/configs/config.go, internal/configs/provider_validation.go]. The
// tools still refuse some of these names, as undefined.
func (c *Configuration) CheckPassed(by ModuleCall, called *Configuration, siblings []*Configuration, found *Mistakes) {
	for _, p := range by.passed {
		inChild, err := called.provider(p.child.name)
		if err != nil {
			continue
		}
		inParent, err := c.provider(p.parent.name)
		if entry, ok := c.required[p.child.String()]; ok {
			inParent, err = entry.addr, nil
		}
		_, listed := called.required[p.child.name]
		meant := !listed && slices.ContainsFunc(siblings, func(s *Configuration) bool { return s.required[p.child.name].addr == inParent })
		if err == nil && inChild != inParent && !meant {
			found.Add(p.Place, "provider type mismatch: %s is %s here, but %s is %s in the called module", p.parent, inParent, p.child, inChild)
		}
	}
}
