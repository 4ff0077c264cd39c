package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
)

// The bounds of the module tree of one root module. Modules that call two others
// each double at every step, and a module can call itself in another version;
// the tools would go on until their paths are too long [terraform 1.11 internal/initwd/module_install.go].
const (
	maxModules  = 10_000 // calls
	maxNested   = 100    // modules within each other
	maxPackages = 1000   // distinct calls of modules that are fetched
)

// walker walks the module tree of one root module and collects what its
// modules need. The tools read a module once for every call of it
// [terraform 1.11 internal/configs/config_build.go], and so does
// the walker: the places of its terms differ by the path of calls.
type walker struct {
	*harvest    // what is being read: tree, then tests
	tree, tests harvest

	packages *packages
	tool     provider.Tool
	pinned   bool // the tool's release is known, not assumed
	early    *evaluation

	versions []versionText     // that the modules require of the tool
	seen     map[location]bool // modules whose diagnostics have been taken over
	packaged map[*Tree]bool    // file trees of those that are packages of their own
	modules  int
	asked    map[remoteCall]bool // of the root module, in this walk and before
	wanted   []remoteCall        // calls of which it is not known yet what they lead to
	manifest func() manifest
}

// harvest is what the modules say that are reached without test files, or what
// only test files lead to.
type harvest struct {
	problems
	terms   map[provider.Addr][]Term
	unread  []Unread
	fetched []Fetched
	dirs    []string
}

// visit is a module in the tree: its configuration, how it was called, and the
// modules above it.
type visit struct {
	config *config
	scope  *scope
	// base is the directory in its file tree that the tools join the local
	// sources of the module to. It differs from where the module is if that is
	// a fetched one behind links [terraform 1.11 internal/initwd/module_install.go].
	base string
	path string // of calls, joined by dots
	// above are the modules that lead here by calls that always do: one of
	// them once more has no end.
	above []location
	depth int
	test  bool // a run of a test file calls it
}

// root reads the whole tree below a root module.
func (w *walker) root(c *config, opts *Options) {
	w.tree.terms, w.tests.terms, w.seen = map[provider.Addr][]Term{}, map[provider.Addr][]Term{}, map[location]bool{}
	w.packaged = map[*Tree]bool{}
	w.manifest = sync.OnceValue(func() manifest { return readManifest(c.at) })
	w.early = newEvaluation(c, opts)
	root := &visit{config: c, scope: w.early.scope(), base: c.at.dir}
	w.harvest = &w.tree
	w.module(root)
	w.harvest = &w.tests
	w.runs(root)
	w.harvest = &w.tree
}

// runs reads what test files add.
func (w *walker) runs(root *visit) {
	t := root.config.tests()
	w.diags = append(w.diags, t.diags...)
	for _, n := range t.needs {
		w.need(n, &visit{})
	}
	for _, run := range t.runs {
		w.call(root, run, &visit{path: run.name, test: true})
	}
}

func (w *walker) module(at *visit) {
	if c := at.config; !w.seen[c.at] {
		w.seen[c.at] = true
		if c.at.tree == w.early.root.at.tree {
			w.dirs = append(w.dirs, c.at.dir)
		}
		if c.at.tree.isPackage() {
			w.packaged[c.at.tree] = true
		}
		w.diags = append(w.diags, c.diags...)
		w.checkVersions(c)
	}
	for _, n := range at.config.needs {
		w.need(n, at)
	}
	above := append(slices.Clip(at.above), at.config.at)
	for _, call := range at.config.calls {
		w.call(at, call, &visit{path: strings.TrimPrefix(at.path+"."+call.name, "."), above: above})
	}
}

func (w *walker) need(n need, at *visit) {
	w.terms[n.addr] = append(w.terms[n.addr], Term{
		Constraint: n.term, Module: at.path, File: n.file, Line: n.line,
	})
}

// call follows a module call. What is known of the called module is in to.
func (w *walker) call(from *visit, c call, to *visit) {
	to.depth = from.depth + 1
	if c.module.kind == earlySource {
		var diags []provider.Diagnostic
		c.module, diags = c.evaluate(w.tool, from.scope.static.Value)
		w.diags = append(w.diags, diags...)
		to.above = nil // another time it may lead elsewhere
	}
	switch c.module.kind {
	case unknownSource:
		w.notRead(c, to, c.module.why)
	case otherSource:
		w.remote(from, c, to)
	case localSource:
		w.local(from, c, to)
	}
}

