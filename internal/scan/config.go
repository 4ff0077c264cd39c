package scan

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/provider"
)

// config is the configuration of one module without the modules that it calls:
// its files merged by the rules of a tool. It does not change once it is
// loaded, and every module tree that the directory is part of shares it.
type config struct {
	at    location
	tool  provider.Tool // the oldest release with the same rules
	files moduleFiles

	required map[string]requiredProvider // by local name
	needs    []need
	calls    []call // sorted by name
	// variables and locals are kept for early evaluation only.
	variables map[string]variable
	locals    map[string]*hcl.Attribute
	imports   []importBlock
	versions  []versionText // of the tool itself
	rootOnly  bool          // it says something that only a root module has reason to say
	diags     []provider.Diagnostic
	// tests reads the test files beside the configuration, once.
	tests func() *tests
}

// need is a term of a requirement, or a place that needs a provider without
// constraining it, as far as a module alone can tell.
type need struct {
	place
	addr provider.Addr
	term provider.Term
}

// configKey is a directory of a tree and the rules of a tool.
type configKey struct {
	dir   string
	rules provider.Tool
	stack bool // it is the configuration of a stack
}

// config loads the configuration of a directory by the rules of a tool, once.
func (l location) config(tool provider.Tool) *config {
	key := configKey{dir: l.dir, rules: tool.Rules()}
	return l.tree.configs.get(key, func() *config { return loadConfig(l, key.rules) })
}

// loadConfig joins the primary files of a directory and lets the override files
// replace parts of them, in the order of their names. What required_providers says
// is complete before any provider is looked up.
func loadConfig(at location, tool provider.Tool) *config {
	m := newMerger(at, tool)
	entries, err := at.entries()
	if err != nil {
		m.unreadable("directory", at.String(), err)
	}
	m.c.files = files(entries, tool)
	primary, override := m.decode(m.c.files.primary, false, decodeFile), m.decode(m.c.files.override, true, decodeFile)
	m.require(primary, override)
	for _, f := range primary {
		m.declare(f)
	}
	for _, f := range override {
		m.override(f)
	}
	m.locateCalls()
	m.resolve()
	c := m.c
	c.diags = m.diags
	c.tests = sync.OnceValue(func() *tests { return loadTests(c) })
	return c
}

// merger makes one configuration of many files.
type merger struct {
	problems
	c         *config
	providers map[providerRef]providerBlock
	resources map[resourceKey]resource
	calls     map[string]call
}

func newMerger(at location, tool provider.Tool) *merger {
	return &merger{
		c: &config{
			at: at, tool: tool, required: map[string]requiredProvider{},
			variables: map[string]variable{}, locals: map[string]*hcl.Attribute{},
		},
		providers: map[providerRef]providerBlock{},
		resources: map[resourceKey]resource{},
		calls:     map[string]call{},
	}
}

func (m *merger) decode(names []string, override bool, decode func(src []byte, d *decoder) file) []file {
	decoded := make([]file, 0, len(names))
	for _, name := range names {
		d := &decoder{tool: m.c.tool, name: m.c.at.name(name), override: override}
		src, err := m.c.at.read(name)
		if err != nil {
			m.unreadable("file", d.name, err)
			continue
		}
		decoded = append(decoded, decode(src, d))
		m.diags = append(m.diags, d.diags...)
	}
	return decoded
}

// require merges required_providers: one block in all primary files, and any
// number in override files, whose entries replace those of the same local name
// as a whole.
func (m *merger) require(primary, override []file) {
	var first *requiredBlock
	for _, f := range primary {
		for i, block := range f.required {
			if first != nil {
				m.add(block.place, "duplicate required_providers block: the module has one at %s", first.place)
				continue
			}
			first = &f.required[i]
			m.requireAll(block)
		}
	}
	for _, f := range override {
		for _, block := range f.required {
			m.requireAll(block)
		}
	}
}

func (m *merger) requireAll(block requiredBlock) {
	for _, entry := range block.entries {
		m.c.required[entry.name] = entry
	}
}

// declare adds what a primary file declares, each thing only once.
func (m *merger) declare(f file) {
	for _, p := range f.providers {
		if old, ok := m.providers[p.ref]; ok {
			m.add(p.place, "duplicate provider configuration: %s is configured at %s", p.ref, old.place)
			continue
		}
		m.providers[p.ref] = p
	}
	for _, r := range f.resources {
		if old, ok := m.resources[r.resourceKey]; ok {
			m.add(r.place, "duplicate %s configuration: %s is declared at %s", r.kind, r.resourceKey, old.place)
			continue
		}
		m.resources[r.resourceKey] = r
	}
	for _, c := range f.calls {
		if old, ok := m.calls[c.name]; ok {
			m.add(c.place, "duplicate module call: module.%s is called at %s", c.name, old.place)
			continue
		}
		m.calls[c.name] = c
	}
	for _, v := range f.variables {
		m.c.variables[v.name] = v
	}
	maps.Copy(m.c.locals, f.locals)
	m.c.imports = append(m.c.imports, f.imports...)
	m.c.versions = append(m.c.versions, f.versions...)
	m.c.rootOnly = m.c.rootOnly || f.rootOnly
}

