package upgrade

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// root is a root module with the providers that the plan must decide about.
type root struct {
	module scan.RootModule // as the command that the mode imitates reads it
	basis  basis
	// left are the providers whose entries stay as they are: their requirements are not
	// known, or a rule does not permit them.
	left        []provider.Addr
	diagnostics []problem.Problem
	undecided   bool // nothing is decided, since a problem hides what is required
	wanted      []*wanted
	idle        []*wanted // the rules let no release in, so no source is asked
	// modulesFile is the new lock file of modules; nil if it stays. lockedModules are its
	// changes, and kept the problems for which entries stay in it as they are.
	modulesFile   []byte
	lockedModules []ModuleChange
	kept          []problem.Problem
}

// basis says where the requirements of a root module come from.
type basis int

const (
	// onConfiguration: the requirements are those of the configuration. If parts of it
	// could not be read, what is required is not known.
	onConfiguration basis = iota
	// onRecords: the records of the lock file replace the parts of the configuration that
	// could not be read. Options.Preserve asks for it, or another program generates the
	// configuration, and the records are the best knowledge (scan.Root.StandIn).
	onRecords
	// onNothing: the lock file is left as it is. Only the program that generates the
	// configuration knows what is required.
	onNothing
)

// basisOf decides where the requirements of a root module come from. Without a lock file
// there are no records. Exact has no use for records: they do not show which bytes to
// reproduce. If modules were not read since nobody has them as they are locked, the records
// are what those required: the entries stay true to the lock file of modules.
func (b behaviour) basisOf(m scan.RootModule) basis {
	known := len(m.Tree.Unread) == 0
	moved := !slices.ContainsFunc(m.Tree.Unread, func(u scan.Unread) bool { return u.Code != problem.CodeModuleMoved })
	switch {
	case b.leavesGenerated && m.Generated(b.takesRecorded):
		return onNothing
	case known || m.Lock == nil:
		return onConfiguration
	case m.Preserves() && !b.leavesGenerated, b.takesRecorded && (b.options.Preserve || m.Preserves() || moved):
		return onRecords
	}
	return onConfiguration
}

// wanted is a required provider, before any source is asked about it.
type wanted struct {
	tool        provider.Tool
	requirement scan.Requirement
	constraints provider.Constraints
	// records are the constraints that the new entry states. Under Exact, init and
	// providers lock write the entry one after the other. initAlone says that providers
	// lock does not know the provider, because only tests require it: it neither adds
	// hashes nor writes constraints. relocked says that providers lock knows it, but only
	// with records as its constraints.
	records             provider.Constraints
	initAlone, relocked bool
	// lockAlone says that only providers lock writes the entry: init skips providers that
	// the CLI configuration overrides.
	lockAlone bool
	locked    lockfile.Lock
	isLock    bool // the old lock file has an entry
	// sides are the entries of both sides of a merge, if they differ. locked is one of
	// them.
	sides        []lockfile.Lock
	carried      provider.Version // the version in the predecessor's entry; zero: none
	rules        policy.Applied
	ownPlatforms []provider.Platform // from a rule; empty: use those of the root module
	mayStay      bool                // the rules want the entry to stay as it is
}

// want collects the providers that must be decided. It finds nothing to decide if the
// requirements are not known: the root module has an error, or module calls could not be
// read and no records replace them.
func want(m scan.RootModule, b behaviour) root {
	if b.settlesConflicts {
		m = withoutConflictOfModules(m)
	}
	r := root{kept: slices.Concat(m.Tree.Kept, m.Tests.Kept)}
	r.modulesFile, r.lockedModules = lockModules(m)
	untested := m.Tree.Requirements
	var ofTests []problem.Problem // what keeps modules of tests from being locked
	switch {
	case b.readsTests || m.Tool.Has(provider.TestFilesInLock):
		m.Tree = m.All()
	case m.ModuleLock != nil || r.modulesFile != nil:
		ofTests = slices.Clone(m.Tests.Diagnostics)
		for _, u := range m.Tests.Unread {
			ofTests = append(ofTests, lacking(u, onConfiguration))
		}
	}
	m.Tests = scan.ModuleTree{}
	if b.settlesConflicts {
		m = settled(m)
	}
	r.module, r.basis, r.diagnostics = m, b.basisOf(m), slices.Clone(m.Tree.Diagnostics)
	switch r.basis {
	case onRecords:
		r.module.Tree.Requirements = preserved(m)
	case onNothing:
		r.diagnostics = append(r.diagnostics, m.NotRead())
		return r
	}
	if r.basis == onConfiguration && b.options.OneSet {
		r = r.asOneSetLeaves()
	}
	r.diagnostics = append(r.diagnostics, removedBySets(r.module)...)
	r = r.refuse(b)
	r.undecided = problem.AnyError(r.diagnostics)
	r.diagnostics = append(r.diagnostics, ofTests...)
	for _, u := range m.Tree.Unread {
		r = r.lacks(u, b)
	}
	if r.undecided {
		return r
	}
	for _, required := range r.module.Tree.Requirements {
		if !r.decides(required.Addr, b) {
			continue
		}
		w := wantProvider(m, untested, required, b)
		if w.spared(b) {
			r.idle = append(r.idle, w)
		} else {
			r.wanted = append(r.wanted, w)
		}
	}
	return r
}

