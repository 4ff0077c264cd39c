package tfconfig

import (
	"bytes"
	"slices"
	"strings"

	goversion "github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/hclfile"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// file has the parts of one configuration file about providers and module calls, and those
// that make sense only in a root module.
type file struct {
	override  bool
	required  []requiredBlock
	providers []providerBlock
	resources []resource
	imports   []importBlock
	calls     []ModuleCall
	variables []Variable                // for early evaluation
	locals    map[string]*hcl.Attribute // for early evaluation
	versions  []VersionText             // of the tool itself
	doubts    []Doubt
	rootOnly  bool
	data      bool // a test file names a directory with data for mocks
}

// blockTypes are the blocks that the tools expect at the top of a configuration file, in
// the order of HCL's suggestions. Each has its reader, which is nil if the block does not
// matter to providers and module calls.
var blockTypes = []struct {
	name   string
	labels []string
	decode func(*decoder, *file, *hcl.Block)
}{
	{"terraform", nil, decodeTerraform},
	{"required_providers", nil, misplacedRequired}, // it has a message of its own
	{"provider", []string{"name"}, decodeProvider},
	{"variable", []string{"name"}, decodeVariable},
	{"locals", nil, decodeLocals},
	{"output", []string{"name"}, nil},
	{"module", []string{"name"}, decodeCall},
	{"resource", typeAndName, decodeResource},
	{"data", typeAndName, decodeResource},
	{"moved", nil, nil},
	{"removed", nil, nil},
	{"import", nil, decodeImport},
	{"check", []string{"name"}, decodeCheck},
	{"ephemeral", typeAndName, decodeResource},
	{"action", typeAndName, decodeResource},
	{"language", nil, decodeLanguage},
	{"symbols", []string{"name"}, nil}, // only about functions and types
}

var typeAndName = []string{"type", "name"}

// laterBlocks are those blocks that only some releases have.
var laterBlocks = map[string]provider.Feature{
	"import": provider.ImportBlocks, "check": provider.ImportBlocks, // both came with the same release
	"ephemeral": provider.Ephemeral, "action": provider.Actions, "language": provider.LanguageBlocks,
	"symbols": provider.SymbolLibraries,
}

// configurationSchemas has one schema for each tool, which thousands of files share.
var configurationSchemas memo.Once[provider.Tool, *hcl.BodySchema]

func configurationSchema(tool provider.Tool) *hcl.BodySchema {
	s := &hcl.BodySchema{}
	for _, b := range blockTypes {
		if feature, later := laterBlocks[b.name]; !later || tool.Has(feature) {
			s.Blocks = append(s.Blocks, hcl.BlockHeaderSchema{Type: b.name, LabelNames: b.labels})
		}
	}
	return s
}

func decodeFile(src []byte, d *decoder) file {
	f := file{override: d.override}
	d.src = src
	body, ok := d.body(src)
	if !ok {
		return f
	}
	content, diags := body.Content(configurationSchemas.Get(d.tool, func() *hcl.BodySchema { return configurationSchema(d.tool) }))
	d.unexpected(diags)
	for _, block := range content.Blocks {
		f.rootOnly = f.rootOnly || block.Type == "import"
		if d.override && primaryOnly(block.Type, d.tool) {
			d.errorf(block.DefRange, "%s blocks cannot be in override files", block.Type)
			d.Diags[len(d.Diags)-1].Code = UnknownPlace
			continue
		}
		for _, b := range blockTypes {
			if b.name == block.Type && b.decode != nil {
				b.decode(d, &f, block)
			}
		}
	}
	f.doubts = d.doubts
	return f
}

// primaryOnly reports whether a block is an error in an override file. Terraform ignores
// removed blocks there [terraform 1.11 internal/configs/module.go] [opentofu 1.12
// internal/configs/module.go].
func primaryOnly(block string, tool provider.Tool) bool {
	return slices.Contains([]string{"language", "check", "import", "moved"}, block) || block == "removed" && tool.Name == provider.OpenTofu
}

func attributes(names ...string) []hcl.AttributeSchema {
	return collect.Mapped(names, func(name string) hcl.AttributeSchema { return hcl.AttributeSchema{Name: name} })
}

// decoder reads one configuration file by the rules of a tool.
type decoder struct {
	Mistakes
	tool     provider.Tool
	file     problem.Place
	override bool   // the file is an override file
	src      []byte // of the configuration file
	doubts   []Doubt
}

// body parses the file. It returns false if the file is not valid HCL.
func (d *decoder) body(src []byte) (hcl.Body, bool) {
	f, errors := hclfile.Parse(src, d.file)
	if f != nil {
		return f.Body, true
	}
	before := len(d.Diags)
	for _, e := range errors {
		d.report(e)
	}
	if bytes.Contains(src, []byte("\n<<<<<<< ")) {
		d.Diags[before].Hint = "resolve the merge conflict that is marked in the file"
	}
	return nil, false
}

// hcl reports the errors among HCL's diagnostics. failed says whether there are any.
func (d *decoder) hcl(diags hcl.Diagnostics) (failed bool) {
	for _, e := range hclfile.ErrorsIn(diags, problem.CodeInvalidConfig, d.file) {
		failed = true
		d.report(e)
	}
	return failed
}

// content reads the part of a body that the schema has, and ignores the rest.
func (d *decoder) content(body hcl.Body, schema *hcl.BodySchema) *hcl.BodyContent {
	content, _, diags := body.PartialContent(schema)
	d.hcl(diags)
	return content
}

// unexpected reports parts that a schema does not have. A newer release may have them.
func (d *decoder) unexpected(diags hcl.Diagnostics) {
	before := len(d.Diags)
	d.hcl(diags)
	for i, diag := range d.Diags[before:] {
		unsupported := strings.HasPrefix(diag.Message, "unsupported ")
		if unsupported || strings.HasPrefix(diag.Message, "extraneous JSON") {
			d.Diags[before+i].Code = UnknownPart
		}
		if unsupported || strings.HasPrefix(diag.Message, "extraneous ") {
			d.Diags[before+i].Hint = "set --tool and --tool-version, if another tool or release is used: this is read as configuration of " + d.tool.Name.Title()
		}
	}
}

// placeOf is the place where a range of the file starts.
func (d *decoder) placeOf(rng hcl.Range) problem.Place { return d.file.At(rng.Start.Line) }

// errorf reports an error at the start of a range.
func (d *decoder) errorf(rng hcl.Range, format string, args ...any) {
	d.Add(d.placeOf(rng), format, args...)
}

// identifier reports whether a block's label is an identifier. If not, it reports an error.
func (d *decoder) identifier(block *hcl.Block, label int) bool {
	if hclsyntax.ValidIdentifier(block.Labels[label]) {
		return true
	}
	d.errorf(block.LabelRanges[label], "invalid name: it must begin with a letter or underscore and hold only letters, digits, underscores and dashes")
	return false
}

// localName reports whether the label of a provider block is a valid local name. If not, it
// reports an error.
func (d *decoder) localName(block *hcl.Block) bool {
	if provider.NormalisedName(block.Labels[0]) {
		return true
	}
	d.errorf(block.LabelRanges[0], badName)
	return false
}

// argument is the value of an argument that must be a string.
type argument struct {
	text  string
	set   bool // it is there and not null
	known bool // known without variables and functions
}

// text evaluates an expression to a string, with the tools' conversions [terraform 1.11
// internal/configs/module_call.go]. It returns false after reporting an error.
func (d *decoder) text(expr hcl.Expression) (argument, bool) {
	v, diags := constant(expr)
	if d.hcl(diags) {
		return argument{}, false
	}
	v, err := convert.Convert(v, cty.String)
	switch {
	case err != nil || !v.IsKnown():
		d.errorf(expr.Range(), "unsuitable value: it must be a string")
		return argument{}, false
	case v.IsNull():
		return argument{known: true}, true
	}
	return argument{text: v.AsString(), set: true, known: true}, true
}

// VersionText is a version constraint as written. The tools parse it twice: with go-version
// when they read the file, and with their own, narrower grammar when they merge the module
// tree. An override file can replace a text that only the second parser refuses [terraform
// 1.11 internal/configs/version_constraint.go,
// internal/getproviders/providerreqs/version.go].
type VersionText struct {
	Text  string
	Place problem.Place
	// Expression is the written expression, if the text was evaluated; empty for a literal.
	Expression string
}

// constraint reads a version constraint; nil if there is none.
func (d *decoder) constraint(expr hcl.Expression) *VersionText {
	v, ok := d.text(expr)
	if !ok {
		return nil
	}
	return d.versionText(expr, v)
}

// versionText is a known version constraint; nil if there is none.
func (d *decoder) versionText(expr hcl.Expression, v argument) *VersionText {
	if !v.set || !d.versionSyntax(expr, v.text) {
		return nil
	}
	return &VersionText{Text: v.text, Place: d.placeOf(expr.Range())}
}

// versionSyntax reports whether go-version parses a constraint. If not, it reports an
// error.
func (d *decoder) versionSyntax(expr hcl.Expression, text string) bool {
	_, err := goversion.NewConstraint(text)
	if err != nil {
		d.errorf(expr.Range(), badVersion)
	}
	return err == nil
}
