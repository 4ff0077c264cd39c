package scan

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/provider"
)

// stackExtensions are those of the files that say what a stack requires. The second
// ones are those of releases before 1.14, which later ones ignore
// [terraform 1.14 internal/stacks/stackconfig/file.go].
var stackExtensions = [][]string{{".tfcomponent.hcl", ".tfcomponent.json"}, {".tfstack.hcl", ".tfstack.json"}}

// deployExtension is that of files which only the top of a stack has, not a stack
// that another one embeds [docs: developer.hashicorp.com/terraform/language/stacks/create/config].
const deployExtension = ".tfdeploy.hcl"

// stackFile reports whether a file belongs to a stack, which has a language
// and locks of its own.
func StackFile(name string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".json"), ".hcl")
	return strings.HasSuffix(name, ".tfcomponent") || strings.HasSuffix(name, ".tfstack") || strings.HasSuffix(name, ".tfdeploy")
}

// stackTop reports whether a directory is the top of a stack.
func stackTop(at Directory) bool {
	entries, _ := at.Entries()
	return len(componentFiles(entries)) > 0 && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), deployExtension) })
}

// componentFiles are the files of a directory that say what a stack requires.
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

// keep notes how the lock file of a stack is kept: its command records no
// constraints, as lock files in public repositories show. One that states some is
// kept otherwise. OpenTofu has no stacks.
func (r *Root) keep(at Directory) {
	entries, _ := at.Entries()
	r.Standalone = len(componentFiles(entries)) == 0
	if r.Guessed = false; r.Tool.Name != provider.Terraform {
		r.Tool, r.Assumed = provider.Newest(provider.Terraform), true
	}
	r.Keeper = lockfile.StackKeeper
	if r.Lock != nil {
		r.Keeper = r.Lock.Keeper
	}
	r.Bare = r.Lock == nil || !slices.ContainsFunc(r.Lock.Locks, func(l lockfile.Lock) bool { return !l.Constraints.Empty() })
}

// standIn takes what the lock file of a stack has for what is required, since not all
// stacks that it embeds could be read. No constraints are recorded, so that hashes can
// be completed and nothing else.
func (m *RootModule) standIn() {
	for _, u := range m.Tree.Unread {
		m.Tree.Diagnostics = append(m.Tree.Diagnostics, provider.Diagnostic{
			Severity: provider.SeverityWarning, Code: provider.CodeStack, File: u.File, Line: u.Line,
			Message: "the embedded stack " + u.Module + " is not read: " + u.Reason,
		})
	}
	m.Standalone = true
	m.Tree.Requirements, m.Tree.Unread = Recorded(m.Lock), nil
}

// stack loads the component files of a directory, once. What a stack requires is
// what they say: the modules of its components require nothing by themselves
// [docs: developer.hashicorp.com/terraform/language/block/stack/tfcomponent/required_providers].
// Stacks that it embeds say it for themselves
// [terraform 1.14 internal/stacks/stackconfig/config.go].
func (l Directory) Stack(tool provider.Tool) *Configuration {
	key := configKey{dir: l.Path, rules: tool.Rules(), stack: true}
	return l.Tree.configs.get(key, func() *Configuration {
		m := newMerger(l, key.rules)
		entries, err := l.Entries()
		if err != nil {
			m.Unreadable("directory", l.String(), err)
		}
		files := m.decode(componentFiles(entries), false, decodeStackFile)
		m.require(files, nil)
		for _, f := range files {
			m.declare(f)
		}
		m.locateCalls()
		m.resolve()
		m.c.Diagnostics, m.c.Tests = m.Diags, func() *Tests { return &Tests{} }
		return m.c
	})
}

var (
	stackSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "required_providers"},
		{Type: "stack", LabelNames: []string{"name"}},
	}}
	embeddedSchema = &hcl.BodySchema{Attributes: attributes("source", "version")}
)

// decodeStackFile reads a component file, as far as it says what is required.
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
		f.calls = append(f.calls, ModuleCall{Place: placeOf(block.DefRange), Name: block.Labels[0], source: attrs["source"], version: attrs["version"], Stack: true})
	}
	return f
}

// decodeStackRequired reads required_providers of a stack, where both source and
// version must be said [terraform 1.14 internal/stacks/stackconfig/provider_requirements.go].
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

// decodeStackSource reads where an embedded stack is. Those from elsewhere are not
// read: of the packages that are fetched only the files of modules are kept.
func decodeStackSource(d *decoder, c ModuleCall) ModuleSource {
	source, ok := d.text(c.source.Expr)
	if !ok {
		return ModuleSource{}
	}
	m := ModuleSource{Kind: UnknownSource, Text: source.text, Place: placeOf(c.source.Expr.Range())}
	m.Why.Reason = "it comes from outside of the repository"
	if addr, _ := moduleaddr.Parse(source.text, d.tool.Name); addr.Kind == moduleaddr.Local {
		m.Kind, m.Addr = LocalSource, addr
	}
	return m
}
