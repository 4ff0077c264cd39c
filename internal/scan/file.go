package scan

import (
	"cmp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/relock-dev/relock/internal/provider"
)

// file is what one configuration file says about providers and module calls,
// and what only root modules have reason to say.
type file struct {
	required  []requiredBlock
	providers []providerBlock
	resources []resource
	imports   []importBlock
	calls     []call
	variables []variable                // only for early evaluation
	locals    map[string]*hcl.Attribute // likewise
	versions  []versionText             // of the tool itself
	rootOnly  bool
}

// providerBlock is a configuration of a provider.
type providerBlock struct {
	place
	ref     providerRef
	version *versionText
	empty   bool // nothing but an alias: a stand-in for what the caller passes
}

func (p providerBlock) compare(q providerBlock) int {
	return cmp.Or(p.place.compare(q.place), strings.Compare(p.ref.String(), q.ref.String()))
}

// resourceKind is the word with which a resource's block begins.
type resourceKind string

const (
	managedResource   resourceKind = "resource"
	dataResource      resourceKind = "data"
	ephemeralResource resourceKind = "ephemeral"
	actionResource    resourceKind = "action"
)

// resource is anything whose type implies a provider.
type resource struct {
	place
	resourceKey
	provider providerRef // of the meta-argument; zero if there is none
}

type resourceKey struct {
	kind      resourceKind
	typ, name string
}

func (k resourceKey) String() string { return k.typ + "." + k.name }

// importBlock brings an existing object under a resource's address.
type importBlock struct {
	place
	to       target
	provider providerRef // of the meta-argument; zero if there is none
}

// fileSchema returns what a tool expects at the top of a configuration file.
func fileSchema(tool provider.Tool) *hcl.BodySchema {
	s := &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "terraform"},
		{Type: "required_providers"}, // for a message of its own
		{Type: "provider", LabelNames: []string{"name"}},
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "locals"},
		{Type: "output", LabelNames: []string{"name"}},
		{Type: "module", LabelNames: []string{"name"}},
		{Type: "resource", LabelNames: []string{"type", "name"}},
		{Type: "data", LabelNames: []string{"type", "name"}},
		{Type: "moved"},
		{Type: "removed"},
	}}
	for _, later := range []struct {
		feature provider.Feature
		block   hcl.BlockHeaderSchema
	}{
		{provider.ImportBlocks, hcl.BlockHeaderSchema{Type: "import"}},
		{provider.ImportBlocks, hcl.BlockHeaderSchema{Type: "check", LabelNames: []string{"name"}}}, // came with them
		{provider.Ephemeral, hcl.BlockHeaderSchema{Type: "ephemeral", LabelNames: []string{"type", "name"}}},
		{provider.Actions, hcl.BlockHeaderSchema{Type: "action", LabelNames: []string{"type", "name"}}},
		{provider.LanguageBlocks, hcl.BlockHeaderSchema{Type: "language"}},
	} {
		if tool.Has(later.feature) {
			s.Blocks = append(s.Blocks, later.block)
		}
	}
	return s
}

// terraformSchema returns what a tool expects in a terraform block.
func terraformSchema(tool provider.Tool) *hcl.BodySchema {
	s := &hcl.BodySchema{
		Attributes: attributes("required_version", "experiments", "language"),
		Blocks: []hcl.BlockHeaderSchema{
			{Type: "backend", LabelNames: []string{"type"}},
			{Type: "cloud"},
			{Type: "required_providers"},
			{Type: "provider_meta", LabelNames: []string{"provider"}},
		},
	}
	if tool.Name == provider.OpenTofu {
		s.Blocks = append(s.Blocks, hcl.BlockHeaderSchema{Type: "encryption"})
	}
	return s
}

func attributes(names ...string) []hcl.AttributeSchema {
	var schema []hcl.AttributeSchema
	for _, name := range names {
		schema = append(schema, hcl.AttributeSchema{Name: name})
	}
	return schema
}

// The parts of other blocks that are read.
var (
	resourceSchema = &hcl.BodySchema{Attributes: attributes("provider")}
	checkSchema    = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "data", LabelNames: []string{"type", "name"}}}}
	importSchema   = &hcl.BodySchema{Attributes: append(attributes("provider"), hcl.AttributeSchema{Name: "to", Required: true})}
	providerSchema = &hcl.BodySchema{Attributes: attributes("alias", "version", "count", "for_each", "depends_on", "source")}
	languageSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "compatible_with"}}}
	compatSchema   = &hcl.BodySchema{Attributes: attributes("opentofu")}
)

// decodeFile reads a configuration file.
func decodeFile(src []byte, d *decoder) file {
	var f file
	body, ok := d.body(src)
	if !ok {
		return f
	}
	content, diags := body.Content(fileSchema(d.tool))
	d.unexpected(diags)
	for _, block := range content.Blocks {
		d.block(&f, block)
	}
	return f
}

// unexpected reports what a schema does not have. Another release may have it.
func (d *decoder) unexpected(diags hcl.Diagnostics) {
	before := len(d.diags)
	d.hcl(provider.CodeInvalidConfig, diags)
	for i, diag := range d.diags[before:] {
		if strings.HasPrefix(diag.Message, "unsupported ") || strings.HasPrefix(diag.Message, "extraneous ") {
			d.diags[before+i].Hint = "this is read as configuration of " + d.tool.Name.Title() + ": if another tool or release is used, set --tool and --tool-version"
		}
	}
}

