package scan

import (
	"path"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	tfaddr "github.com/hashicorp/terraform-registry-address"
	"github.com/zclconf/go-cty/cty"

	"github.com/relock-dev/relock/internal/provider"
)

// call is a module block, or the module block in a run of a test file.
type call struct {
	place
	name            string
	source, version *hcl.Attribute
	passed          []passedProvider
	module          moduleSource // of source and version, once files are merged
}

// passedProvider is an entry of a module's providers map.
type passedProvider struct {
	place
	child, parent providerRef
}

// sourceKind says what a module source is.
type sourceKind int

const (
	badSource     sourceKind = iota // an error that has been reported
	localSource                     // a path relative to the calling module
	otherSource                     // in a registry, or in a package that is fetched
	unknownSource                   // has variables or functions
)

// moduleSource says where the module of a call is.
type moduleSource struct {
	kind sourceKind
	text string // as written, if it is known
	path string // of a local source, clean
	why  string // it is not read, if it is neither bad nor local
	// registry says that a module registry knows where the module is.
	registry bool
	place
}

var callSchema = &hcl.BodySchema{Attributes: attributes("source", "version", "providers")}

func (d *decoder) call(block *hcl.Block) (call, bool) {
	c := call{place: placeOf(block.DefRange), name: block.Labels[0]}
	if !d.identifier(block, 0) {
		return c, false
	}
	attrs := d.content(block.Body, callSchema).Attributes
	c.source, c.version = attrs["source"], attrs["version"]
	if c.source == nil && !d.override {
		d.errorf(block.DefRange, "missing required argument: module %q has no source", c.name)
	}
	if attr, ok := attrs["providers"]; ok {
		c.passed = d.passedProviders(attr.Expr)
	}
	return c, true
}

func (d *decoder) passedProviders(expr hcl.Expression) []passedProvider {
	pairs, diags := hcl.ExprMap(expr)
	d.hcl(provider.CodeInvalidConfig, diags)
	var passed []passedProvider
	for _, pair := range pairs {
		child, childOK := d.providerRef(pair.Key)
		parent, parentOK := d.providerRef(pair.Value)
		if childOK && parentOK {
			passed = append(passed, passedProvider{place: placeOf(pair.Key.Range()), child: child, parent: parent})
		}
	}
	return passed
}

// override replaces what an override file sets.
func (c *call) override(o call) {
	if o.source != nil {
		c.source = o.source
	}
	if o.version != nil {
		c.version = o.version
	}
	if len(o.passed) > 0 {
		c.passed = o.passed
	}
}

// moduleSource reads what a call says about where its module is. Early
// evaluation admits references to what is known before a plan.
func (d *decoder) moduleSource(c call, early bool) moduleSource {
	version, ok := d.argument(c.version, early)
	if !ok || version.set && !d.versionSyntax(c.version.Expr, version.text) {
		return moduleSource{}
	}
	source, ok := d.argument(c.source, early)
	if !ok || c.source == nil {
		return moduleSource{}
	}
	at := placeOf(c.source.Expr.Range())
	switch {
	case !source.known:
		return moduleSource{kind: unknownSource, why: "its source is not statically known", place: at}
	case !source.set:
		d.add(at, "invalid module source address: it must not be null")
		return moduleSource{}
	case !version.known:
		return moduleSource{kind: unknownSource, text: source.text, why: "its version is not statically known", place: at}
	}
	// Only early evaluation takes a null for no version at all.
	versioned := version.set || c.version != nil && !early
	return d.parseSource(source.text, versioned, at)
}

// argument evaluates an argument of a call, which may be missing. It returns
// false after reporting an error.
func (d *decoder) argument(attr *hcl.Attribute, early bool) (argument, bool) {
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
		return argument{}, d.knownEarly(expr)
	}
	return d.text(expr)
}

// template parses a JSON string as what it is under early evaluation. Any other
// expression is returned as it is.
func template(expr hcl.Expression) (hcl.Expression, hcl.Diagnostics) {
	if !json.IsJSONExpression(expr) || unbounded(expr) != nil {
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
func (d *decoder) knownEarly(expr hcl.Expression) bool {
	if unbounded(expr) != nil {
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

// parseSource says what kind of source an address is. An address with a version
// must be one of a module registry; one without is tried in this order: local,
// registry, anything that go-getter fetches.
func (d *decoder) parseSource(text string, versioned bool, at place) moduleSource {
	m := moduleSource{text: text, place: at}
	_, registryErr := tfaddr.ParseModuleSource(text)
	switch local := isLocal(text); {
	case versioned && (local || registryErr != nil):
		d.add(at, "invalid registry module source address: a module with a version must come from a module registry")
		return m
	case local:
		m.kind, m.path = localSource, path.Clean(strings.ReplaceAll(text, `\`, "/"))
		return m
	case registryErr == nil:
		m.kind, m.registry, m.why = otherSource, true, "it comes from a module registry"
		return m
	case !isRemote(text):
		d.diags = append(d.diags, provider.Diagnostic{
			Code: provider.CodeInvalidConfig, File: at.file, Line: at.line,
			Message: "invalid module source address: it is no local path, no address of a module registry and no URL",
			Hint:    "a path relative to the module must begin with ./ or ../",
		})
		return m
	}
	m.kind, m.why = otherSource, "it comes from outside of the repository"
	return m
}

func isLocal(source string) bool {
	for _, prefix := range []string{"./", "../", `.\`, `..\`} {
		if strings.HasPrefix(source, prefix) {
			return true
		}
	}
	return false
}

// remoteForms are the addresses that go-getter recognises: with a forced
// getter, with a scheme, or in one of the short forms.
var remoteForms = regexp.MustCompile(`^[A-Za-z0-9]+::` +
	`|^[A-Za-z][A-Za-z0-9+.-]*:` +
	`|^github\.com/|^bitbucket\.org/|googleapis\.com/|\.amazonaws\.com/` +
	`|^git@[^:]+:.` +
	`|^/`)

func isRemote(source string) bool { return remoteForms.MatchString(source) }

// userInfo matches the credentials in a URL.
var userInfo = regexp.MustCompile(`://[^/?#]*@`)

// redacted is the source without what may be secret in it: the credentials
// and the query of a URL.
func redacted(source string) string {
	source, _, _ = strings.Cut(source, "?")
	return userInfo.ReplaceAllString(source, "://")
}
