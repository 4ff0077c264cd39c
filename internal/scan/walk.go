package scan

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	goversion "github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/staticeval"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// The bounds of the module tree of one root module. If each module calls two others, the
// tree doubles at every step, and a module can call itself in another version. The tools
// would continue until their paths are too long [terraform 1.11
// internal/initwd/module_install.go].
const (
	maxModules  = 10_000 // calls
	maxNested   = 100    // modules within each other
	maxPackages = 1000   // distinct calls of modules that are fetched
)

// walker walks the module tree of one root module and collects the requirements of its
// modules. Like the tools, it reads a module once for every call of it [terraform 1.11
// internal/configs/config_build.go], since the places of terms differ by the path of calls.
type walker struct {
	*harvest    // the present one: tree, then tests
	tree, tests harvest

	packages *packages
	lock     *moduleLock // nil: there is none
	tool     provider.Tool
	pinned   bool                    // the tool's release is known, not assumed
	config   *tfconfig.Configuration // of the root module

	versions []tfconfig.VersionText      // the modules' constraints on the tool
	seen     map[tfconfig.Directory]bool // modules whose diagnostics are already in the result
	modules  int
	asked    map[remoteCall]bool // of the root module, in this walk and before
	wanted   []remoteCall        // calls whose modules are not known yet
	manifest func() manifest
	// anyChange and files are as in Root.
	anyChange bool
	files     []string

	// installs has the results of earlier walks, and found those of this one. missed says
	// that neither has a package that a module needs.
	installs, found installs
	missed          bool
	// installed are the records of init for what was read so far.
	installed []Installed

	readers readers
	// unfamiliar are parts of the configuration that only a newer, unknown release may
	// have.
	unfamiliar []problem.Problem
}

// readers are the releases that may read a module tree.
type readers int

const (
	onlyKnown readers = iota // a known release
	onlyNewer                // a release newer than the known ones
	anyNewer                 // either of these
)

// harvest has the results for the modules that are reached without test files, or only by
// test files.
type harvest struct {
	tfconfig.Mistakes
	ModuleTree // so far; Requirements are made of the terms later
	terms      map[provider.Addr][]Term
	doubts     []doubt
}

// doubt is an open entry of a module.
type doubt struct {
	tfconfig.Doubt
	module string // path of calls
}

// visit is a module in the tree: its configuration, its call, the modules above it, and the
// scope of its expressions.
type visit struct {
	*earlyEvaluation
	config *tfconfig.Configuration
	caller *visit                    // nil for the root module
	args   map[string]*hcl.Attribute // from the caller
	scope  *staticeval.Scope         // nil until something is evaluated
	// dir is path.module: the tool's directory of the module, relative to the root module.
	// top is that of the module's package, if it is fetched.
	dir, top string
	// base is the directory in its file tree to which the tools join the module's local
	// sources. It differs from the module's own directory for a fetched module behind links
	// [terraform 1.11 internal/initwd/module_install.go].
	base string
	// installed is the directory in modulesDir by which the module, or its caller, was
	// named; empty: none.
	installed string
	path      string // of calls, joined by dots
	question  *Call  // by which it was fetched; nil for a local module
	// above are the modules that lead here by unconditional calls. If one of them occurs
	// again, the tree has no end.
	above []tfconfig.Directory
	depth int
	test  bool // a test file runs it, and may leave variables out
}

// root reads the whole tree below a root module.
func (w *walker) root(c *tfconfig.Configuration, opts *Options, given *givenValues) {
	w.tree.terms, w.tests.terms, w.seen = map[provider.Addr][]Term{}, map[provider.Addr][]Term{}, map[tfconfig.Directory]bool{}
	w.found = newInstalls()
	w.manifest = sync.OnceValue(func() manifest { return readManifest(c.Directory) })
	w.config = c
	root := rootVisit(c, opts, given)
	w.harvest = &w.tree
	w.module(root)
	w.harvest = &w.tests // the additions of test files
	t := c.Tests()
	w.Diags = append(w.Diags, t.Diags...)
	for _, n := range t.Needs {
		w.need(n, &visit{})
	}
	for _, run := range t.Runs {
		w.call(root, run, &visit{path: run.Name, test: true})
	}
	w.harvest = &w.tree
	w.anyChange = w.anyChange || t.Data || root.reads
	w.files = append(w.files, given.files(c.Directory)...)
}

