package modulelock

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/relock-dev/relock/internal/hclfile"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

var fileSchema = &hcl.BodySchema{
	Blocks: []hcl.BlockHeaderSchema{{Type: "module", LabelNames: []string{"address", "version"}}},
}

var entrySchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "package"}, {Name: "hash", Required: true}},
}

// Parse reads the content of a lock file of modules. An empty file has no entries. The path
// is only for messages.
//
// If there is any error, the file is nil and all errors are returned, in the order of their
// lines, with the codes of lockfile.Parse. Arguments are evaluated as there.
func Parse(src []byte, path string) (*File, []problem.Problem) {
	if len(src) > lockfile.MaxSize {
		return nil, []problem.Problem{{
			Code: problem.CodeUnreadable, Place: problem.Place{Path: path, Line: 1}, Message: lockfile.ErrTooLarge.Error(),
		}}
	}
	body, errors := lockfile.Body(src, path)
	if body == nil {
		return nil, errors
	}
	p := &parser{path: path, lines: map[Key]int{}}
	p.file(body)
	slices.SortStableFunc(p.errors, problem.Problem.Compare)
	if len(p.errors) > 0 {
		return nil, p.errors
	}
	slices.SortFunc(p.entries, Entry.compare)
	f := &File{Path: path, Source: src, Entries: p.entries}
	f.Warnings = comments(f)
	return f, nil
}

// comments warns of the first comment that Print does not write.
func comments(f *File) []problem.Problem {
	if bytes.Equal(f.Print(), f.Source) {
		return nil
	}
	tokens, _ := hclsyntax.LexConfig(f.Source, "", hcl.InitialPos) // parsing has found no errors
	for _, t := range tokens {
		if t.Type != hclsyntax.TokenComment || strings.Contains(header, strings.TrimSpace(string(t.Bytes))+"\n") {
			continue
		}
		return []problem.Problem{{
			Severity: problem.SeverityWarning, Code: problem.CodeInvalidLock, Place: problem.Place{Path: f.Path, Line: t.Range.Start.Line},
			Message: "comments other than the header are lost when the file is written",
		}}
	}
	return nil
}

// parser collects the content of one file.
type parser struct {
	path    string
	entries []Entry
	lines   map[Key]int // of the first block of each key
	errors  problem.Several
}

func (p *parser) file(body *hclsyntax.Body) {
	_, diags := body.Content(fileSchema)
	p.hcl("", diags)
	for _, block := range body.Blocks {
		if block.Type == "module" && len(block.Labels) == 2 { // Content has reported the others
			p.entry(block)
		}
	}
}

func (p *parser) entry(block *hclsyntax.Block) {
	e := Entry{Key: Key{block.Labels[0], block.Labels[1]}, line: block.TypeRange.Start.Line}
	if len(e.Address)+len(e.Version) > staticeval.MaxConstant {
		p.invalid(block.LabelRanges[0], "", "the labels must not take more than %d bytes", staticeval.MaxConstant)
		return
	}
	addr, wrong := address(e.Address)
	if wrong != "" {
		p.invalid(block.LabelRanges[0], "", "invalid module package address: %s", wrong)
		return
	}
	if wrong := version(addr, e.Version); wrong != "" {
		p.invalid(block.LabelRanges[1], moduleaddr.Shown(e.Address), "invalid module version: %s", wrong)
		return
	}
	content, diags := block.Body.Content(entrySchema)
	p.hcl(e.String(), diags)
	e.Package = p.text(e, content.Attributes["package"], func(text string) string { return repository(addr, text) })
	e.Hash = p.text(e, content.Attributes["hash"], func(text string) string { return hash(addr, e.Package, text) })
	if first, ok := p.lines[e.Key]; ok {
		p.invalid(block.TypeRange, e.String(), "duplicate module lock: %s already has a block in line %d", e, first)
		return
	}
	p.lines[e.Key] = e.line
	p.entries = append(p.entries, e)
}

// text reads an argument that must be a string. check says what is wrong with it. A missing
// required argument has already been reported.
func (p *parser) text(e Entry, attr *hcl.Attribute, check func(text string) string) string {
	if attr == nil {
		return ""
	}
	text, wrong := lockfile.Text(attr.Expr, e.String(), p.path)
	for _, d := range wrong {
		p.report(e.String(), d)
	}
	if len(wrong) > 0 {
		return ""
	}
	if wrong := check(text); wrong != "" {
		p.invalid(attr.Expr.Range(), e.String(), "invalid %s: that of %s %s", attr.Name, e, wrong)
	}
	return text
}