// lacks notes a module call that could not be followed, or a provider entry with unknown
// requirements. The locked providers that this entry may mean are left as they are. If
// there are none, or the plan writes all or nothing, nothing is decided.
func (r root) lacks(u scan.Unread, b behaviour) root {
	// If a program has not generated the configuration, another problem says so, once for
	// all.
	if r.basis != onRecords || u.Module != "" || u.Entry != nil {
		r.diagnostics = append(r.diagnostics, lacking(u, r.basis))
	}
	if r.basis == onRecords {
		return r
	}
	var meant []lockfile.Lock
	if u.Entry != nil && r.module.Lock != nil {
		meant = collect.Those(r.module.Lock.Locks, func(l lockfile.Lock) bool { return u.Entry.May(l.Addr) })
	}
	r.left = append(r.left, collect.Mapped(meant, addrOf)...)
	r.undecided = r.undecided || b.allOrNothing || len(meant) == 0
	return r
}

// refuse leaves the providers alone that the rules do not permit, required or locked, with
// one warning for all. Disputed entries are still decided.
func (r root) refuse(b behaviour) root {
	var all collect.Set[provider.Addr]
	for _, required := range r.module.Tree.Requirements {
		all.Add(required.Addr)
	}
	if r.module.Lock != nil {
		all.Add(collect.Mapped(r.module.Lock.Locks, addrOf)...)
	}
	var said []string
	for _, addr := range all.List {
		rule := b.options.Policy.About(r.module.Dir, addr).Forbids()
		if rule == nil || disputed(r.module, addr) || !selected(b.options.Only, addr) {
			continue
		}
		r.left = append(r.left, addr)
		said = append(said, fmt.Sprintf("%s (%s)", addr, rule.Origin()))
	}
	if len(said) > 0 {
		slices.Sort(said)
		r.diagnostics = append(r.diagnostics, problem.Problem{
			Code: problem.CodeProviderRefused, Severity: problem.SeverityWarning, Place: problem.Place{Path: path.Join(r.module.Dir, lockfile.Name)},
			Message: "rules do not permit these providers, and their entries are left as they are: " + strings.Join(said, ", "),
			Hint:    "use other providers, or let a later rule permit these",
		})
	}
	return r
}

// decides reports whether the plan is about the provider.
func (r root) decides(addr provider.Addr, b behaviour) bool {
	named := selected(b.options.Only, addr) || disputed(r.module, addr)
	return named && !slices.Contains(r.left, addr) && !(b.skipsOverridden && b.overrides(r.module.Tool, addr))
}

// overrides reports whether the CLI configuration replaces the provider, in a tool release
// that then skips its entry.
func (b behaviour) overrides(tool provider.Tool, addr provider.Addr) bool {
	return tool.Has(provider.SkippedOverrides) && slices.Contains(b.options.Overridden[tool.Name], addr)
}

// lacking is the problem of a module call that could not be followed, or of a provider
// entry with unknown requirements. It is an error if the requirements are not known. It is
// a warning if recorded constraints replace them.
func lacking(u scan.Unread, rests basis) problem.Problem {
	d := problem.Problem{
		Code: problem.CodeUnreadModule, Place: u.Place, Outage: u.Outage,
		Message: fmt.Sprintf("module.%s could not be read: %s", u.Module, u.Reason),
		Hint:    cmp.Or(u.Hint, "the lock file stays as it is, because the requirements of this module are not known"),
	}
	switch {
	case u.Entry != nil:
		d.Code, d.Subject.Addr = u.Code, u.Entry.Addr
		d.Message = fmt.Sprintf("the requirements on the provider %s are not known: %s", u.Provider, u.Reason)
		d.Hint = cmp.Or(u.Hint, "its entry stays as it is")
	case u.Module == "":
		d.Code, d.Message = u.Code, "the requirements are known in part: "+u.Reason
	}
	if !u.Sets.IsZero() {
		d.Message += " (with the " + u.Sets.String() + ")"
	}
	if rests == onRecords {
		d.Severity, d.Hint = problem.SeverityWarning, u.Hint
		d.Message += "; the recorded constraints are used instead"
	}
	return d
}

// wantProvider collects what must be decided about one provider. untested are the
// requirements without test files.
func wantProvider(m scan.RootModule, untested []scan.Requirement, required scan.Requirement, b behaviour) *wanted {
	w := &wanted{tool: m.Tool, requirement: required, constraints: required.Constraints()}
	w.lockAlone = b.twoCommands && b.overrides(m.Tool, required.Addr)
	w.rules = b.options.Policy.About(m.Dir, required.Addr)
	if !b.options.Platforms.Demanded {
		w.ownPlatforms = w.rules.Platforms()
	}
	if m.Lock != nil {
		w.locked, w.isLock = m.Lock.Lock(required.Addr)
	}
	if !m.Made.Bare {
		w.records = stated(required, w.locked)
	}
	if b.twoCommands && !m.Tool.Has(provider.TestFilesInLock) {
		if r := requirementFor(untested, required.Addr); r != nil {
			w.records, w.relocked = stated(*r, w.locked), true
		} else {
			w.initAlone = true
		}
	}
	if m.Lock == nil {
		w.carried = lockedIn(m.Made.Start, required.Addr)
		return w
	}
	w.sides = m.Lock.Disputed[required.Addr]
	w.mayStay = w.rules.IgnoresAll() && w.isLock && w.sides == nil && w.constraints.Allows(w.locked.Version)
	if twin, ok := b.predecessor(m.Tool, required.Addr); ok {
		w.carried = lockedIn(m.Lock, twin)
	}
	return w
}

