package tfconfig

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/problem"
)

// resource is a block whose type implies a provider.
type resource struct {
	Place problem.Place
	resourceKey
	provider providerRef // of the meta-argument; zero if there is none
}

// resourceKey is the first word of a resource's block, and its labels.
type resourceKey struct{ kind, typ, name string }

func (k resourceKey) String() string { return k.typ + "." + k.name }

var (
	resourceSchema = &hcl.BodySchema{Attributes: attributes("provider")}
	checkSchema    = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "data", LabelNames: []string{"type", "name"}}}}
)

func decodeResource(d *decoder, f *file, block *hcl.Block) {
	if !d.identifier(block, 0) || !d.identifier(block, 1) {
		return
	}
	if ref, ok := decodeMetaArgument(d, d.content(block.Body, resourceSchema).Attributes); ok {
		key := resourceKey{kind: block.Type, typ: block.Labels[0], name: block.Labels[1]}
		f.resources = append(f.resources, resource{Place: d.placeOf(block.DefRange), resourceKey: key, provider: ref})
	}
}

func decodeCheck(d *decoder, f *file, block *hcl.Block) {
	for _, inner := range d.content(block.Body, checkSchema).Blocks {
		decodeResource(d, f, inner)
	}
}

// impliedName is the local name of the provider that a resource type implies: the part
// before the first underscore.
func impliedName(typ string) string {
	name, _, _ := strings.Cut(typ, "_")
	return name
}
