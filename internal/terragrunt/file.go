package terragrunt

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/hclfile"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/staticeval"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// The names of Terragrunt's own files.
const (
	configName = "terragrunt.hcl"
	jsonName   = configName + ".json"
	autoName   = "terragrunt.autoinclude.hcl"
	valuesName = "terragrunt.values.hcl"
	stackName  = "terragrunt.stack.hcl"
)

// fileReader is the file tree that units are in. It is read lazily, and nothing of
// it twice. The texts of large files have no value in expressions all the same.
type fileReader struct {
	filetree.Lazy
	files   memo.Once[string, parsed]
	missing sync.Map // files that are there and are not held
}

func newFileReader(fsys fs.FS) *fileReader {
	return &fileReader{Lazy: filetree.Lazy{Source: filetree.SourceOf(fsys), KeepsContents: true}}
}

type parsed struct {
	file *configFile
	why  *staticeval.Unknown
}

// linkedBelow reports whether there is a link in a directory or below it, but for
// those below of other units.
func (r *fileReader) linkedBelow(dir string) bool {
	entries, _ := r.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		name := path.Join(dir, e.Name())
		return e.Type() == fs.ModeSymlink || e.IsDir() && unitConfig(name, r.isFile) == "" && r.linkedBelow(name)
	})
}

func (r *fileReader) isDir(name string) bool {
	_, info, err := r.Follow(name)
	return err == nil && info.IsDir()
}

func (r *fileReader) isFile(name string) bool {
	_, info, err := r.Follow(name)
	return err == nil && !info.IsDir()
}

// read returns the content of a file, through links.
func (r *fileReader) read(name string) ([]byte, error) {
	real, info, err := r.Follow(name)
	if err == nil {
		err = tfconfig.Readable(info)
	}
	if err != nil {
		return nil, err
	}
	src, err := r.Content(real)
	if err != nil {
		r.missing.Store(real, true)
		return nil, err
	}
	return src, tfconfig.Unheld(src)
}

// unitConfig returns the path of the configuration in a directory; empty if there is
// none [terragrunt 1.1 pkg/config/config.go].
func unitConfig(dir string, isFile func(name string) bool) string {
	for _, name := range []string{configName, jsonName} {
		name = path.Join(dir, name)
		if isFile(name) {
			return name
		}
	}
	return ""
}

// configFile is a configuration file as it is written.
type configFile struct {
	name     string
	body     body
	locals   map[string]*hcl.Attribute
	includes []configBlock
	features map[string]configBlock
}

// parse reads a configuration file.
func (r *fileReader) parse(name string) (*configFile, *staticeval.Unknown) {
	p := r.files.Get(name, func() parsed {
		src, err := r.read(name)
		if errors.Is(err, fs.ErrNotExist) {
			return parsed{why: &staticeval.Unknown{Refused: true, Reason: "there is no file " + name}}
		}
		if err != nil {
			return parsed{why: &staticeval.Unknown{Reason: fmt.Sprintf("%s could not be read: %v", name, file.Cause(err))}}
		}
		f, diags := hclfile.Parse(src, problem.Place{Path: name})
		if len(diags) > 0 {
			return parsed{why: &staticeval.Unknown{Refused: true, Reason: fmt.Sprintf("%s, line %d: %s", name, diags[0].Place.Line, diags[0].Message)}}
		}
		return parsed{file: newConfigFile(name, f.Body)}
	})
	return p.file, p.why
}

func newConfigFile(name string, b hcl.Body) *configFile {
	f := &configFile{name: name, body: body{b}, locals: map[string]*hcl.Attribute{}, features: map[string]configBlock{}}
	for _, b := range f.body.blocks("locals", 0) {
		for name, attr := range b.body.attributes() {
			f.locals[name] = attr
		}
	}
	f.includes = f.body.blocks("include", 1)
	for _, b := range f.body.blocks("feature", 1) {
		f.features[b.label] = b
	}
	return f
}

// body is a body in native syntax or in JSON, where a block is an attribute, too.
type body struct{ hcl.Body }

// configBlock is a block with one label or none.
type configBlock struct {
	body  body
	label string
	line  int
}

// native reports whether a body is in native syntax.
func (b body) native() bool {
	_, ok := b.Body.(*hclsyntax.Body)
	return ok
}

// attributes are those of a body, whatever else is in it.
func (b body) attributes() map[string]*hcl.Attribute {
	if native, ok := b.Body.(*hclsyntax.Body); ok {
		attrs := make(map[string]*hcl.Attribute, len(native.Attributes))
		for name, attr := range native.Attributes {
			attrs[name] = attr.AsHCLAttribute()
		}
		return attrs
	}
	attrs, _ := b.JustAttributes() // the errors are about what is no object
	return attrs
}

// attribute returns an attribute, or nil.
func (b body) attribute(name string) *hcl.Attribute {
	if native, ok := b.Body.(*hclsyntax.Body); ok {
		if attr := native.Attributes[name]; attr != nil {
			return attr.AsHCLAttribute()
		}
		return nil
	}
	return b.attributes()[name]
}

// blocks are those of a kind. A label that is missing is empty.
func (b body) blocks(kind string, labels int) []configBlock {
	var found []configBlock
	if native, ok := b.Body.(*hclsyntax.Body); ok {
		for _, n := range native.Blocks {
			if n.Type == kind {
				found = append(found, configBlock{body{n.Body}, strings.Join(n.Labels, " "), n.DefRange().Start.Line})
			}
		}
		return found
	}
	schema := hcl.BlockHeaderSchema{Type: kind}
	if labels > 0 {
		schema.LabelNames = []string{"name"}
	}
	c, _, _ := b.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{schema}})
	for _, n := range c.Blocks {
		found = append(found, configBlock{body{n.Body}, strings.Join(n.Labels, " "), n.DefRange.Start.Line})
	}
	return found
}