func (w *walker) module(at *visit) {
	// The entries of required_providers may have other values in another call of the module
	// [terraform 1.17 internal/terraform/node_resolve_provider_requirement.go].
	config, open, diags := at.config.Evaluated(at.value)
	at.config, w.Diags = config, append(w.Diags, diags...)
	for _, d := range config.Doubts {
		d.Addr = config.Named(d.Name)
		w.doubts = append(w.doubts, doubt{d, at.path})
	}
	for _, e := range open {
		w.Unread = append(w.Unread, Unread{
			Module: at.path, Code: problem.CodeUnknownEntry, Reason: e.Why.Reason, Hint: e.Why.Hint, Place: e.Place,
			Provider: e.Name, Expression: e.Expression, Entry: &e,
		})
	}
	if c := at.config; !w.seen[c.Directory] {
		w.seen[c.Directory] = true
		if c.Directory.Tree == w.config.Directory.Tree {
			w.Dirs = append(w.Dirs, c.Directory.Path)
			w.anyChange, w.files = w.anyChange || vague(c.Directory), append(w.files, targets(c.Directory)...)
		}
		w.Diags = append(w.Diags, c.Diagnostics...)
		w.versions = append(w.versions, c.Versions...)
		for _, v := range c.Versions {
			constraints, err := goversion.NewConstraint(v.Text)
			if !w.pinned || err != nil {
				continue // the release is not known, or the error has been reported
			}
			// Like the tools, relock refuses terms with a prerelease: it compares the
			// release without its own prerelease part [terraform 1.11
			// internal/configs/module.go].
			release := goversion.Must(goversion.NewVersion(w.tool.Version.Core().String()))
			if slices.ContainsFunc(constraints, (*goversion.Constraint).Prerelease) || !constraints.Check(release) {
				w.Add(v.Place, "unsupported release: the module does not allow %s", w.tool)
			}
		}
	}
	for _, n := range at.config.Needs {
		w.need(n, at)
	}
	above := append(slices.Clip(at.above), at.config.Directory)
	called := make([]*visit, len(at.config.Calls))
	var read []*tfconfig.Configuration
	for i, call := range at.config.Calls {
		called[i] = &visit{path: strings.TrimPrefix(at.path+"."+call.Name, "."), above: above}
		w.call(at, call, called[i])
		if called[i].config != nil {
			read = append(read, called[i].config)
		}
	}
	for i, call := range at.config.Calls {
		if called[i].config != nil {
			at.config.CheckPassed(call, called[i].config, read, &w.Mistakes)
		}
	}
}

func (w *walker) need(n tfconfig.Need, at *visit) {
	w.terms[n.Addr] = append(w.terms[n.Addr], Term{
		Constraint: n.Term, Module: at.path, Place: n.Place, Source: n.Source, Expression: n.Version, Written: n.Written,
	})
}

// call follows a module call. to has the known facts about the called module.
func (w *walker) call(from *visit, c tfconfig.ModuleCall, to *visit) {
	to.depth = from.depth + 1
	if c.Module.Kind == tfconfig.EarlySource {
		var diags []problem.Problem
		c.Module, diags = c.Evaluate(w.tool, from.value)
		w.Diags = append(w.Diags, diags...)
		to.above = nil // with other values it may lead elsewhere
	}
	switch c.Module.Kind {
	case tfconfig.UnknownSource:
		w.notRead(c, to, c.Module.Why)
	case tfconfig.RemoteSource:
		w.remote(from, c, to)
	case tfconfig.LocalSource:
		w.local(from, c, to)
	}
}

// local follows a call of a module in the same file tree.
func (w *walker) local(from *visit, c tfconfig.ModuleCall, to *visit) {
	tree, source := from.config.Directory.Tree, c.Module
	name := path.Join(from.base, source.Addr.Path)
	if from.installed != "" && (name == ".." || strings.HasPrefix(name, "../")) {
		// For the tools the caller is below the root module. Here it is in the tree of a
		// package [terraform 1.11 internal/initwd/module_install.go].
		tree, name = w.config.Directory.Tree, w.config.Directory.Join(path.Join(from.installed, name))
	}
	if tree == w.config.Directory.Tree && w.fromModulesDir(from, c, name, to) {
		return
	}
	child, err := tree.Dir(name)
	w.anyChange = w.anyChange || err != nil && tree == w.config.Directory.Tree
	switch {
	case tree.IsPackage() && (name == ".." || strings.HasPrefix(name, "../")):
		w.Add(source.Place, "unreadable module directory: it is outside of the module package that calls it")
	case tree.LeadsOut(err):
		w.notRead(c, to, staticeval.Unknown{Reason: err.Error()})
	case tree.Submodule(name) && (err != nil || child.Empty()):
		w.notRead(c, to, staticeval.Unknown{Reason: "it is in a Git submodule that is not checked out"})
	case errors.Is(err, fs.ErrNotExist) && !tree.IsPackage() && from.opts.Absent != nil && from.opts.Absent(name):
		w.notRead(c, to, staticeval.Unknown{Reason: "it is not in the sparse checkout", Hint: CheckOut(name)})
	case errors.Is(err, fs.ErrNotExist):
		w.Add(source.Place, "unreadable module directory: it does not exist")
	case err != nil && tree.IsPackage():
		w.notFetched(c, to, file.Cause(err))
	case err != nil:
		w.Add(source.Place, "unreadable module directory: %v", file.Cause(err))
	default:
		to.base = child.Path
		if child.Tree == from.config.Directory.Tree {
			to.installed = from.installed
		}
		w.enter(from, c, child, to)
	}
}

