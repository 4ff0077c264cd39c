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
	// stackDirName is the directory that a stack generates in, unless a block says otherwise
	// [case stack-two-units].
	stackDirName = ".terragrunt-stack"
)

// fileReader reads the units of a file tree, which should be the whole repository. It reads
// each file once, and nothing outside the tree. The text of a large file has no value in
// expressions.
type fileReader struct {
	filetree.Lazy
	files   memo.Once[string, parsed]
	missing sync.Map // files that exist and whose content the tree does not have
	// generates are the directories in it that stacks generate, or nil.
	generates *stackTree
}

// newFileReader returns a reader of a file tree. Links are followed only if the tree is an
// fs.ReadLinkFS.
func newFileReader(fsys fs.FS) *fileReader {
	return &fileReader{Lazy: filetree.Lazy{Source: filetree.SourceOf(fsys), KeepsContents: true}}
}

type parsed struct {
	file *configFile
	why  *staticeval.Unknown
}

// linkedBelow reports whether there is a link in a directory or below it. Directories of
// other units below it do not count.
func (r *fileReader) linkedBelow(dir string) bool {
	entries, _ := r.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		name := path.Join(dir, e.Name())
		return e.Type() == fs.ModeSymlink || e.IsDir() && unitConfig(name, r.isFile) == "" && r.linkedBelow(name)
	})
}

// place is a path for messages.
func (r *fileReader) place(name string) problem.Place {
	if r.generates == nil {
		return problem.Place{Path: name}
	}
	return r.generates.place(name)
}

func (r *fileReader) isDir(name string) bool {
	_, info, err := r.Follow(name)
	return err == nil && info.IsDir()
}

func (r *fileReader) isFile(name string) bool {
	_, info, err := r.Follow(name)
	return err == nil && !info.IsDir()
}

// withoutFile reports whether a directory has no file. That includes a directory that does
// not exist or that was reached through a link.
func (r *fileReader) withoutFile(dir string) bool {
	entries, _ := r.ReadDir(dir)
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() })
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

// lacking are the files that were read, that exist, and whose content the tree does not have.
func (r *fileReader) lacking() []string {
	var names []string
	r.missing.Range(func(name, _ any) bool {
		names = append(names, name.(string))
		return true
	})
	return names
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

// configFile is a parsed configuration file.
type configFile struct {
	name     string
	place    problem.Place // of its first line, for messages
	body     body
	locals   map[string]*hcl.Attribute
	includes []configBlock
	features map[string]configBlock
}

// parse reads a configuration file.
func (r *fileReader) parse(name string) (*configFile, *staticeval.Unknown) {
	p := r.files.Get(name, func() parsed {
		if p, ok := r.parseCopied(name); ok {
			return p
		}
		src, err := r.read(name)
		if errors.Is(err, fs.ErrNotExist) {
			return parsed{why: &staticeval.Unknown{Refused: true, Reason: "there is no file " + name}}
		}
		if err != nil {
			return parsed{why: &staticeval.Unknown{Reason: fmt.Sprintf("%s could not be read: %v", name, file.Cause(err))}}
		}
		place := r.place(name)
		f, diags := hclfile.Parse(src, problem.Place{Path: name})
		if len(diags) > 0 {
			return parsed{why: &staticeval.Unknown{Refused: true, Reason: fmt.Sprintf("%s, line %d: %s", place.File(), diags[0].Place.Line, diags[0].Message)}}
		}
		return parsed{file: newConfigFile(name, place, f.Body)}
	})
	return p.file, p.why
}

// parseCopied parses a file that a stack copies, once for all copies. It returns false for
// any other file.
func (r *fileReader) parseCopied(name string) (parsed, bool) {
	if r.generates == nil {
		return parsed{}, false
	}
	from := r.generates.base
	g, rel := r.generates.in(name)
	if g != nil {
		n, err := g.copy.find(rel)
		if err != nil || n.layer == nil {
			return parsed{}, false
		}
		from, rel = n.layer.tree, n.real
	} else {
		rel = name
	}
	f, why := from.parse(rel)
	if why != nil {
		return parsed{why: why}, true
	}
	own := *f
	own.name, own.place = name, r.place(name)
	own.place.Line = 1
	return parsed{file: &own}, true
}

func newConfigFile(name string, place problem.Place, b hcl.Body) *configFile {
	place.Line = 1
	f := &configFile{name: name, place: place, body: body{b}, locals: map[string]*hcl.Attribute{}, features: map[string]configBlock{}}
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

// at is the place of a line.
func (f *configFile) at(line int) problem.Place {
	at := f.place
	at.Line = line
	return at
}

// body is a body in native syntax or in JSON. In JSON a block is an attribute, too.
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

// attributes are the attributes of a body. Its blocks are ignored.
func (b body) attributes() map[string]*hcl.Attribute {
	if native, ok := b.Body.(*hclsyntax.Body); ok {
		attrs := make(map[string]*hcl.Attribute, len(native.Attributes))
		for name, attr := range native.Attributes {
			attrs[name] = attr.AsHCLAttribute()
		}
		return attrs
	}
	attrs, _ := b.JustAttributes() // the errors are about other parts
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

// blocks are the blocks of a kind. A missing label is empty.
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
