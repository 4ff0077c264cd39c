package tfconfig

import (
	"cmp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

type providerBlock struct {
	Place   problem.Place
	ref     providerRef
	version *VersionText
	empty   bool // it has only an alias: the caller passes the configuration
}

func (p providerBlock) compare(q providerBlock) int {
	return cmp.Or(p.Place.Compare(q.Place), strings.Compare(p.ref.String(), q.ref.String()))
}

var providerSchema = &hcl.BodySchema{Attributes: attributes("alias", "version", "count", "for_each", "depends_on", "source")}

func decodeProvider(d *decoder, f *file, block *hcl.Block) {
	p := providerBlock{Place: d.placeOf(block.DefRange), ref: providerRef{name: block.Labels[0]}}
	if !d.localName(block) {
		return
	}
	content, rest, diags := block.Body.PartialContent(providerSchema)
	d.hcl(diags)
	alias, aliased := content.Attributes["alias"]
	if aliased {
		if name, ok := d.text(alias.Expr); !ok || hclsyntax.ValidIdentifier(name.text) {
			p.ref.alias = name.text
		} else {
			d.errorf(alias.Expr.Range(), "invalid provider configuration alias: it must be a name")
		}
	}
	version, versioned := content.Attributes["version"]
	if versioned {
		p.version = d.constraint(version.Expr)
	}
	for name, attr := range content.Attributes {
		switch {
		case name == "alias", name == "version":
		case name == "for_each" && d.tool.Has(provider.ProviderInstances):
		default: // provider blocks must not have these, at least not yet
			d.doubt(attr.NameRange, p.ref.name, attr.Expr, "reserved argument name in a provider block: "+name)
		}
	}
	left, diags := rest.JustAttributes() // an error for every block
	p.empty = len(left) == 0 && !diags.HasErrors() && !versioned && (len(content.Attributes) == 0 || aliased && len(content.Attributes) == 1)
	f.providers = append(f.providers, p)
	f.rootOnly = f.rootOnly || !p.empty
}