// local follows a call of a module in the same file tree.
func (w *walker) local(from *visit, c call, to *visit) {
	tree, source := from.config.at.tree, c.module
	name := path.Join(from.base, source.addr.Path)
	child, err := tree.directory(name)
	switch {
	case tree.isPackage() && (name == ".." || strings.HasPrefix(name, "../")):
		w.add(source.place, "unreadable module directory: it is outside of the module package that calls it")
	case errors.Is(err, tree.outside):
		w.notRead(c, to, staticeval.Unknown{Reason: err.Error()})
	case tree.submodule(name) && (err != nil || child.empty()):
		w.notRead(c, to, staticeval.Unknown{Reason: "it is in a Git submodule that is not checked out"})
	case errors.Is(err, fs.ErrNotExist):
		w.add(source.place, "unreadable module directory: it does not exist")
	case err != nil && tree.isPackage():
		w.notFetched(c, to, reason(err))
	case err != nil:
		w.add(source.place, "unreadable module directory: %v", reason(err))
	default:
		to.base = child.dir
		w.enter(from, c, child, to)
	}
}

// remote follows a call of a module that is not in the file tree of its caller.
func (w *walker) remote(from *visit, c call, to *visit) {
	key := remoteCall{tool: w.tool.Rules(), Call: Call{Source: c.module.text, Version: c.module.version, Versioned: c.module.versioned}}
	switch {
	case w.packages.source == nil:
		if !w.stored(from, c, to) {
			w.notRead(c, to, c.module.why)
		}
		return
	case !w.asked[key] && len(w.asked) >= maxPackages:
		w.notRead(c, to, staticeval.Unknown{Reason: fmt.Sprintf("the module tree has more than %d modules that must be fetched", maxPackages)})
		return
	}
	w.asked[key] = true
	got, ok := w.packages.known[key]
	switch {
	case !ok:
		w.wanted = append(w.wanted, key)
	case provider.Coded(got.err, provider.CodeInvalidConfig):
		w.add(c.module.place, "invalid module source address: no module package has such an address")
	case got.err != nil && !provider.Coded(got.err, provider.CodeNoVersion) && w.stored(from, c, to):
		why := provider.Diagnose(got.err)
		w.diags = append(w.diags, provider.Diagnostic{
			Severity: provider.SeverityWarning, Code: why.Code, Hint: why.Hint, File: c.module.file, Line: c.module.line,
			Message: fmt.Sprintf("module.%s is read from %s, since it could not be fetched: %s", to.path, modulesDir, why.Message),
		})
	case got.err != nil:
		w.notFetched(c, to, got.err)
	default:
		w.fetched = append(w.fetched, Fetched{
			Module: to.path, Source: moduleaddr.Shown(c.module.text), Ref: moduleaddr.Ref(c.module.text),
			Version: got.version, ID: got.id,
		})
		to.base = got.base
		w.enter(from, c, got.at, to)
	}
}

// stored follows a call of a module that the tool has left in its directory
// when it last initialised the root module. It returns false if the tool has
// not, or not this one.
func (w *walker) stored(from *visit, c call, to *visit) bool {
	record, ok := w.manifest()[to.path]
	if !ok || !record.serves(c.module, w.tool.Name) {
		return false
	}
	at, base, err := w.packages.stored(w.early.root.at, record)
	if err != nil {
		return false
	}
	w.fetched = append(w.fetched, Fetched{
		Module: to.path, Source: moduleaddr.Shown(c.module.text), Ref: moduleaddr.Ref(c.module.text), Version: record.Version, Stored: true,
	})
	to.base = base
	w.enter(from, c, at, to)
	return true
}

func (w *walker) notRead(c call, to *visit, why staticeval.Unknown) {
	w.unread = append(w.unread, Unread{
		Module: to.path, Source: moduleaddr.Shown(c.module.text),
		Code: provider.CodeUnreadModule, Reason: why.Reason, Hint: why.Hint,
		File: c.module.file, Line: c.module.line,
	})
}

// notFetched reports a module that could not be had.
func (w *walker) notFetched(c call, to *visit, err error) {
	why := provider.Diagnose(err)
	w.notRead(c, to, staticeval.Unknown{Reason: why.Message, Hint: why.Hint})
	if why.Code != provider.CodeInternal {
		w.unread[len(w.unread)-1].Code = why.Code
	}
}

