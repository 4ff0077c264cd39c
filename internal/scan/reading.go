package scan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// serving is a root module with all readings that its lock file serves: one for each set of
// values that makes a difference.
type serving struct {
	Root
	readings []*loading
	units    []*serving // they begin with its lock file, and are read instead of it
	lock     *moduleLock
}

// newServing begins a root module. A set is assumed to make no difference until the root
// module asks for a value that differs. Terragrunt units have their own readings.
func newServing(r Root, lock *moduleLock, opts *Options) *serving {
	s := &serving{Root: r, lock: lock}
	for _, unit := range r.Made.Serves {
		s.units = append(s.units, newServing(unit, lock, opts))
	}
	if s.units != nil {
		return s
	}
	for _, reading := range r.Readings {
		s.readings = append(s.readings, newLoading(reading, lock, givenValues{}))
	}
	if r.Readings != nil {
		return s
	}
	var g givenValues
	if r.Kind != TerragruntUnit {
		g = newGiven(opts.Sets, r.Dir)
	}
	s.readings = []*loading{newLoading(r, lock, g)}
	return s
}

func newLoading(r Root, lock *moduleLock, g givenValues) *loading {
	return &loading{Root: r, lock: lock, given: g, asked: map[remoteCall]bool{}}
}

// load reads what is not read yet, and what lacked something. Sets that make a difference
// get their own readings.
func (s *serving) load(packages *packages, opts *Options) {
	for i := 0; i < len(s.readings); i++ {
		l := s.readings[i]
		if !l.begun || l.outdated() {
			l.load(packages, opts)
		}
		if others := l.given.differing(l.at()); len(others) > 0 {
			s.readings = append(s.readings, newLoading(s.Root, s.lock, givenValues{sets: others}))
		}
	}
}

func (s *serving) begun() bool {
	return !slices.ContainsFunc(s.readings, func(l *loading) bool { return !l.begun }) &&
		!slices.ContainsFunc(s.units, func(unit *serving) bool { return !unit.begun() })
}

// outdated reports whether a reading lacks a module, or was read before the lock file of
// modules got another entry.
func (s *serving) outdated() bool { return slices.ContainsFunc(s.readings, (*loading).outdated) }

// lacks are the calls of all readings whose modules are unknown.
func (s *serving) lacks() []remoteCall {
	var calls []remoteCall
	for _, l := range s.readings {
		calls = append(calls, l.lacks...)
	}
	return calls
}

// module is the root module with the requirements of all readings.
func (s *serving) module() RootModule {
	if s.units != nil {
		return joined(s.Root, collect.Mapped(s.units, (*serving).module))
	}
	if len(s.readings) == 1 {
		return s.readings[0].read
	}
	var j readings
	for _, l := range s.readings {
		m := l.read
		if !l.given.names().IsZero() {
			m.Sets = l.given.names()
		}
		if !m.Standalone() {
			j.known = append(j.known, m)
		}
		j.all = append(j.all, m)
	}
	if len(j.known) == 0 {
		j.known = j.all
	}
	return j.module()
}

// readings are the readings of one root module, to be joined.
type readings struct {
	all   []RootModule
	known []RootModule // without unknown readings
}

// module joins the readings. For unknown readings it uses the records of the lock file.
func (j readings) module() RootModule {
	m := j.known[0]
	m.Sets, m.Readings = "", nil
	for _, r := range j.all {
		m.Sets = m.Sets.With(r.Sets)
		m.Made.Start = cmp.Or(m.Made.Start, r.Made.Start)
	}
	if len(j.known) < len(j.all) && m.StandIn == StandInNone {
		m.StandIn = StandInParts
	}
	if slices.ContainsFunc(j.all, func(r RootModule) bool { return !slices.EqualFunc(r.Installed, m.Installed, Installed.same) }) {
		m.Divided = m.Sets
	}
	m.Made.Origin = strings.Join(union(j.all, func(r RootModule) []string { return origins(r.Made) }), nameGap)
	joinFacts(&m, j.all)
	m.Made.Unread = j.unread(func(r RootModule) []Unread { return r.Made.Unread })
	alike := j.alike()
	m.Tree = j.tree(func(r RootModule) ModuleTree { return r.Tree }, alike)
	m.Tests = j.tree(func(r RootModule) ModuleTree { return r.Tests }, alike)
	if note := j.differentProviders(m.All().Requirements); note != "" {
		m.Tree.Notes = append(m.Tree.Notes, problem.Problem{
			Severity: problem.SeverityNote, Code: problem.CodeSets, Place: problem.Place{Path: path.Join(m.Dir, lockfile.Name)}, Message: note,
		})
	}
	return m
}

// origins is the origin, if it is known.
func origins(m Made) []string {
	if m.Origin == "" {
		return nil
	}
	return []string{m.Origin}
}

// alike are the providers for which all readings have the same requirements.
func (j readings) alike() map[provider.Addr]bool {
	terms := func(m RootModule, addr provider.Addr) [2][]Term {
		return [2][]Term{termsOf(m.Tree, addr), termsOf(m.Tests, addr)}
	}
	alike := map[provider.Addr]bool{}
	for _, m := range j.known {
		for _, r := range slices.Concat(m.Tree.Requirements, m.Tests.Requirements) {
			first := terms(j.known[0], r.Addr)
			alike[r.Addr] = !slices.ContainsFunc(j.known, func(other RootModule) bool {
				own := terms(other, r.Addr)
				return !slices.Equal(own[0], first[0]) || !slices.Equal(own[1], first[1])
			})
		}
	}
	return alike
}

func termsOf(t ModuleTree, addr provider.Addr) []Term {
	i := slices.IndexFunc(t.Requirements, func(r Requirement) bool { return r.Addr == addr })
	if i < 0 {
		return nil
	}
	return t.Requirements[i].Terms
}