// address reads a first label, and says what is wrong with it. The text has what people may
// see of the label.
func address(label string) (a moduleaddr.Address, wrong string) {
	a, err := moduleaddr.Parse(label, provider.Terraform)
	if err != nil || a.Kind != moduleaddr.Registry && a.Kind != moduleaddr.Remote {
		return a, "the label must be the address of a package, in a registry with its host, or a URL"
	}
	if a.Kind == moduleaddr.Remote && a.Package.OnDisk() && a.Package.Getter != "git" {
		return a, "a package on this machine's disk cannot be locked, unless it is a git repository"
	}
	normal, ref := a.Label()
	if normal != label || ref != "" || a.Subdir != "" {
		return a, fmt.Sprintf("the label must be written as the tools write the package's address, without subdirectory, "+
			"ref, depth, checksum, keys and credentials: %q", moduleaddr.Shown(normal))
	}
	return a, ""
}

// version says what is wrong with the second label.
func version(addr moduleaddr.Address, text string) string {
	switch {
	case addr.Kind == moduleaddr.Registry:
		v, err := provider.ParseVersion(text)
		if err != nil {
			return "the second label of a registry's module must be like 1.2.3 or 1.2.3-beta.1"
		}
		if v.String() != text {
			return fmt.Sprintf("the second label must be written as %q", v)
		}
	case addr.Package.Getter != "git" && text != "":
		return `the second label must be "" unless the package is in a registry or in a git repository`
	case !moduleaddr.PlausibleRef(text):
		return "the second label is no name of a commit"
	}
	return ""
}

// repository says what is wrong with the repository that a registry names.
func repository(addr moduleaddr.Address, text string) string {
	if addr.Kind != moduleaddr.Registry {
		return "must be left out: the address is already that of the package"
	}
	a, err := moduleaddr.Parse(text, provider.Terraform)
	if err != nil || a.Kind != moduleaddr.Remote || a.Package.Getter != "git" {
		return "must be the address of a git repository, like git::https://example.com/network.git"
	}
	if a.Repository() != text {
		return fmt.Sprintf("must be written without ref, depth, checksum, keys and credentials: %q", moduleaddr.Shown(a.Repository()))
	}
	return ""
}

// The schemes of hashes.
const (
	schemeGit = "git:"
	schemeOCI = "oci:"
	schemeH1  = "h1:"
)

// hash says what is wrong with a hash.
func hash(addr moduleaddr.Address, repository, text string) string {
	if !digits.MatchString(text) && !(strings.HasPrefix(text, schemeH1) && provider.Hash(text).WellFormed()) {
		return "must be git: and a commit of 40 digits, oci:sha256: and 64 digits, or h1: and a hash of files"
	}
	getter := addr.Package.Getter
	if repository != "" {
		getter = "git"
	}
	scheme := text[:strings.Index(text, ":")+1]
	switch {
	case getter == "git" && scheme != schemeGit:
		return "must begin with git:, since the package is in a git repository"
	case getter == "oci" && scheme != schemeOCI:
		return "must begin with oci:, since the package is in an OCI registry"
	}
	return ""
}

var digits = regexp.MustCompile(`^(` + schemeGit + `[0-9a-f]{40}|` + schemeOCI + `sha256:[0-9a-f]{64})$`)

// invalid adds an error at a place. about is the entry.
func (p *parser) invalid(rng hcl.Range, about, format string, args ...any) {
	p.report(about, problem.Problem{
		Code: problem.CodeInvalidLock, Place: problem.Place{Path: p.path, Line: rng.Start.Line}, Message: fmt.Sprintf(format, args...),
	})
}

// hcl adds HCL's own diagnostics.
func (p *parser) hcl(about string, diags hcl.Diagnostics) {
	for _, d := range hclfile.ErrorsIn(diags, problem.CodeInvalidLock, problem.Place{Path: p.path}) {
		p.report(about, d)
	}
}

func (p *parser) report(about string, d problem.Problem) {
	d.About = about
	p.errors = p.errors.With(d, problem.CodeInvalidLock)
}
