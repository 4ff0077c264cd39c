package lockfile

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/relock-dev/relock/internal/hclfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

var fileSchema = &hcl.BodySchema{
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "provider", LabelNames: []string{"source_addr"}},
		{Type: "module", LabelNames: []string{"path"}},
	},
}

var lockSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "version", Required: true},
		{Name: "constraints"},
		{Name: "hashes"},
	},
}

// Parse reads the content of a lock file; an empty one has no locks. The path
// is only for messages.
//
// The file is nil if there is any error; all errors are then returned, in the
// order of their lines: CodeSyntax for what is not HCL, CodeConflict alone where
// that is for the markers of a merge conflict, CodeInvalidLock for what the tools
// refuse. Their messages repeat nothing of the file but
// identifiers and what has a canonical form [terraform 1.11 internal/depsfile/locks_file.go].
//
// Expressions are evaluated as the tools do it, without variables and
// functions, so that "h1:${1+1}" is h1:2. What the tools would try is refused
// where it need not end in useful time or memory, since the file may come from
// anyone: what package hclfile refuses [terraform 1.11 internal/depsfile/locks_file.go].
func Parse(src []byte, path string) (*File, []problem.Problem) {
	if f, ok := quick(src, path); ok {
		return f, nil
	}
	return parseHCL(src, path)
}

func parseHCL(src []byte, path string) (*File, []problem.Problem) {
	tool, keeper := headerTool(src)
	p := &parser{src: src, path: path, tool: tool, lines: map[provider.Addr]int{}}
	p.file()
	slices.SortStableFunc(p.errors, problem.Problem.Compare)
	if len(p.errors) > 0 {
		return nil, p.errors
	}
	slices.SortFunc(p.locks, Lock.Compare)
	return &File{
		Path: path, Source: src, Tool: p.tool, Keeper: keeper,
		Locks: p.locks, Warnings: p.warnings,
	}, nil
}

// headerTool looks for a header line in the comments before the first block: of
// which tool it is, and which command it names if that is one for stacks.
func headerTool(src []byte) (tool provider.ToolName, keeper string) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	for line := range bytes.Lines(src) {
		text := string(bytes.TrimSpace(line))
		stack := stackHeader.FindStringSubmatch(text)
		switch {
		case text == maintainedBy(provider.Terraform.Command()+" init"):
			return provider.Terraform, ""
		case text == maintainedBy(provider.OpenTofu.Command()+" init"):
			return provider.OpenTofu, ""
		case stack != nil:
			return provider.Terraform, stack[1]
		case text != "" && !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "//"):
			return "", ""
		}
	}
	return "", ""
}

// stackHeader is the header line of a stack's lock file. Releases of the command
// spell its name differently, as files in public repositories show.
var stackHeader = regexp.MustCompile(`^# This file is maintained automatically by "((?:tfstacks|terraform stacks) providers[ -]lock)"\.$`)

// parser collects what one file holds.
type parser struct {
	src  []byte
	path string
	tool provider.ToolName

	locks    []Lock
	lines    map[provider.Addr]int // of the first block of each provider
	errors   problem.Several
	warnings []problem.Problem
}

func (p *parser) file() {
	f, errors := hclfile.Parse(p.src, problem.Place{Path: Name}) // the syntax is the native one, whatever the file is called
	if f == nil {
		if line := markerLine(p.src); line > 0 {
			p.errors = append(p.errors, conflictAt(p.path, line))
			return
		}
		for _, d := range errors {
			d.Place.Path = p.path
			p.report(d)
		}
		return
	}
	body := f.Body.(*hclsyntax.Body)
	_, diags := body.Content(fileSchema)
	p.hcl(provider.Addr{}, diags)
	for _, block := range body.Blocks {
		switch {
		case len(block.Labels) != 1: // reported by Content, like unknown types
		case block.Type == "provider":
			p.provider(block)
		case block.Type == "module" && len(p.warnings) == 0:
			// The tools warn once: the block is reserved for releases to come, and what
			// it holds is ignored.
			p.warnings = append(p.warnings, problem.Problem{
				Severity: problem.SeverityWarning,
				Code:     problem.CodeInvalidLock,
				Message:  "dependency locks for modules are not supported: module blocks are ignored and lost when the file is written",
				Place:    problem.Place{Path: p.path, Line: block.TypeRange.Start.Line},
			})
		}
	}
}

func (p *parser) provider(block *hclsyntax.Block) {
	addr, ok := p.addr(block)
	if !ok {
		return
	}
	content, diags := block.Body.Content(lockSchema)
	p.hcl(addr, diags)
	version := p.version(addr, content.Attributes["version"])
	constraints := p.constraints(addr, content.Attributes["constraints"])
	places := p.hashes(addr, content.Attributes["hashes"])

	line := block.TypeRange.Start.Line
	if first, ok := p.lines[addr]; ok {
		p.invalid(block.TypeRange, addr, "duplicate provider lock: %s already has a block in line %d", addr, first)
		return
	}
	p.lines[addr] = line

	p.locks = append(p.locks, Lock{
		Addr: addr, Version: version, Constraints: constraints, Hashes: slices.Sorted(maps.Keys(places)),
		source: p.src[block.TypeRange.Start.Byte:block.CloseBraceRange.End.Byte], line: line, places: hashPlaces{at: places},
	})
}

