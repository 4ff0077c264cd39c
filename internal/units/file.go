package units

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
	ConfigName = "terragrunt.hcl"
	JSONName   = ConfigName + ".json"
	autoName   = "terragrunt.autoinclude.hcl"
	valuesName = "terragrunt.values.hcl"
	StackName  = "terragrunt.stack.hcl"
	// StackDirName is the directory that a stack generates in, unless a block says otherwise
	// [case stack-two-units].
	StackDirName = ".terragrunt-stack"
)

// Files is a file tree with units, which should be the whole repository. Each file is read
// once, and nothing outside the tree is read.
type Files struct {
	filetree.Lazy
	files   memo.Once[string, parsed]
	missing sync.Map // files that exist and whose content the tree does not have
	// generates are the directories in it that stacks generate, or nil.
	generates *stackTree
}

// NewFiles reads a file system. Links are followed only if it is an fs.ReadLinkFS.
func NewFiles(fsys fs.FS) *Files {
	return &Files{Lazy: filetree.Lazy{Source: filetree.SourceOf(fsys), KeepsContents: true}}
}

type parsed struct {
	file *ConfigFile
	why  *staticeval.Unknown
}

// LinkedBelow reports whether there is a link in a directory or below it. Directories of
// other units below it do not count.
func (r *Files) LinkedBelow(dir string) bool {
	entries, _ := r.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		name := path.Join(dir, e.Name())
		return e.Type() == fs.ModeSymlink || e.IsDir() && UnitConfig(name, r.IsFile) == "" && r.LinkedBelow(name)
	})
}

// Place is where people find a file: for a copy that a stack makes, the file that is copied.
func (r *Files) Place(name string) problem.Place {
	if r.generates == nil {
		return problem.Place{Path: name}
	}
	return r.generates.place(name)
}

// IsDir reports whether a path leads to a directory.
func (r *Files) IsDir(name string) bool {
	_, info, err := r.Follow(name)
	return err == nil && info.IsDir()
}

// IsFile reports whether a path leads to something that is no directory.
func (r *Files) IsFile(name string) bool {
	_, info, err := r.Follow(name)
	return err == nil && !info.IsDir()
}

// withoutFile reports whether a directory has no file. That includes a directory that does
// not exist or that was reached through a link.
func (r *Files) withoutFile(dir string) bool {
	entries, _ := r.ReadDir(dir)
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() })
}

// Read returns the content of a file, through links.
func (r *Files) Read(name string) ([]byte, error) {
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

// Lacking are the files that were read, that exist, and whose content the tree does not have.
func (r *Files) Lacking() []string {
	var names []string
	r.missing.Range(func(name, _ any) bool {
		names = append(names, name.(string))
		return true
	})
	return names
}

// UnitConfig returns the path of the configuration in a directory; empty if there is
// none [terragrunt 1.1 pkg/config/config.go].
func UnitConfig(dir string, isFile func(name string) bool) string {
	for _, name := range []string{ConfigName, JSONName} {
		name = path.Join(dir, name)
		if isFile(name) {
			return name
		}
	}
	return ""
}

// ConfigFile is a parsed configuration file.
type ConfigFile struct {
	Name     string
	Place    problem.Place // of its first line, for messages
	Body     Body
	locals   map[string]*hcl.Attribute
	Includes []Block
	features map[string]Block
}

// parse reads a configuration file.
func (r *Files) parse(name string) (*ConfigFile, *staticeval.Unknown) {
	p := r.files.Get(name, func() parsed {
		if p, ok := r.parseCopied(name); ok {
			return p
		}
		src, err := r.Read(name)
		if errors.Is(err, fs.ErrNotExist) {
			return parsed{why: &staticeval.Unknown{Refused: true, Reason: "there is no file " + name}}
		}
		if err != nil {
			return parsed{why: &staticeval.Unknown{Reason: fmt.Sprintf("%s could not be read: %v", name, file.Cause(err))}}
		}
		place := r.Place(name)
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
func (r *Files) parseCopied(name string) (parsed, bool) {
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
	own.Name, own.Place = name, r.Place(name)
	own.Place.Line = 1
	return parsed{file: &own}, true
}

func newConfigFile(name string, place problem.Place, b hcl.Body) *ConfigFile {
	place.Line = 1
	f := &ConfigFile{Name: name, Place: place, Body: Body{b}, locals: map[string]*hcl.Attribute{}, features: map[string]Block{}}
	for _, b := range f.Body.Blocks("locals", 0) {
		for name, attr := range b.Body.Attributes() {
			f.locals[name] = attr
		}
	}
	f.Includes = f.Body.Blocks("include", 1)
	for _, b := range f.Body.Blocks("feature", 1) {
		f.features[b.Label] = b
	}
	return f
}

// At is the place of a line, for messages.
func (f *ConfigFile) At(line int) problem.Place {
	at := f.Place
	at.Line = line
	return at
}

// Body is the content of a file or block, in native syntax or in JSON. JSON does not tell
// blocks from attributes.
type Body struct{ hcl.Body }

// Block is a block of any kind. Several labels are joined by spaces.
type Block struct {
	Body  Body
	Label string
	Line  int
}

// native reports whether a body is in native syntax.
func (b Body) native() bool {
	_, ok := b.Body.(*hclsyntax.Body)
	return ok
}

// Attributes are the attributes by name, without blocks.
func (b Body) Attributes() map[string]*hcl.Attribute {
	attrs, _ := b.JustAttributes() // the errors are about other parts
	return attrs
}

// Attribute is nil if the body has none of this name.
func (b Body) Attribute(name string) *hcl.Attribute {
	if native, ok := b.Body.(*hclsyntax.Body); ok {
		if attr := native.Attributes[name]; attr != nil {
			return attr.AsHCLAttribute()
		}
		return nil
	}
	return b.Attributes()[name]
}

// Blocks are the blocks of one kind, in the order of the file. labels is how many labels
// the kind has, which JSON does not show.
func (b Body) Blocks(kind string, labels int) []Block {
	var found []Block
	if native, ok := b.Body.(*hclsyntax.Body); ok {
		for _, n := range native.Blocks {
			if n.Type == kind {
				found = append(found, Block{Body{n.Body}, strings.Join(n.Labels, " "), n.DefRange().Start.Line})
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
		found = append(found, Block{Body{n.Body}, strings.Join(n.Labels, " "), n.DefRange.Start.Line})
	}
	return found
}