// override applies an override file. What it is about must be declared in a
// primary file; only the default configuration of a provider need not be.
func (m *merger) override(f file) {
	for _, p := range f.providers {
		m.overrideProvider(p)
	}
	for _, r := range f.resources {
		m.overrideResource(r)
	}
	for _, c := range f.calls {
		base, ok := m.calls[c.name]
		if !ok {
			m.add(c.place, "missing module call to override: no primary file calls module.%s", c.name)
			continue
		}
		base.override(c)
		m.calls[c.name] = base
	}
	for _, v := range f.variables {
		m.c.variables[v.name] = m.c.variables[v.name].override(v)
	}
	maps.Copy(m.c.locals, f.locals)
	switch {
	case m.c.tool.Has(provider.LanguageBlocks): // every file stands for itself
		m.c.versions = append(m.c.versions, f.versions...)
	case len(f.versions) > 0:
		m.c.versions = f.versions
	}
	m.c.rootOnly = m.c.rootOnly || f.rootOnly
}

func (m *merger) overrideProvider(p providerBlock) {
	base, ok := m.providers[p.ref]
	switch {
	case !ok && p.ref.alias != "":
		m.add(p.place, "missing provider configuration to override: no primary file configures %s", p.ref)
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
	if r.kind == ephemeralResource && m.c.tool.Name == provider.Terraform {
		return
	}
	base, ok := m.resources[r.resourceKey]
	if !ok {
		m.add(r.place, "missing %s to override: no primary file declares %s", r.kind, r.resourceKey)
		return
	}
	if r.provider != (providerRef{}) {
		base.provider = r.provider
	}
	m.resources[r.resourceKey] = base
}

// locateCalls reads where called modules are, now that sources and versions
// are what override files have made of them.
func (m *merger) locateCalls() {
	for _, name := range slices.Sorted(maps.Keys(m.calls)) {
		c := m.calls[name]
		d := &decoder{tool: m.c.tool, name: c.file}
		if c.stack {
			c.module = decodeStackSource(d, c)
		} else {
			c.module = decodeSource(d, c, evaluatesEarly(m.c.tool))
		}
		m.diags = append(m.diags, d.diags...)
		if c.module.kind != earlySource {
			c.source, c.version = nil, nil // nothing else keeps the parsed files
		}
		m.c.calls = append(m.c.calls, c)
	}
}

// resolve says which providers the module needs. A provider that is named in
// required_providers or constrained in a provider block is needed there; any
// other one at the first place that implies it.
func (m *merger) resolve() {
	named := map[provider.Addr]bool{}
	for _, name := range slices.Sorted(maps.Keys(m.c.required)) {
		entry := m.c.required[name]
		named[entry.addr] = true
		m.need(entry.addr, entry.version, entry.place)
	}
	var implied []need
	for _, p := range slices.SortedFunc(maps.Values(m.providers), providerBlock.compare) {
		addr, ok := m.provider(p.ref.name, p.place)
		switch {
		case ok && p.version != nil:
			named[addr] = true
			m.need(addr, p.version, p.place)
		case ok:
			implied = append(implied, need{addr: addr, place: p.place})
		}
	}
	for _, r := range m.resources {
		if addr, ok := m.provider(cmp.Or(r.provider.name, impliedName(r.typ)), r.place); ok {
			implied = append(implied, need{addr: addr, place: r.place})
		}
	}
	for _, i := range m.c.imports {
		if addr, ok := m.importProvider(i); ok {
			implied = append(implied, need{addr: addr, place: i.place})
		}
	}
	slices.SortFunc(implied, func(a, b need) int { return a.place.compare(b.place) })
	for _, n := range implied {
		if !named[n.addr] {
			named[n.addr] = true
			m.c.needs = append(m.c.needs, n)
		}
	}
}

// need adds a provider with its constraints, or none, as needed at a place.
func (m *merger) need(addr provider.Addr, version *versionText, at place) {
	needs, err := needsOf(addr, version, at)
	if err != nil {
		m.add(version.place, badVersionTerm)
		return
	}
	m.c.needs = append(m.c.needs, needs...)
}

// needsOf parses a constraint string into one need for each of its terms.
func needsOf(addr provider.Addr, version *versionText, at place) ([]need, error) {
	if version == nil {
		return []need{{addr: addr, place: at}}, nil
	}
	constraints, err := provider.ParseConstraints(version.text)
	if err != nil {
		return nil, err
	}
	var needs []need
	for _, t := range constraints.Terms() {
		needs = append(needs, need{addr: addr, term: t, place: version.place})
	}
	return needs, nil
}

// provider returns the provider of a local name in this module, or reports an
// error at the place. Nothing is inherited from a calling module.
func (m *merger) provider(name string, at place) (provider.Addr, bool) {
	addr, err := m.c.provider(name)
	if err != nil {
		m.add(at, badName)
	}
	return addr, err == nil
}

func (c *config) provider(name string) (provider.Addr, error) {
	if entry, ok := c.required[name]; ok {
		return entry.addr, nil
	}
	implied, err := provider.ImpliedAddr(name, c.tool.Name)
	if err != nil {
		return provider.Addr{}, err
	}
	// The prefix of a resource type is folded before it is looked up.
	if entry, ok := c.required[implied.Type]; ok {
		return entry.addr, nil
	}
	return implied, nil
}

// importProvider returns the provider that an import block needs. For most
// releases that is none if the resource is declared, since then the resource
// says it, or if it is another module's.
func (m *merger) importProvider(i importBlock) (provider.Addr, bool) {
	declared := false
	if !i.to.inModule {
		var r resource
		r, declared = m.resources[resourceKey{kind: managedResource, typ: i.to.typ, name: i.to.name}]
		if declared && i.provider != (providerRef{}) && i.provider != r.provider {
			m.add(i.place, "invalid import block: its provider must be the one that the resource at %s names", r.place)
			return provider.Addr{}, false
		}
	}
	if (declared || i.to.inModule) && !m.c.tool.Has(provider.ImportAlways) {
		return provider.Addr{}, false
	}
	return m.provider(cmp.Or(i.provider.name, impliedName(i.to.typ)), i.place)
}
