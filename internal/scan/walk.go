package scan

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/provider"
)

// maxModules bounds the module tree of one root module. Modules that call two
// others each double at every step; the tools would read them all.
const maxModules = 10_000

// walker walks the module tree of one root module and collects what its
// modules need. The tools read a module once for every call of it, and so does
// the walker: the places of its terms differ by the path of calls.
type walker struct {
	problems
	configs *configs
	tool    provider.Tool
	pinned  bool // the tool's release is known, not assumed

	terms   map[provider.Addr][]Term
	unread  []Unread
	seen    map[location]bool // modules whose diagnostics have been taken over
	modules int
}

// step is a module in the tree: how it was called, and the modules above it.
type step struct {
	path  string // of calls, joined by dots
	above []location
	test  bool // only a test file leads here
}

// root reads the whole tree below a root module.
func (w *walker) root(c *config) {
	w.terms, w.seen = map[provider.Addr][]Term{}, map[location]bool{}
	w.module(c, step{})
	t := w.configs.tests(c)
	w.diags = append(w.diags, t.diags...)
	for _, p := range t.providers {
		w.testProvider(c, p)
	}
	for _, run := range t.runs {
		w.call(c, run, step{path: run.name, test: true})
	}
}

func (w *walker) module(c *config, at step) {
	if !w.seen[c.at] {
		w.seen[c.at] = true
		w.diags = append(w.diags, c.diags...)
		w.checkVersions(c)
	}
	for _, n := range c.needs {
		w.need(n, at)
	}
	below := step{above: append(slices.Clip(at.above), c.at), test: at.test}
	for _, call := range c.calls {
		below.path = strings.TrimPrefix(at.path+"."+call.name, ".")
		w.call(c, call, below)
	}
}

func (w *walker) need(n need, at step) {
	w.terms[n.addr] = append(w.terms[n.addr], Term{
		Constraint: n.term, Module: at.path, File: n.file, Line: n.line, Test: at.test,
	})
}

// testProvider adds the provider of a provider block in a test file, which is
// looked up by the names of the root module.
func (w *walker) testProvider(root *config, p providerBlock) {
	addr, err := root.provider(p.ref.name)
	if err != nil {
		w.add(p.place, badName)
		return
	}
	needs, err := needsOf(addr, p.version, p.place)
	if err != nil {
		w.add(p.version.place, badVersionTerm)
		return
	}
	for _, n := range needs {
		w.need(n, step{test: true})
	}
}

// call follows a module call of c. The step is that of the called module.
func (w *walker) call(c *config, call call, at step) {
	source := call.module
	switch source.kind {
	case badSource:
		return
	case otherSource, unknownSource:
		w.notRead(call, at, source.why)
		return
	}
	name := path.Join(c.at.dir, source.path)
	child, err := c.at.tree.directory(name)
	switch {
	case errors.Is(err, errOutside):
		w.notRead(call, at, err.Error())
	case c.at.tree.submodule(name) && (err != nil || child.empty()):
		w.notRead(call, at, "it is in a Git submodule that is not checked out")
	case errors.Is(err, fs.ErrNotExist):
		w.add(source.place, "unreadable module directory: it does not exist")
	case err != nil:
		w.add(source.place, "unreadable module directory: %v", reason(err))
	case slices.Contains(at.above, child):
		w.add(source.place, "endless module tree: %s is called from within itself", child.dir)
	case w.modules >= maxModules:
		if w.modules == maxModules {
			w.add(source.place, "endless module tree: there are more than %d module calls", maxModules)
		}
		w.modules++
	default:
		w.modules++
		w.enter(c, call, w.configs.load(child, w.tool), at)
	}
}

func (w *walker) notRead(call call, at step, why string) {
	w.unread = append(w.unread, Unread{
		Module: at.path, Source: redacted(call.module.text), Reason: why,
		File: call.module.file, Line: call.module.line, Test: at.test,
	})
}

// enter reads a called module, after what only its caller can check.
func (w *walker) enter(caller *config, call call, c *config, at step) {
	if len(c.imports) > 0 {
		w.add(c.imports[0].place, "import blocks can only be in the root module")
	}
	for _, p := range call.passed {
		w.checkPassed(caller, c, p)
	}
	w.module(c, at)
}

// checkPassed reports a provider configuration that is passed to a module under
// a name that stands for another provider there. As the tools do, it looks up
// the caller's side by the name that the called module uses, if the caller
// requires a provider of that name.
func (w *walker) checkPassed(caller, c *config, p passedProvider) {
	inChild, err := c.provider(p.child.name)
	if err != nil {
		return
	}
	inParent, err := caller.provider(p.parent.name)
	if entry, ok := caller.required[p.child.String()]; ok {
		inParent, err = entry.addr, nil
	}
	if err == nil && inChild != inParent {
		w.add(p.place, "provider type mismatch: %s is %s here, but %s is %s in the called module", p.parent, inParent, p.child, inChild)
	}
}

// checkVersions reports a module that excludes the release of the tool, if it
// is known which one is used. Terms with a prerelease are refused, as by the
// tools, which compare without their own.
func (w *walker) checkVersions(c *config) {
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

// requirements merges what was collected, after checking for what no lock file
// can hold.
func (w *walker) requirements() []Requirement {
	var merged []Requirement
	for _, addr := range slices.SortedFunc(maps.Keys(w.terms), provider.Addr.Compare) {
		terms := w.terms[addr]
		slices.SortStableFunc(terms, func(a, b Term) int {
			return cmp.Or(strings.Compare(a.Module, b.Module), strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
		})
		terms = slices.Compact(terms)
		switch {
		case addr.Builtin():
			w.checkBuiltin(addr, terms)
		case addr.Legacy():
			w.add(terms[0].place(), "invalid legacy provider address: %s is a name of Terraform 0.12 and earlier", addr)
		default:
			merged = append(merged, Requirement{Addr: addr, Terms: terms})
		}
	}
	return merged
}

// checkBuiltin checks a provider that is part of the tool: there is one, and it
// has no versions of its own.
func (w *walker) checkBuiltin(addr provider.Addr, terms []Term) {
	if terraform, _ := provider.ImpliedAddr("terraform", w.tool.Name); addr != terraform {
		w.add(terms[0].place(), "invalid dependency on a built-in provider: there is no %s", addr)
		return
	}
	for _, t := range terms {
		if t.Constraint != (provider.Term{}) {
			w.add(t.place(), "invalid dependency on a built-in provider: %s supports no version constraints", addr)
			return
		}
	}
}

// empty reports whether there is nothing at all in a directory.
func (l location) empty() bool {
	entries, err := l.tree.list(l.dir)
	return err == nil && len(entries) == 0
}