// addr reads the block's label, which must be an address in full, in canonical
// form, and of a provider that can be locked at all. A block whose label is
// wrong is not looked into. A short label is refused too; it is read only so that
// the message can name the full one.
func (p *parser) addr(block *hclsyntax.Block) (provider.Addr, bool) {
	rng, label := block.LabelRanges[0], block.Labels[0]
	addr, err := provider.ParseAddr(label, p.tool)
	switch {
	case err != nil:
		p.invalid(rng, provider.Addr{}, "invalid provider source address: the label must have the form HOST/NAMESPACE/TYPE")
	case addr.Builtin():
		p.invalid(rng, addr, "invalid provider source address: %s is built into the tool and cannot be locked", addr)
	case addr.Legacy():
		p.invalid(rng, addr, "invalid provider source address: %s is a name of Terraform 0.12 and earlier and cannot be locked", addr)
	case addr.String() != label:
		p.invalid(rng, addr, "non-normalized provider source address: the label must be written as %q", addr)
	default:
		return addr, true
	}
	return provider.Addr{}, false
}

func (p *parser) version(addr provider.Addr, attr *hcl.Attribute) provider.Version {
	text, ok := p.text(addr, attr)
	if !ok {
		return provider.Version{}
	}
	v, err := provider.ParseVersion(text)
	switch {
	case err != nil:
		p.invalid(attr.Expr.Range(), addr, "invalid provider version number: the version of %s must be like 1.2.3 or 1.2.3-beta.1", addr)
	case v.String() != text:
		p.invalid(attr.Expr.Range(), addr, "invalid provider version number: the version of %s must be written as %q", addr, v)
	}
	return v
}

// constraints reads the constraints that were recorded last. An empty string
// stands for none: no tool writes it, both read it.
func (p *parser) constraints(addr provider.Addr, attr *hcl.Attribute) provider.Constraints {
	text, ok := p.text(addr, attr)
	if !ok || text == "" {
		return provider.Constraints{}
	}
	c, err := provider.ParseConstraints(text)
	switch {
	case err != nil:
		p.invalid(attr.Expr.Range(), addr, "invalid provider version constraints: those of %s must be like \">= 1.2.3, < 2.0.0\"", addr)
	case c.String() != text:
		p.invalid(attr.Expr.Range(), addr, "invalid provider version constraints: those of %s must be written as %q", addr, c)
	}
	return c
}

// hashes reads a list of hashes and where each stands first. The list must be
// written as one: that lets each element be reported by itself. Without the
// argument the entry has no hash; the next installation will add some.
func (p *parser) hashes(addr provider.Addr, attr *hcl.Attribute) map[provider.Hash]hashPlace {
	if attr == nil {
		return nil
	}
	exprs, diags := hcl.ExprList(attr.Expr)
	p.hcl(addr, diags)
	if len(exprs) == 0 && !diags.HasErrors() {
		p.invalid(attr.Expr.Range(), addr, "invalid provider hash set: the hashes of %s must be left out or hold at least one", addr)
	}
	places := make(map[provider.Hash]hashPlace, len(exprs))
	for _, expr := range exprs {
		text, ok := p.evaluate(addr, expr)
		if !ok {
			continue
		}
		h, err := provider.ParseHash(text)
		if err != nil {
			p.invalid(expr.Range(), addr, "invalid provider hash string: a hash of %s must begin with a scheme and a colon, like h1: or zh:", addr)
			continue
		}
		rng := expr.Range()
		at := hashPlace{line: int32(rng.Start.Line)}
		if rng.Start.Line == rng.End.Line {
			at.from, at.to = int32(rng.Start.Column), int32(rng.End.Column)
		}
		if _, again := places[h]; !again {
			places[h] = at
		}
	}
	return places
}

// text reads an argument that must be a string or convert to one. That a
// required one is missing has been reported by then.
func (p *parser) text(addr provider.Addr, attr *hcl.Attribute) (string, bool) {
	if attr == nil {
		return "", false
	}
	return p.evaluate(addr, attr.Expr)
}

func (p *parser) evaluate(addr provider.Addr, expr hcl.Expression) (string, bool) {
	value, why, diags := staticeval.Constant(expr)
	switch why {
	case nil:
	case staticeval.Long:
		p.invalid(expr.Range(), addr, "unsuitable value: what is locked for %s must not take more than %d bytes", addr, staticeval.MaxConstant)
		return "", false
	case staticeval.Loop:
		p.invalid(expr.Range(), addr, "unsuitable value: what is locked for %s must not be computed by a for expression", addr)
		return "", false
	case staticeval.Splat:
		p.invalid(expr.Range(), addr, "unsuitable value: what is locked for %s must not be computed by a splat expression", addr)
		return "", false
	default:
		p.invalid(expr.Range(), addr, "unsuitable value: what is locked for %s must not hold a number that is so large or small", addr)
		return "", false
	}
	p.hcl(addr, diags)
	if diags.HasErrors() {
		return "", false
	}
	value, err := convert.Convert(value, cty.String)
	if err != nil || value.IsNull() || !value.IsKnown() {
		p.invalid(expr.Range(), addr, "unsuitable value: what is locked for %s must be a string", addr)
		return "", false
	}
	return value.AsString(), true
}

// invalid adds an error about what is at a place.
func (p *parser) invalid(rng hcl.Range, addr provider.Addr, format string, args ...any) {
	p.report(problem.Problem{
		Code:    problem.CodeInvalidLock,
		Message: fmt.Sprintf(format, args...),
		Place:   problem.Place{Path: p.path, Line: rng.Start.Line},
		Subject: problem.Subject{Addr: addr},
	})
}

// hcl adds HCL's own diagnostics.
func (p *parser) hcl(addr provider.Addr, diags hcl.Diagnostics) {
	for _, d := range hclfile.ErrorsIn(diags, problem.CodeInvalidLock, problem.Place{Path: p.path}) {
		d.Subject.Addr = addr
		p.report(d)
	}
}

// report adds an error.
func (p *parser) report(d problem.Problem) { p.errors = p.errors.With(d, problem.CodeInvalidLock) }
