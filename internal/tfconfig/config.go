package tfconfig

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Configuration is the configuration of one module without the modules that it calls. Its
// files are merged by the rules of a tool. It does not change after loading, and all module
// trees with its directory share it.
type Configuration struct {
	Directory Directory
	Tool      provider.Tool // the oldest release with these rules
	files     moduleFiles

	required map[string]requiredProvider // by local name
	// unresolved has the data for looking up the providers, if required_providers must be
	// evaluated first; else nil. open are the local names whose provider is not known.
	unresolved *merger
	open       map[string]bool
	Needs      []Need
	Calls      []ModuleCall // sorted by name
	// Variables and Locals are only for early evaluation.
	Variables   map[string]Variable
	Locals      map[string]*hcl.Attribute
	imports     []importBlock
	Versions    []VersionText // of the tool itself
	Doubts      []Doubt
	RootOnly    bool // it has a part that makes sense only in a root module
	Diagnostics []problem.Problem
	// Tests reads the test files in the directory of the configuration, once.
	Tests func() *Tests
}

// Need is a term of a requirement, or a place that needs a provider without a constraint,
// as far as one module shows it.
type Need struct {
	Place problem.Place
	Addr  provider.Addr
	Term  provider.Term
	// Source and Version are the written expressions of the address and the term. They are
	// empty for literals.
	Source, Version string
	// Written is the literal text of the term, if that is not its canonical form.
	Written string
}

// configKey is a directory of a tree with the rules of a tool.
type configKey struct {
	dir   string
	rules provider.Tool
	stack bool // the configuration of a stack
}

// Configuration loads the configuration of a directory by the rules of a tool, once.
func (d Directory) Configuration(tool provider.Tool) *Configuration {
	key := configKey{dir: d.Path, rules: tool.Rules()}
	return d.Tree.configs.Get(key, func() *Configuration { return load(d, key) })
}

// Stack loads the component files of a directory, once. They state all requirements of a
// stack: the modules of its components require nothing by themselves [docs:
// developer.hashicorp.com/terraform/language/block/stack/tfcomponent/required_providers].
// Embedded stacks state their own [terraform 1.14 internal/stacks/stackconfig/config.go].
func (d Directory) Stack(tool provider.Tool) *Configuration {
	key := configKey{dir: d.Path, rules: tool.Rules(), stack: true}
	return d.Tree.configs.Get(key, func() *Configuration { return load(d, key) })
}

// Components are the files in a directory that state the requirements of a stack.
func (d Directory) Components() []string {
	entries, _ := d.Entries()
	return componentFiles(entries)
}

// load joins the primary files of a directory. Then the override files, in the order of
// their names, replace parts of them. required_providers is complete before any provider is
// looked up.
func load(at Directory, key configKey) *Configuration {
	c := &Configuration{
		Directory: at, Tool: key.rules, required: map[string]requiredProvider{},
		open:      map[string]bool{},
		Variables: map[string]Variable{}, Locals: map[string]*hcl.Attribute{},
	}
	m := &merger{c: c, providers: map[providerRef]providerBlock{}, resources: map[resourceKey]resource{}, calls: map[string]ModuleCall{}}
	entries, err := at.Entries()
	if err != nil {
		m.Unreadable("directory", at.Tree.Place(at.Path), err)
	}
	c.files = files(entries, c.Tool)
	if key.stack {
		c.files = moduleFiles{primary: componentFiles(entries)}
	}
	var decoded []file
	for i, name := range slices.Concat(c.files.primary, c.files.override) {
		m.read(name, i >= len(c.files.primary), func(src []byte, d *decoder) {
			if key.stack {
				decoded = append(decoded, decodeStackFile(src, d))
			} else {
				decoded = append(decoded, at.Tree.decode(at.Join(name), src, d))
			}
		})
	}
	m.require(decoded)
	for _, f := range decoded {
		c.Doubts = append(c.Doubts, f.doubts...)
	}
	for name, entry := range c.required {
		c.open[name] = entry.unclear
	}
	for _, f := range decoded {
		if f.override {
			m.override(f)
		} else {
			m.declare(f)
		}
	}
	m.locateCalls()
	if slices.ContainsFunc(slices.Collect(maps.Values(c.required)), requiredProvider.early) {
		c.unresolved = m
	} else {
		m.resolve()
	}
	c.Needs, c.Diagnostics = m.needs, m.Diags
	c.Tests = sync.OnceValue(func() *Tests {
		if key.stack {
			return &Tests{} // it has none
		}
		return loadTests(c)
	})
	return c
}

// merger makes one configuration from many files.
type merger struct {
	Mistakes
	c         *Configuration
	providers map[providerRef]providerBlock
	resources map[resourceKey]resource
	calls     map[string]ModuleCall
	needs     []Need
}

func (m *merger) read(name string, override bool, decode func(src []byte, d *decoder)) {
	d := &decoder{tool: m.c.Tool, file: m.c.Directory.Place(name), override: override}
	src, err := m.c.Directory.Read(name)
	if err != nil {
		m.Unreadable("file", d.file, err)
		return
	}
	decode(src, d)
	m.Diags = append(m.Diags, d.Diags...)
}