// tree joins the same tree of all readings.
func (j readings) tree(of func(RootModule) ModuleTree, alike map[provider.Addr]bool) ModuleTree {
	t := joinedLists(j.known, of)
	t.Requirements = j.requirements(of, alike)
	t.Unread = j.unread(func(r RootModule) []Unread { return of(r).Unread })
	t.Diagnostics = j.diagnostics(func(r RootModule) []problem.Problem { return of(r).Diagnostics })
	return t
}

// requirements are those of all readings. If readings differ about a provider, each term
// has its sets.
func (j readings) requirements(of func(RootModule) ModuleTree, alike map[provider.Addr]bool) []Requirement {
	terms := map[provider.Addr][]Term{}
	for i, m := range j.known {
		for _, r := range of(m).Requirements {
			for _, t := range r.Terms {
				switch {
				case !alike[r.Addr]:
					terms[r.Addr] = withTerm(terms[r.Addr], t, m.Sets)
				case i == 0:
					terms[r.Addr] = append(terms[r.Addr], t)
				}
			}
		}
	}
	return merged(terms)
}

// withTerm adds a term, or its sets to those of the same term.
func withTerm(terms []Term, t Term, sets SetNames) []Term {
	for i, known := range terms {
		known.Sets = t.Sets
		if known == t {
			terms[i].Sets = terms[i].Sets.With(sets)
			return terms
		}
	}
	t.Sets = sets
	return append(terms, t)
}

// unread are the unread parts of all readings. A part that only some readings have has
// their sets.
func (j readings) unread(of func(RootModule) []Unread) []Unread {
	var all []Unread
	for _, m := range j.all {
		for _, u := range of(m) {
			i := slices.IndexFunc(all, func(known Unread) bool {
				return known.Module == u.Module && known.Source == u.Source && known.Reason == u.Reason && known.Place == u.Place && known.Provider == u.Provider
			})
			if i >= 0 {
				all[i].Sets = all[i].Sets.With(m.Sets)
			} else {
				u.Sets = m.Sets
				all = append(all, u)
			}
		}
	}
	for i, u := range all {
		if len(u.Sets.List()) == j.count() {
			all[i].Sets = ""
		}
	}
	return all
}

// count is how many sets there are.
func (j readings) count() int {
	n := 0
	for _, m := range j.all {
		n += len(m.Sets.List())
	}
	return n
}

// diagnostics are those of all readings. A diagnostic that only some have names their sets.
func (j readings) diagnostics(of func(RootModule) []problem.Problem) []problem.Problem {
	var all []problem.Problem
	var sets []SetNames
	for _, m := range j.known {
		for _, p := range of(m) {
			if i := slices.Index(all, p); i >= 0 {
				sets[i] = sets[i].With(m.Sets)
			} else {
				all, sets = append(all, p), append(sets, m.Sets)
			}
		}
	}
	for i := range all {
		if len(sets[i].List()) < j.count() {
			all[i].Message += " (with the " + sets[i].String() + ")"
		}
	}
	return sorted(all)
}

// mostLeft is how many sets a note names.
const mostLeft = 3

// differentProviders names the entries that init removes with one set although others
// require them. It is empty if no set is known to require fewer providers.
func (j readings) differentProviders(required []Requirement) string {
	var parts []string
	for _, m := range j.known {
		if len(m.All().Unread) > 0 || problem.AnyError(m.Tree.Diagnostics) {
			continue // this set may require them
		}
		var removed []string
		for _, r := range required {
			if sets := r.sets(); len(sets) > 0 && len(termsOf(m.All(), r.Addr)) == 0 {
				removed = append(removed, r.Addr.String())
			}
		}
		if len(removed) > 0 {
			parts = append(parts, fmt.Sprintf("with the %s it removes %s", m.Sets, strings.Join(removed, nameGap)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	if more := len(parts) - mostLeft; more > 0 {
		parts = append(parts[:mostLeft], fmt.Sprintf("and so on with %d more", more))
	}
	return "init removes entries that other sets require, and fails with -lockfile=readonly: " + strings.Join(parts, "; ")
}

// joinFacts joins facts of readings or of units.
func joinFacts(m *RootModule, all []RootModule) {
	for _, r := range all {
		m.Newer, m.AnyChange = m.Newer || r.Newer, m.AnyChange || r.AnyChange
	}
	m.Files = union(all, func(r RootModule) []string { return r.Files })
	m.Unfamiliar = union(all, func(r RootModule) []problem.Problem { return r.Unfamiliar })
	m.Made.Holes = union(all, func(r RootModule) []Hole { return r.Made.Holes })
	m.Made.Assumptions = union(all, func(r RootModule) []string { return r.Made.Assumptions })
}

// joinedLists joins the lists of the same module tree of readings or of units.
func joinedLists(all []RootModule, of func(RootModule) ModuleTree) ModuleTree {
	t := ModuleTree{
		Fetched: union(all, func(r RootModule) []Fetched { return of(r).Fetched }),
		Sources: union(all, func(r RootModule) []Fetched { return of(r).Sources }),
		Kept:    union(all, func(r RootModule) []problem.Problem { return of(r).Kept }),
		Held:    union(all, func(r RootModule) []HeldModule { return of(r).Held }),
		Dirs:    union(all, func(r RootModule) []string { return of(r).Dirs }),
		Notes:   union(all, func(r RootModule) []problem.Problem { return of(r).Notes }),
	}
	slices.Sort(t.Dirs)
	return t
}

// union are the distinct elements of lists, in their order.
func union[T comparable](readings []RootModule, of func(RootModule) []T) []T {
	var all collect.Set[T]
	for _, m := range readings {
		all.Add(of(m)...)
	}
	return all.List
}