// fromModulesDir follows a call of a module by its directory in modulesDir, as a second
// init does. The first init fails if the package is installed later. It does not read that
// directory in the searched tree, since init writes it again. It returns false for any
// other directory.
func (w *walker) fromModulesDir(from *visit, c tfconfig.ModuleCall, name string, to *visit) bool {
	below, ok := strings.CutPrefix(name+"/", w.config.Directory.Join(modulesDir)+"/")
	if !ok {
		return false
	}
	key, dir, _ := strings.Cut(below, "/")
	_, before := w.found.packages[key]
	tree := cmp.Or(w.found.packages[key], w.installs.packages[key])
	if tree == nil {
		w.missed = true
		if w.found.unknown(key) || w.installs.unknown(key) {
			w.notRead(c, to, staticeval.Unknown{Reason: "it is in the package of another module, which is not read"})
		} else {
			w.AddHinting(c.Module.Place, "the directory has the name of a call of a module that is fetched; for a call in a called module, the names of both are joined by a dot",
				"unreadable module directory: no module call installs a package there")
		}
		return true
	}
	child, err := tree.Dir(path.Join(".", dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.Add(c.Module.Place, "unreadable module directory: it does not exist in the package that is installed there")
		return true
	case err != nil:
		w.notFetched(c, to, file.Cause(err))
		return true
	}
	// Calls are followed in the order in which most releases install the packages [cases
	// modules-dir-before, modules-dir-declared-after].
	if inOrder := !w.tool.Has(provider.UnorderedModules); !before || !inOrder {
		text := "may fail by chance, since modules are installed in no order"
		if inOrder {
			text = "fails, since modules are installed in the order of their names"
		}
		w.Notes = append(w.Notes, problem.Problem{
			Severity: problem.SeverityNote, Code: problem.CodeModuleOrder, Place: c.Module.Place,
			Message: "module." + to.path + " is in the package that another call installs: the first init " + text + "; the next one reads it",
		})
	}
	to.base, to.installed = child.Path, modulesDir+"/"+key
	w.enter(from, c, child, to)
	return true
}

// install notes the record that init makes of a called module.
func (w *walker) install(c tfconfig.ModuleCall, to *visit) {
	if !to.opts.Installed {
		return
	}
	record := Installed{Record{Key: to.path, Source: moduleaddr.Noted(c.Module.Text, w.tool.Name), Dir: to.dir}, to.question}
	if to.question != nil {
		record.Version = w.Fetched[len(w.Fetched)-1].Version
	}
	w.installed = append(w.installed, record)
}

// CheckOut is the command that adds a directory to a sparse checkout.
func CheckOut(dir string) string {
	return "run `git sparse-checkout add " + shellWord(dir) + "`"
}

// shellWord is a path as a shell reads it.
func shellWord(path string) string {
	special := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+-./:_", r)
	}
	if strings.ContainsFunc(path, special) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// remote follows a call of a module that is not in the file tree of its caller.
func (w *walker) remote(from *visit, c tfconfig.ModuleCall, to *visit) {
	if w.packages.source == nil {
		if !w.stored(from, c, to) {
			w.notRead(c, to, c.Module.Why)
		}
		return
	}
	q := w.lock.question(Call{Source: c.Module.Text, Version: c.Module.Version, Versioned: c.Module.Versioned}, w.tool)
	s := w.lock.settled(q, func(q remoteCall) (fetched, bool) { return w.ask(q, c, to) })
	got := s.got
	w.Held = append(w.Held, s.held...)
	if s.kept.Code != "" {
		s.kept.Place, s.kept.Message = c.Module.Place, "module."+to.path+" stays as it is locked: "+s.kept.Message
		w.Kept = append(w.Kept, s.kept)
	}
	switch {
	case !s.known: // or it is known why not
	case problem.Coded(got.err, problem.CodeInvalidConfig):
		w.Add(c.Module.Place, "invalid module source address: no module package has such an address")
	case problem.Coded(got.err, problem.CodeModuleForeign): // an error whatever else says what it requires
		why := problem.Of(got.err)
		w.Diags = append(w.Diags, problem.Problem{
			Code: why.Code, Hint: why.Hint, Place: c.Module.Place,
			Message: fmt.Sprintf("module.%s is refused: %s", to.path, why.Message),
		})
	case got.err != nil && w.lock == nil && !problem.Coded(got.err, problem.CodeNoVersion) && w.stored(from, c, to):
		why := problem.Of(got.err)
		w.Diags = append(w.Diags, problem.Problem{
			Severity: problem.SeverityWarning, Code: why.Code, Hint: why.Hint, Place: c.Module.Place,
			Message: fmt.Sprintf("module.%s is read from %s, since it could not be fetched: %s", to.path, modulesDir, why.Message),
		})
	case got.err != nil:
		w.notFetched(c, to, got.err)
	default:
		to.question = &s.question.Call
		w.enterPackage(from, c, got, to)
	}
}

// ask is the answer to a question about a call; false if it is not known yet, or is not
// asked for.
func (w *walker) ask(q remoteCall, c tfconfig.ModuleCall, to *visit) (fetched, bool) {
	if !w.asked[q] && len(w.asked) >= maxPackages {
		w.notRead(c, to, staticeval.Unknown{Reason: fmt.Sprintf("the module tree has more than %d modules that must be fetched", maxPackages)})
		return fetched{}, false
	}
	w.asked[q] = true
	got, ok := w.packages.known[q]
	if !ok {
		w.wanted = append(w.wanted, q)
		w.found.unread[to.path] = true
	}
	return got, ok
}

// enterPackage reads a module that is not in the file tree of its caller.
func (w *walker) enterPackage(from *visit, c tfconfig.ModuleCall, got fetched, to *visit) {
	entry, unlocked := w.lock.record(Call{Source: c.Module.Text}, got, w.tool)
	if unlocked.Code != "" {
		unlocked.Place, unlocked.Message = c.Module.Place, "module."+to.path+" cannot be locked: "+unlocked.Message
		w.Diags = append(w.Diags, unlocked)
	}
	w.Fetched = append(w.Fetched, Fetched{
		Locked: entry.Key, Repository: entry.Package, Hash: entry.Hash, Moves: got.reference.Moves(),
		Module: to.path, Place: c.Module.Place, Pin: c.Pin, Expression: c.Expression, Source: moduleaddr.Shown(c.Module.Text), Ref: moduleaddr.Ref(c.Module.Text), Version: got.version, ID: got.id,
		Call: Call{Source: c.Module.Text, Version: c.Module.Version, Versioned: c.Module.Versioned}, Dir: got.at.Path, Versions: got.versions,
	})
	to.base = got.base
	w.found.packages[to.path] = got.at.Tree
	w.enter(from, c, got.at, to)
}

// stored follows a call of a module that the tool installed at its last init. It returns
// false if the tool has not installed this module.
func (w *walker) stored(from *visit, c tfconfig.ModuleCall, to *visit) bool {
	record, ok := w.manifest()[to.path]
	if !ok || !record.serves(c.Module, w.tool.Name) {
		return false
	}
	got := w.packages.stored(w.config.Directory, record)
	if got.err == nil {
		w.enterPackage(from, c, got, to)
	}
	return got.err == nil
}

func (w *walker) notRead(c tfconfig.ModuleCall, to *visit, why staticeval.Unknown) {
	w.found.unread[to.path] = true
	w.Unread = append(w.Unread, Unread{
		Module: to.path, Source: moduleaddr.Shown(c.Module.Text),
		Code: problem.CodeUnreadModule, Reason: why.Reason, Hint: why.Hint,
		Place: c.Module.Place,
	})
}

// notFetched reports a module that could not be fetched.
func (w *walker) notFetched(c tfconfig.ModuleCall, to *visit, err error) {
	why := problem.Of(err)
	w.notRead(c, to, staticeval.Unknown{Reason: why.Message, Hint: why.Hint})
	u := &w.Unread[len(w.Unread)-1]
	u.Outage = why.Outage
	if why.Code != problem.CodeInternal {
		u.Code = why.Code
	}
	if e, ok := errors.AsType[*problem.Error](err); ok && e.Problem.About != "" && e.Problem.About == moduleaddr.Unforced(u.Source) {
		u.Cause = e.Err.Error()
	}
}

// enter reads a called module, unless the tree would have no end.
func (w *walker) enter(from *visit, c tfconfig.ModuleCall, child tfconfig.Directory, to *visit) {
	if child.Tree.IsPackage() {
		// A directory of a package that could not be fetched fails here.
		if _, err := child.Entries(); err != nil {
			w.notFetched(c, to, file.Cause(err))
			return
		}
	}
	switch {
	case slices.Contains(to.above, child):
		w.Add(c.Module.Place, "endless module tree: %s is called from within itself", child)
		return
	case to.depth > maxNested:
		w.Add(c.Module.Place, "endless module tree: there are more than %d modules within each other", maxNested)
		return
	case w.modules >= maxModules:
		if w.modules == maxModules {
			w.Add(c.Module.Place, "endless module tree: there are more than %d module calls", maxModules)
		}
		w.modules++
		return
	}
	w.modules++
	to.config = child.Configuration(w.tool)
	if c.Stack {
		to.config = child.Stack(w.tool)
	}
	to.earlyEvaluation, to.caller, to.args = from.earlyEvaluation, from, c.Args
	to.locate(c.Module.Kind)
	w.install(c, to)
	to.config.CheckCall(&w.Mistakes)
	w.module(to)
}

// judgeUnknown decides about configuration that no known release accepts. For a known
// release it is an error. A newer one may accept it. Then a block without providers is a
// note, or a warning of the run. If the block is about a provider, that provider is in
// doubt.
func (w *walker) judgeUnknown(h *harvest) {
	var diags []problem.Problem
	for _, d := range h.Diags {
		part, place := d.Code == tfconfig.UnknownPart, d.Code == tfconfig.UnknownPlace
		if part || place {
			d.Code = problem.CodeInvalidConfig
		}
		switch {
		case w.readers == onlyNewer && (part || place):
			d.Severity, d.Code, d.Hint = problem.SeverityNote, problem.CodeUnknownRelease, ""
			h.Notes = append(h.Notes, d)
		case w.readers == anyNewer && part:
			w.unfamiliar = append(w.unfamiliar, d)
		default:
			diags = append(diags, d)
		}
	}
	for _, d := range h.doubts {
		if w.readers == onlyKnown {
			diags = append(diags, d.Problem)
			continue
		}
		h.Unread = append(h.Unread, Unread{
			Module: d.module, Code: problem.CodeUnknownEntry, Reason: d.Why.Reason, Hint: d.Why.Hint, Place: d.Place,
			Provider: d.Name, Expression: d.Expression, Entry: &d.OpenEntry,
		})
	}
	h.Diags = diags
}

// treeOf is the result of a harvest, after checking for providers that no lock file can
// hold. A refused provider is reported if the second argument returns true for it.
func (w *walker) treeOf(h *harvest, told func(provider.Addr) bool) ModuleTree {
	all := slices.DeleteFunc(merged(h.terms), func(r Requirement) bool {
		at, why := w.refused(r.Addr, r.Terms)
		if why != "" && told(r.Addr) {
			h.Add(at, "%s", why)
		}
		return why != "" || r.Addr.Builtin()
	})
	w.judgeUnknown(h)
	t := h.ModuleTree
	t.Requirements, t.Diagnostics = all, sorted(h.Diags)
	slices.Sort(t.Dirs)
	return t
}

// refused returns why a provider cannot be required in this way, and the place. A provider
// that is part of the tool has no versions of its own.
func (w *walker) refused(addr provider.Addr, terms []Term) (problem.Place, string) {
	terraform, _ := provider.ImpliedAddr("terraform", w.tool.Name)
	constrained := slices.IndexFunc(terms, func(t Term) bool { return t.Constraint != (provider.Term{}) })
	switch {
	case len(terms) == 0:
	case addr.Legacy():
		return terms[0].Place, fmt.Sprintf("invalid legacy provider address: %s is a name of Terraform 0.12 and earlier; complete the upgrade to Terraform 0.13, or name the provider's namespace", addr)
	case addr.Builtin() && addr != terraform:
		return terms[0].Place, fmt.Sprintf("invalid dependency on a built-in provider: there is no %s", addr)
	case addr.Builtin() && constrained >= 0:
		return terms[constrained].Place, fmt.Sprintf("invalid dependency on a built-in provider: %s supports no version constraints", addr)
	}
	return problem.Place{}, ""
}