// enter reads a called module, unless the tree would have no end.
func (w *walker) enter(from *visit, c call, child location, to *visit) {
	if child.tree.isPackage() {
		// A package knows of directories that could not be fetched.
		if _, err := child.entries(); err != nil {
			w.notFetched(c, to, reason(err))
			return
		}
	}
	switch {
	case slices.Contains(to.above, child):
		w.add(c.module.place, "endless module tree: %s is called from within itself", child)
		return
	case to.depth > maxNested:
		w.add(c.module.place, "endless module tree: there are more than %d modules within each other", maxNested)
		return
	case w.modules >= maxModules:
		if w.modules == maxModules {
			w.add(c.module.place, "endless module tree: there are more than %d module calls", maxModules)
		}
		w.modules++
		return
	}
	w.modules++
	if to.config = child.config(w.tool); c.stack {
		to.config = child.stack(w.tool)
	}
	to.scope = from.scope.below(c, to)
	to.config.checkCall(from.config, c, &w.problems)
	w.module(to)
}

// checkVersions reports a module that excludes the release of the tool, if it
// is known which one is used. Terms with a prerelease are refused, as by the
// tools, which compare without their own [terraform 1.11 internal/configs/module.go].
func (w *walker) checkVersions(c *config) {
	w.versions = append(w.versions, c.versions...)
	if !w.pinned {
		return
	}
	release := goversion.Must(goversion.NewVersion(w.tool.Version.Core().String()))
	for _, v := range c.versions {
		constraints, err := goversion.NewConstraint(v.text)
		if err != nil {
			continue // has been reported
		}
		prerelease := slices.ContainsFunc(constraints, (*goversion.Constraint).Prerelease)
		if prerelease || !constraints.Check(release) {
			w.add(v.place, "unsupported release: the module does not allow %s", w.tool)
		}
	}
}

// treeOf is what was read into a harvest, after checking for what no lock file can
// hold. It tells of a provider that cannot be required so where told holds.
func (w *walker) treeOf(h *harvest, told func(provider.Addr) bool) ModuleTree {
	all := slices.DeleteFunc(merged(h.terms), func(r Requirement) bool {
		at, why := w.refused(r.Addr, r.Terms)
		if why != "" && told(r.Addr) {
			h.add(at, "%s", why)
		}
		return why != "" || r.Addr.Builtin()
	})
	slices.Sort(h.dirs)
	t := ModuleTree{Requirements: all, Unread: h.unread, Fetched: h.fetched, Dirs: h.dirs, Diagnostics: sorted(h.diags)}
	if len(w.packaged) > 0 {
		w.namePackages(t)
	}
	return t
}

// namePackages says of every place in a module tree which package it is in.
func (w *walker) namePackages(t ModuleTree) {
	for _, r := range t.Requirements {
		for i := range r.Terms {
			r.Terms[i].Package = w.packageOf(r.Terms[i].File)
		}
	}
	for i := range t.Unread {
		t.Unread[i].Package = w.packageOf(t.Unread[i].File)
	}
	for i := range t.Diagnostics {
		t.Diagnostics[i].Package = w.packageOf(t.Diagnostics[i].File)
	}
}

// packageOf returns the package that a file is in, by its name; empty if none is.
func (w *walker) packageOf(file string) string {
	for t := range w.packaged {
		if source := t.packageOf(file); source != "" {
			return source
		}
	}
	return ""
}

// refused says why a provider cannot be required so, and where it is. One that
// is part of the tool has no versions of its own.
func (w *walker) refused(addr provider.Addr, terms []Term) (place, string) {
	terraform, _ := provider.ImpliedAddr("terraform", w.tool.Name)
	constrained := slices.IndexFunc(terms, func(t Term) bool { return t.Constraint != (provider.Term{}) })
	switch {
	case len(terms) == 0:
	case addr.Legacy():
		return terms[0].place(), fmt.Sprintf("invalid legacy provider address: %s is a name of Terraform 0.12 and earlier; complete the upgrade to Terraform 0.13, or name the provider's namespace", addr)
	case addr.Builtin() && addr != terraform:
		return terms[0].place(), fmt.Sprintf("invalid dependency on a built-in provider: there is no %s", addr)
	case addr.Builtin() && constrained >= 0:
		return terms[constrained].place(), fmt.Sprintf("invalid dependency on a built-in provider: %s supports no version constraints", addr)
	}
	return place{}, ""
}