// require merges required_providers. All primary files together may have one block.
// Override files may have any number, and their entries replace whole entries with the same
// local name.
func (m *merger) require(decoded []file) {
	var first *requiredBlock
	for _, f := range decoded {
		for i, block := range f.required {
			if first != nil && !f.override {
				m.Add(block.Place, "duplicate required_providers block: the module has one at %s", first.Place)
				continue
			}
			first = cmp.Or(first, &f.required[i])
			for _, entry := range block.entries {
				m.c.required[entry.name] = entry
			}
		}
	}
}

// declare adds the declarations of a primary file. Nothing may be declared twice.
func (m *merger) declare(f file) {
	for _, p := range f.providers {
		if old, ok := m.providers[p.ref]; ok {
			m.Add(p.Place, "duplicate provider configuration: %s is configured at %s", p.ref, old.Place)
			continue
		}
		m.providers[p.ref] = p
	}
	for _, r := range f.resources {
		if old, ok := m.resources[r.resourceKey]; ok {
			m.Add(r.Place, "duplicate %s configuration: %s is declared at %s", r.kind, r.resourceKey, old.Place)
			continue
		}
		m.resources[r.resourceKey] = r
	}
	for _, c := range f.calls {
		if old, ok := m.calls[c.Name]; ok {
			m.Add(c.Place, "duplicate module call: module.%s is called at %s", c.Name, old.Place)
			continue
		}
		m.calls[c.Name] = c
	}
	for _, v := range f.variables {
		m.c.Variables[v.Name] = v
	}
	maps.Copy(m.c.Locals, f.locals)
	m.c.imports = append(m.c.imports, f.imports...)
	m.c.Versions = append(m.c.Versions, f.versions...)
	m.c.RootOnly = m.c.RootOnly || f.rootOnly
}

// override applies an override file. A primary file must declare what it changes, except
// for the default configuration of a provider.
func (m *merger) override(f file) {
	for _, p := range f.providers {
		m.overrideProvider(p)
	}
	for _, r := range f.resources {
		m.overrideResource(r)
	}
	for _, c := range f.calls {
		base, ok := m.calls[c.Name]
		if !ok {
			m.Add(c.Place, "missing module call to override: no primary file calls module.%s", c.Name)
			continue
		}
		base.override(c)
		m.calls[c.Name] = base
	}
	for _, v := range f.variables {
		m.c.Variables[v.Name] = m.c.Variables[v.Name].override(v)
	}
	maps.Copy(m.c.Locals, f.locals)
	switch {
	case m.c.Tool.Has(provider.LanguageBlocks): // every file counts by itself
		m.c.Versions = append(m.c.Versions, f.versions...)
	case len(f.versions) > 0:
		m.c.Versions = f.versions
	}
	m.c.RootOnly = m.c.RootOnly || f.rootOnly
}

func (m *merger) overrideProvider(p providerBlock) {
	base, ok := m.providers[p.ref]
	switch {
	case !ok && p.ref.alias != "":
		m.Add(p.Place, "missing provider configuration to override: no primary file configures %s", p.ref)
		return
	case !ok:
		base = p
	case p.version != nil:
		base.version = p.version
	}
	m.providers[p.ref] = base
}

func (m *merger) overrideResource(r resource) {
	// Terraform ignores ephemeral blocks of override files [case 256].
	if r.kind == "ephemeral" && m.c.Tool.Name == provider.Terraform {
		return
	}
	base, ok := m.resources[r.resourceKey]
	if !ok {
		m.Add(r.Place, "missing %s to override: no primary file declares %s", r.kind, r.resourceKey)
		return
	}
	if r.provider != (providerRef{}) {
		base.provider = r.provider
	}
	m.resources[r.resourceKey] = base
}

// locateCalls finds the places of called modules after override files have changed sources
// and versions.
func (m *merger) locateCalls() {
	for _, name := range slices.Sorted(maps.Keys(m.calls)) {
		c := m.calls[name]
		d := &decoder{tool: m.c.Tool}
		if c.Stack {
			c.Module = decodeStackSource(d, c)
		} else {
			c.Module = decodeSource(d, c, evaluatesEarly(m.c.Tool))
		}
		m.Diags = append(m.Diags, d.Diags...)
		if pin := c.pin(); pin != nil {
			c.Pin, c.Expression = pin.place(), pin.written
		}
		if c.Module.Kind != EarlySource {
			c.source, c.version = nil, nil // release the parsed files
		}
		m.c.Calls = append(m.c.Calls, c)
	}
}