// predecessor is the provider that OpenTofu's registry takes the first version from: the
// twin in Terraform's registry, which the configuration required before. OpenTofu does this
// for the namespace hashicorp from 1.10 on [case 81c] [opentofu 1.12
// internal/depsfile/locks.go]. relock does it for every namespace.
func (b behaviour) predecessor(tool provider.Tool, addr provider.Addr) (provider.Addr, bool) {
	asTool := addr.Namespace == "hashicorp" && tool.Has(provider.PredecessorLocks)
	if tool.Name != provider.OpenTofu || addr.Host != provider.OpenTofu.DefaultHost() || !asTool && !b.carriesAll {
		return provider.Addr{}, false
	}
	return addr.Twin()
}

// lockedIn is the version of a provider in a lock file, or zero.
func lockedIn(f *lockfile.File, addr provider.Addr) provider.Version {
	if f == nil {
		return provider.Version{}
	}
	l, _ := f.Lock(addr)
	return l.Version
}

func (w *wanted) addr() provider.Addr { return w.requirement.Addr }

// provider is the question about the provider itself, without a version.
func (w *wanted) provider() ask.Question { return w.key(provider.Version{}, provider.Platform{}) }

// key is the question about a package of the provider.
func (w *wanted) key(v provider.Version, p provider.Platform) ask.Question {
	return ask.Question{Tool: w.tool, Want: provider.Want{Addr: w.addr(), Version: v, Platform: p}}
}

// failure is an error about a version of the provider.
func (w *wanted) failure(code problem.Code, v provider.Version, format string, args ...any) *problem.Error {
	return &problem.Error{Problem: problem.Problem{Code: code, Host: w.addr().Host, Subject: problem.Subject{Addr: w.addr(), Version: v, Versioned: !v.IsZero()}, Message: fmt.Sprintf(format, args...)}}
}

// place is that of the provider's problems: where it is required first.
func (w *wanted) place() problem.Place { return w.requirement.Terms[0].Place }

// at says in a hint where something is, if the provider's problems have another place.
func (w *wanted) at(p problem.Place) string {
	if p == w.place() {
		return ""
	}
	return " at " + p.String()
}

// spared reports whether the rules let no release in, so that no source is asked.
func (w *wanted) spared(b behaviour) bool { return w.mayStay && b.spares }

// preserved joins the known requirements with those that the lock file records. The records
// are all requirements at the time of the last write. So no requirement is lost, and no
// entry is dropped. If the configuration states a recorded term as well, the term counts as
// the configuration's.
func preserved(m scan.RootModule) []scan.Requirement {
	open := func(r scan.Requirement) bool {
		return slices.ContainsFunc(m.Tree.Unread, func(u scan.Unread) bool { return u.Entry == nil || u.Entry.May(r.Addr) })
	}
	records := collect.Those(scan.Recorded(m.Lock), open)
	merged := supplemented(m.Tree.Requirements, records)
	for _, old := range records {
		r := requirementFor(merged, old.Addr)
		r.Terms = slices.Clone(r.Terms)
		for _, t := range old.Terms {
			stated := slices.ContainsFunc(r.Terms, func(s scan.Term) bool { return s.Constraint == t.Constraint })
			if t.Constraint.Op != 0 && !stated {
				r.Terms = append(r.Terms, t)
			}
		}
	}
	return merged
}

// supplemented is the requirements, and of further those for other providers. It is a new
// slice.
func supplemented(required, further []scan.Requirement) []scan.Requirement {
	lacking := collect.Those(further, func(r scan.Requirement) bool { return requirementFor(required, r.Addr) == nil })
	all := slices.Concat(required, lacking)
	slices.SortFunc(all, func(a, b scan.Requirement) int { return a.Addr.Compare(b.Addr) })
	return all
}

// requirementFor is the requirement of a provider, or nil.
func requirementFor(all []scan.Requirement, addr provider.Addr) *scan.Requirement {
	i := slices.IndexFunc(all, func(r scan.Requirement) bool { return r.Addr == addr })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// selected reports whether the patterns name the provider. An empty list names all.
func selected(only []provider.Pattern, addr provider.Addr) bool {
	return len(only) == 0 || matches(only, addr)
}

func matches(patterns []provider.Pattern, addr provider.Addr) bool {
	return slices.ContainsFunc(patterns, func(p provider.Pattern) bool { return p.Match(addr) })
}
