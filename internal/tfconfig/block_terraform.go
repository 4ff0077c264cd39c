package tfconfig

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/provider"
)

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

var (
	languageSchema = &hcl.BodySchema{Attributes: attributes("experiments"), Blocks: []hcl.BlockHeaderSchema{{Type: "compatible_with"}}}
	compatSchema   = &hcl.BodySchema{Attributes: attributes("opentofu")}
)

func decodeTerraform(d *decoder, f *file, block *hcl.Block) {
	content, diags := block.Body.Content(terraformSchema(d.tool))
	d.unexpected(diags)
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "required_providers":
			f.required = append(f.required, decodeRequired(d, inner))
		case "backend", "cloud":
			f.rootOnly = true
		}
	}
	// Its value does not count: even an empty list is refused [terraform 1.3
	// internal/configs/experiments.go].
	if attr, ok := content.Attributes["experiments"]; ok && d.tool.Has(provider.NoExperiments) {
		d.errorf(attr.NameRange, "the argument experiments is for alpha releases of %s alone", d.tool.Name.Title())
		last := &d.Diags[len(d.Diags)-1]
		last.Code, last.Hint = UnknownPart, "remove it, with any value"
	}
	attr, ok := content.Attributes["required_version"]
	// A block in a .tf file may be for Terraform alone [cases 131, 132].
	if !ok || d.tool.Has(provider.LanguageBlocks) && !forOpenTofu(d.file.Path) {
		return
	}
	if v := d.constraint(attr.Expr); v != nil {
		f.versions = append(f.versions, *v)
	}
}

// decodeLanguage reads the releases of OpenTofu with which a module is compatible.
func decodeLanguage(d *decoder, f *file, block *hcl.Block) {
	content := d.content(block.Body, languageSchema)
	// OpenTofu 1.13 has the first one [opentofu 1.12 internal/configs/language.go].
	if attr, ok := content.Attributes["experiments"]; ok && !d.tool.Has(provider.SymbolLibraries) {
		if named, _ := hcl.ExprList(attr.Expr); len(named) > 0 {
			d.errorf(attr.NameRange, "the argument experiments is for OpenTofu 1.13 and later")
			d.Diags[len(d.Diags)-1].Code = UnknownPart
		}
	}
	for _, inner := range content.Blocks {
		attr, ok := d.content(inner.Body, compatSchema).Attributes["opentofu"]
		if !ok {
			continue
		}
		if v := d.constraint(attr.Expr); v != nil {
			f.versions = append(f.versions, *v)
		}
	}
}