// resolve finds which providers the module needs. The place of the need is in
// required_providers or in a provider block with a constraint. For any other provider it is
// the first place that implies it.
func (m *merger) resolve() {
	named := map[provider.Addr]bool{}
	for _, name := range slices.Sorted(maps.Keys(m.c.required)) {
		entry := m.c.required[name]
		if m.c.open[name] {
			continue
		}
		named[entry.addr] = true
		m.need(entry, entry.version, entry.Place)
	}
	var implied []Need
	for _, p := range slices.SortedFunc(maps.Values(m.providers), providerBlock.compare) {
		addr, ok := m.provider(p.ref.name, p.Place)
		switch {
		case ok && p.version != nil:
			named[addr] = true
			m.need(requiredProvider{addr: addr}, p.version, p.Place)
		case ok:
			implied = append(implied, Need{Addr: addr, Place: p.Place})
		}
	}
	for _, r := range m.resources {
		if addr, ok := m.provider(cmp.Or(r.provider.name, impliedName(r.typ)), r.Place); ok {
			implied = append(implied, Need{Addr: addr, Place: r.Place})
		}
	}
	for _, i := range m.c.imports {
		if addr, ok := m.importProvider(i); ok {
			implied = append(implied, Need{Addr: addr, Place: i.Place})
		}
	}
	slices.SortFunc(implied, func(a, b Need) int { return a.Place.Compare(b.Place) })
	for _, n := range implied {
		if !named[n.Addr] {
			named[n.Addr] = true
			m.needs = append(m.needs, n)
		}
	}
}

// Evaluated returns the configuration with the values of required_providers, now that
// references have values. It also returns the entries that still have none, and the errors.
func (c *Configuration) Evaluated(value Evaluator) (*Configuration, []OpenEntry, []problem.Problem) {
	if c.unresolved == nil {
		return c, nil, nil
	}
	m := *c.unresolved
	evaluated := *c
	m.c, m.Mistakes = &evaluated, Mistakes{}
	evaluated.required, evaluated.open = maps.Clone(c.required), maps.Clone(c.open)
	var open []OpenEntry
	for _, name := range slices.Sorted(maps.Keys(c.required)) {
		entry := c.required[name]
		if !entry.early() {
			continue
		}
		d := &decoder{tool: c.Tool, file: entry.Place.At(0)}
		left := OpenEntry{Place: entry.Place, Name: name, Tool: c.Tool.Name}
		ok := evaluateSource(d, &entry, value, &left) && evaluateVersion(d, &entry, value, &left)
		m.Diags = append(m.Diags, d.Diags...)
		if ok {
			evaluated.required[name] = entry
		}
		if ok && left.Why.Reason != "" {
			open = append(open, left)
		}
		evaluated.open[name] = !ok || left.Addr == (provider.Addr{}) && left.Why.Reason != ""
	}
	m.resolve()
	evaluated.Needs = m.needs
	return &evaluated, open, m.Diags
}

// need adds a provider as needed at a place, once for each term of its constraint.
func (m *merger) need(entry requiredProvider, version *VersionText, at problem.Place) {
	if version == nil {
		m.needs = append(m.needs, Need{Addr: entry.addr, Place: at, Source: entry.expression})
		return
	}
	constraints, err := provider.ParseConstraints(version.Text)
	if err != nil {
		m.Add(version.Place, badVersionTerm)
		return
	}
	for _, t := range constraints.Terms() {
		n := Need{Addr: entry.addr, Term: t, Place: version.Place, Source: entry.expression, Version: version.Expression}
		if n.Version == "" {
			n.Written = t.WrittenIn(version.Text)
		}
		m.needs = append(m.needs, n)
	}
}

// provider returns the provider of a local name in this module, or reports an error at the
// place. Nothing is inherited from the calling module.
func (m *merger) provider(name string, at problem.Place) (provider.Addr, bool) {
	addr, err := m.c.provider(name)
	if err != nil && err != errOpen {
		m.Add(at, badName)
	}
	return addr, err == nil
}

// Named returns the provider of a local name; zero if it is not known.
func (c *Configuration) Named(name string) provider.Addr {
	addr, _ := c.provider(name)
	return addr
}

// errOpen says that a local name means no known provider: the entry has no value yet.
var errOpen = errors.New("it is not known which provider that is")

func (c *Configuration) provider(name string) (provider.Addr, error) {
	if c.open[name] {
		return provider.Addr{}, errOpen
	}
	if entry, ok := c.required[name]; ok {
		return entry.addr, nil
	}
	implied, err := provider.ImpliedAddr(name, c.Tool.Name)
	if err != nil {
		return provider.Addr{}, err
	}
	// The case of a resource type's prefix does not matter in the lookup.
	if c.open[implied.Type] {
		return provider.Addr{}, errOpen
	}
	if entry, ok := c.required[implied.Type]; ok {
		return entry.addr, nil
	}
	return implied, nil
}

// importProvider returns the provider that an import block needs. For most releases that is
// none in two cases: the resource is declared, so that it names the provider, or it belongs
// to another module.
func (m *merger) importProvider(i importBlock) (provider.Addr, bool) {
	declared := false
	if !i.inModule {
		var r resource
		r, declared = m.resources[i.to]
		if declared && i.provider != (providerRef{}) && i.provider != r.provider {
			m.Add(i.Place, "invalid import block: its provider must be the one that the resource at %s names", r.Place)
			return provider.Addr{}, false
		}
	}
	if (declared || i.inModule) && !m.c.Tool.Has(provider.ImportAlways) {
		return provider.Addr{}, false
	}
	return m.provider(cmp.Or(i.provider.name, impliedName(i.to.typ)), i.Place)
}