func (d *decoder) block(f *file, block *hcl.Block) {
	switch block.Type {
	case "terraform":
		d.terraform(f, block)
	case "required_providers":
		d.errorf(block.DefRange, "invalid required_providers block: it must stand in a terraform block")
	case "language":
		d.language(f, block)
	case "provider":
		if p, ok := d.provider(block); ok {
			f.providers = append(f.providers, p)
			f.rootOnly = f.rootOnly || !p.empty
		}
	case "module":
		if c, ok := d.call(block); ok {
			f.calls = append(f.calls, c)
		}
	case "variable":
		if evaluatesEarly(d.tool) {
			f.variables = append(f.variables, d.variable(block))
		}
	case "locals":
		if evaluatesEarly(d.tool) {
			f.locals = withLocals(f.locals, block)
		}
	case "resource", "data", "ephemeral", "action":
		if r, ok := d.resource(block); ok {
			f.resources = append(f.resources, r)
		}
	case "check":
		d.check(f, block)
	case "import":
		f.rootOnly = true
		if i, ok := d.importBlock(block); ok {
			f.imports = append(f.imports, i)
		}
	case "moved", "removed":
		// Terraform ignores removed blocks of override files.
		if d.override && (block.Type == "moved" || d.tool.Name == provider.OpenTofu) {
			d.errorf(block.DefRange, "%s blocks cannot be in override files", block.Type)
		}
	}
}

func (d *decoder) terraform(f *file, block *hcl.Block) {
	content, diags := block.Body.Content(terraformSchema(d.tool))
	d.unexpected(diags)
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "required_providers":
			f.required = append(f.required, d.requiredProviders(inner))
		case "backend", "cloud":
			f.rootOnly = true
		}
	}
	attr, ok := content.Attributes["required_version"]
	// What is in a .tf file may be meant for Terraform alone.
	if !ok || d.tool.Has(provider.LanguageBlocks) && !forOpenTofu(d.name) {
		return
	}
	if v := d.constraint(attr.Expr); v != nil {
		f.versions = append(f.versions, *v)
	}
}

// language reads which releases of OpenTofu a module is compatible with.
func (d *decoder) language(f *file, block *hcl.Block) {
	if d.override {
		d.errorf(block.DefRange, "language blocks cannot be in override files")
		return
	}
	for _, inner := range d.content(block.Body, languageSchema).Blocks {
		attr, ok := d.content(inner.Body, compatSchema).Attributes["opentofu"]
		if !ok {
			continue
		}
		if v := d.constraint(attr.Expr); v != nil {
			f.versions = append(f.versions, *v)
		}
	}
}

func (d *decoder) provider(block *hcl.Block) (providerBlock, bool) {
	p := providerBlock{place: placeOf(block.DefRange), ref: providerRef{name: block.Labels[0]}}
	if !provider.NormalisedName(p.ref.name) {
		d.errorf(block.LabelRanges[0], badName)
		return p, false
	}
	content, rest, diags := block.Body.PartialContent(providerSchema)
	d.hcl(provider.CodeInvalidConfig, diags)
	alias, aliased := content.Attributes["alias"]
	if aliased {
		p.ref.alias = d.alias(alias.Expr)
	}
	version, versioned := content.Attributes["version"]
	if versioned {
		p.version = d.constraint(version.Expr)
	}
	d.reserved(content.Attributes)
	p.empty = blank(rest) && !versioned && (len(content.Attributes) == 0 || aliased && len(content.Attributes) == 1)
	return p, true
}

// reserved refuses arguments that provider blocks must not have (yet).
func (d *decoder) reserved(attrs hcl.Attributes) {
	for name, attr := range attrs {
		switch {
		case name == "alias", name == "version":
		case name == "for_each" && d.tool.Has(provider.ProviderInstances):
		default:
			d.errorf(attr.NameRange, "reserved argument name in a provider block: %s", name)
		}
	}
}

// blank reports whether nothing is left in a body.
func blank(rest hcl.Body) bool {
	attrs, diags := rest.JustAttributes() // which complains about any block
	return len(attrs) == 0 && !diags.HasErrors()
}

func (d *decoder) alias(expr hcl.Expression) string {
	v, ok := d.text(expr)
	if ok && !hclsyntax.ValidIdentifier(v.text) {
		d.errorf(expr.Range(), "invalid provider configuration alias: it must be a name")
		return ""
	}
	return v.text
}

func (d *decoder) resource(block *hcl.Block) (resource, bool) {
	r := resource{
		place:       placeOf(block.DefRange),
		resourceKey: resourceKey{kind: resourceKind(block.Type), typ: block.Labels[0], name: block.Labels[1]},
	}
	if !d.identifier(block, 0) || !d.identifier(block, 1) {
		return r, false
	}
	attr, ok := d.content(block.Body, resourceSchema).Attributes["provider"]
	if ok {
		r.provider, ok = d.providerRef(attr.Expr)
		return r, ok
	}
	return r, true
}

func (d *decoder) check(f *file, block *hcl.Block) {
	if d.override {
		d.errorf(block.DefRange, "check blocks cannot be in override files")
		return
	}
	for _, inner := range d.content(block.Body, checkSchema).Blocks {
		if r, ok := d.resource(inner); ok {
			f.resources = append(f.resources, r)
		}
	}
}

func (d *decoder) importBlock(block *hcl.Block) (importBlock, bool) {
	i := importBlock{place: placeOf(block.DefRange)}
	if d.override {
		d.errorf(block.DefRange, "import blocks cannot be in override files")
		return i, false
	}
	attrs := d.content(block.Body, importSchema).Attributes
	to, ok := attrs["to"]
	if !ok {
		return i, false
	}
	if i.to, ok = d.importTarget(to.Expr); !ok {
		return i, false
	}
	attr, ok := attrs["provider"]
	if !ok {
		return i, true
	}
	if i.to.inModule {
		d.errorf(attr.NameRange, "invalid import block: provider can be set only for resources of the module itself")
		return i, false
	}
	i.provider, ok = d.providerRef(attr.Expr)
	return i, ok
}
