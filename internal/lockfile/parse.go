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

	"github.com/relock-dev/relock/internal/hclfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
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

// Parse reads the content of a lock file. An empty file has no locks. The path is only for
// messages.
//
// If there is any error, the file is nil and all errors are returned, in the order of their
// lines. CodeSyntax is for text that is not HCL. CodeConflict replaces it if the cause is
// the markers of a merge conflict. CodeInvalidLock is for content that the tools refuse.
// Messages repeat only identifiers and values in canonical form [terraform 1.11
// internal/depsfile/locks_file.go].
//
// Expressions are evaluated as the tools do it, without variables and functions:
// "h1:${1+1}" is h1:2. The file may come from anyone, so expressions that may take too much
// time or memory are refused, although the tools would try them. Package hclfile decides
// which ones these are [terraform 1.11 internal/depsfile/locks_file.go].
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

// headerTool finds the header line in the comments before the first block. It returns the
// header's tool, and its command if that keeps the lock files of stacks.
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

// stackHeader is the header line of a stack's lock file. Files in public repositories show
// that releases spell the command's name differently.
var stackHeader = regexp.MustCompile(`^# This file is maintained automatically by "((?:tfstacks|terraform stacks) providers[ -]lock)"\.$`)

// parser collects the content of one file.
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
	body, errors := Body(p.src, p.path)
	if body == nil {
		for _, d := range errors {
			p.report(d)
		}
		return
	}
	_, diags := body.Content(fileSchema)
	p.hcl(provider.Addr{}, diags)
	for _, block := range body.Blocks {
		switch {
		case len(block.Labels) != 1: // Content has reported it, like unknown types
		case block.Type == "provider":
			p.provider(block)
		case block.Type == "module" && len(p.warnings) == 0:
			// The tools warn once: the block is reserved for later releases, and its
			// content is ignored.
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

// addr reads the block's label. It must be a full address in canonical form, of a provider
// that can be locked. If it is wrong, the block is not read. A short label is refused, too;
// it is read only to name the full one in the message.
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

// constraints reads the recorded constraints. An empty string means none: no tool writes
// it, both read it.
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

// hashes reads a list of hashes with the first place of each. The argument must be a
// literal list, so that errors can name the element. Without the argument the entry has no
// hashes, and the next installation will add some.
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

// text reads an argument that must be a string or convert to one. A missing required
// argument has already been reported.
func (p *parser) text(addr provider.Addr, attr *hcl.Attribute) (string, bool) {
	if attr == nil {
		return "", false
	}
	return p.evaluate(addr, attr.Expr)
}

func (p *parser) evaluate(addr provider.Addr, expr hcl.Expression) (string, bool) {
	text, wrong := Text(expr, addr.String(), p.path)
	for _, d := range wrong {
		d.Subject.Addr = addr
		p.report(d)
	}
	return text, len(wrong) == 0
}

// invalid adds an error at a place.
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

func (p *parser) report(d problem.Problem) { p.errors = p.errors.With(d, problem.CodeInvalidLock) }
