package tfconfig

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/moduleaddr"
)

// stackExtensions are the extensions of the files that state the requirements of a stack.
// The second ones are from before release 1.14; later releases ignore them [terraform 1.14
// internal/stacks/stackconfig/file.go].
var stackExtensions = [][]string{{".tfcomponent.hcl", ".tfcomponent.json"}, {".tfstack.hcl", ".tfstack.json"}}

// StackFile reports whether a file belongs to a stack, which has its own language and
// locks.
func StackFile(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".json"), ".hcl")
	return strings.HasSuffix(name, ".tfcomponent") || strings.HasSuffix(name, ".tfstack") || strings.HasSuffix(name, ".tfdeploy")
}

// componentFiles are the files of a directory that state the requirements of a stack.
func componentFiles(entries []fs.DirEntry) []string {
	for _, extensions := range stackExtensions {
		var names []string
		for _, e := range entries {
			named := slices.ContainsFunc(extensions, func(ext string) bool { return strings.HasSuffix(e.Name(), ext) })
			if named && !e.IsDir() && !editorFile(e.Name()) {
				names = append(names, e.Name())
			}
		}
		if len(names) > 0 {
			return names
		}
	}
	return nil
}

var (
	stackSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "required_providers"},
		{Type: "stack", LabelNames: []string{"name"}},
	}}
	embeddedSchema = &hcl.BodySchema{Attributes: attributes("source", "version")}
)

// decodeStackFile reads the parts of a component file that state requirements.
func decodeStackFile(src []byte, d *decoder) file {
	var f file
	body, ok := d.body(src)
	if !ok {
		return f
	}
	for _, block := range d.content(body, stackSchema).Blocks {
		if block.Type == "required_providers" {
			f.required = append(f.required, decodeStackRequired(d, block))
			continue
		}
		attrs := d.content(block.Body, embeddedSchema).Attributes
		if attrs["source"] == nil {
			d.errorf(block.DefRange, "missing required argument: the stack has no source")
			continue
		}
		f.calls = append(f.calls, ModuleCall{Place: d.placeOf(block.DefRange), Name: block.Labels[0], source: decodeCallArgument(d, attrs["source"]), version: decodeCallArgument(d, attrs["version"]), Stack: true})
	}
	return f
}

// decodeStackRequired reads required_providers of a stack. There both source and version
// are required [terraform 1.14 internal/stacks/stackconfig/provider_requirements.go].
func decodeStackRequired(d *decoder, block *hcl.Block) requiredBlock {
	found := decodeRequired(d, block)
	attrs, _ := block.Body.JustAttributes()
	for _, entry := range found.entries {
		said := map[string]bool{}
		pairs, _ := hcl.ExprMap(attrs[entry.name].Expr)
		for _, pair := range pairs {
			said[hcl.ExprAsKeyword(pair.Key)] = true
		}
		if !said["source"] || !said["version"] && !entry.addr.Builtin() {
			d.Add(entry.Place, "invalid required_providers entry: in a stack it must have a source and a version")
		}
	}
	return found
}

// decodeStackSource reads the place of an embedded stack. A stack from a fetched package is
// not read: only the files of modules are kept of such packages.
func decodeStackSource(d *decoder, c ModuleCall) ModuleSource {
	d.file = c.source.file
	source, ok := d.text(c.source.Expr)
	if !ok {
		return ModuleSource{}
	}
	m := ModuleSource{Kind: UnknownSource, Text: source.text, Place: c.source.place()}
	m.Why.Reason = "it comes from outside of the repository"
	if addr, _ := moduleaddr.Parse(source.text, d.tool.Name); addr.Kind == moduleaddr.Local {
		m.Kind, m.Addr = LocalSource, addr
	}
	return m
}
