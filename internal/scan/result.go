package scan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// RootModule is a root module and its requirements.
type RootModule struct {
	Root
	// Newer says that the root module needs a release newer than all known ones.
	Newer bool
	// Unfamiliar are blocks and arguments that no known release has, if newer releases are
	// allowed and none is named. The function Newer reports them.
	Unfamiliar []problem.Problem
	// Installed are the records that init makes of the module tree, with Options.Installed.
	Installed []Installed
	// Divided are the sets of values with which these records differ. Then Installed has those
	// of the first one.
	Divided SetNames
	// Tree is what the root module calls. Tests is what only its test files call. Init
	// reads both. providers lock reads the tests only with provider.TestFilesInLock.
	Tree, Tests ModuleTree
}

// Partial reports whether the lock file's records replace unknown requirements.
func (m RootModule) Partial() bool {
	return m.Standalone() || m.Preserves() && len(m.Tree.Unread) > 0
}

// ModuleTree is a root module with the modules that it calls, or its test files with the
// modules that they run.
type ModuleTree struct {
	// Requirements are the merged requirements of the whole tree, sorted by
	// address, without built-in providers.
	Requirements []Requirement
	// Unread lists the module calls that could not be followed, and the entries whose
	// requirements are unknown. If there are any, Requirements is incomplete.
	Unread []Unread
	// Fetched lists the followed module calls that lead out of the scanned file tree, in
	// the order in which they were found.
	Fetched []Fetched
	// Sources are modules from which another program makes the configuration.
	Sources []Fetched
	// Kept are the problems for which entries of the lock file of modules stay as they are: a
	// module that has moved, a server that does not answer. They stop no plan.
	Kept []problem.Problem
	// Held are the newer versions and commits of locked modules that rules hold, or should:
	// for each call the newest first.
	Held []HeldModule
	// Dirs are the directories of the modules in the file tree, sorted. A change of a file
	// in another directory has no effect here.
	Dirs []string
	// Diagnostics are the problems of the files, with warnings. For the root module they
	// include those of its lock file. An error means that the configuration or the lock
	// file is not valid. Messages quote only identifiers, and values in canonical form.
	Diagnostics []problem.Problem
	// Notes are facts that are no problems of the files, in the order in which they were
	// found.
	Notes []problem.Problem
}

// Locked are all fetched modules, which a lock file of modules has: also those that no call
// of the configuration names.
func (m RootModule) Locked() []Fetched {
	return slices.Concat(m.Tree.Sources, m.Tree.Fetched, m.Tests.Fetched)
}

// All has the requirements of the root module and of its tests.
func (m RootModule) All() ModuleTree {
	if t := m.Tests; len(t.Requirements)+len(t.Unread)+len(t.Fetched)+len(t.Dirs)+len(t.Diagnostics)+len(t.Notes)+len(t.Kept)+len(t.Held) == 0 {
		return m.Tree
	}
	terms, parts := map[provider.Addr][]Term{}, termsOfUnits{}
	for _, r := range slices.Concat(m.Tree.Requirements, m.Tests.Requirements) {
		terms[r.Addr] = append(terms[r.Addr], r.Terms...)
		for unit, own := range r.OfUnits {
			parts.add(r.Addr, unit, own)
		}
	}
	dirs := slices.Concat(m.Tree.Dirs, m.Tests.Dirs)
	slices.Sort(dirs)
	return ModuleTree{
		Requirements: parts.in(merged(terms)),
		Unread:       slices.Concat(m.Tree.Unread, m.Tests.Unread),
		Fetched:      slices.Concat(m.Tree.Fetched, m.Tests.Fetched),
		Sources:      m.Tree.Sources,
		Kept:         slices.Concat(m.Tree.Kept, m.Tests.Kept),
		Held:         slices.Concat(m.Tree.Held, m.Tests.Held),
		Dirs:         slices.Compact(dirs),
		Diagnostics:  sorted(slices.Concat(m.Tree.Diagnostics, m.Tests.Diagnostics)),
		Notes:        slices.Concat(m.Tree.Notes, m.Tests.Notes),
	}
}

// merged sorts terms into requirements.
func merged(terms map[provider.Addr][]Term) []Requirement {
	var all []Requirement
	for _, addr := range slices.SortedFunc(maps.Keys(terms), provider.Addr.Compare) {
		slices.SortStableFunc(terms[addr], func(a, b Term) int {
			return cmp.Or(strings.Compare(a.Module, b.Module), a.Place.Compare(b.Place))
		})
		all = append(all, Requirement{Addr: addr, Terms: slices.Compact(terms[addr])})
	}
	return all
}

// Requirement is what the whole module tree requires of one provider.
type Requirement struct {
	Addr provider.Addr
	// Terms has each term of each version constraint. A module that needs the provider in
	// any version has one term without constraint, at the first place that says so. Terms
	// are sorted by module path, file and line.
	Terms []Term
	// OfUnits are the terms of each unit that begins with the lock file, by directory; nil
	// if the lock file has one root module.
	OfUnits map[string][]Term
}

// Term is one term of a version constraint, with its place.
type Term struct {
	// Constraint is the term; its zero value (no operator) means any version.
	Constraint provider.Term `json:"text"`
	// Module is the path of module calls from the root module, joined by dots;
	// empty for the root module itself.
	Module        string `json:"module"`
	problem.Place        // its keys are those of the term
	// Unit is the unit that has the term, of those that begin with the lock file. It is
	// empty if all have it, or if the lock file has one root module.
	Unit string `json:"unit,omitempty"`
	// Sets are the sets of values with which the configuration has the term; zero: all
	// sets.
	Sets SetNames `json:"sets,omitzero"`
	// Source and Expression are the expressions of the address and the constraint; empty if
	// they are literal.
	Source     string `json:"source_expression,omitempty"`
	Expression string `json:"expression,omitempty"`
	// Written is the term as it is written, if that is a literal in another form than the
	// canonical one.
	Written string `json:"-"`
}

// Text is the term as it is written, as far as known.
func (t Term) Text() string { return cmp.Or(t.Written, t.Constraint.String()) }

// Constraints joins the terms to the string that the lock file records.
func (r Requirement) Constraints() provider.Constraints {
	var terms []provider.Term
	for _, t := range r.Terms {
		if t.Constraint != (provider.Term{}) {
			terms = append(terms, t.Constraint)
		}
	}
	return provider.NewConstraints(terms...)
}

// Unread is a module call that could not be followed, or an entry whose requirements are
// unknown.
type Unread struct {
	Module string `json:"module"` // path of the call, or of the module with the entry, joined by dots
	Source string `json:"source"` // as evaluated, if known; without credentials and query
	Reason string `json:"reason"`
	// Cause is Reason without the attempt, if relock only tried to fetch the package of
	// Source; else empty.
	Cause string `json:"cause,omitempty"`
	// Provider is the local name of the entry, and Expression its part without a value;
	// both are empty for a call.
	Provider      string              `json:"provider,omitempty"`
	Sets          SetNames            `json:"sets,omitzero"` // as in Term
	Expression    string              `json:"expression,omitempty"`
	problem.Place                     // its keys are those of the call
	Code          problem.Code        `json:"code,omitempty"`
	Hint          string              `json:"hint,omitempty"` // what to do next; may be empty
	Outage        problem.Outage      `json:"outage,omitzero"`
	Entry         *tfconfig.OpenEntry `json:"-"` // nil for a call. If it is set, only its provider is in doubt.
}

// OfEntry reports whether it is an entry with unknown requirements.
func (u Unread) OfEntry() bool { return u.Entry != nil || u.Provider != "" }

// Fetched is a followed module call that leads out of the scanned file tree.
type Fetched struct {
	Module string        // path of the call, joined by dots
	Place  problem.Place // of the call
	// Pin is the place of the argument that says which release is called. Expression is what
	// is written there, if that is no literal.
	Pin        problem.Place
	Expression string
	Source     string // as in Unread
	Ref        string // in the source, as written; empty: none
	Version    string // selected for a registry module; empty for others
	// ID is that of the package, as in Package. It is empty if the module was not fetched,
	// and was found where the tool has installed it.
	ID string
	// Locked, Repository and Hash are the entry of the lock file of modules that the call
	// uses or needs; zero if there is no such file, or the package cannot be locked.
	Locked           modulelock.Key
	Repository, Hash string
	// Moves is as Reference.Moves.
	Moves bool
	// Call is the question to a Source, and Dir the module's directory in the package.
	Call Call
	Dir  string
	// Versions is as in Package.
	Versions *ModuleVersions
}

// Address is that of the package of the call, as in a lock file of modules.
func (f Fetched) Address(tool provider.ToolName) string {
	a, _ := moduleaddr.Parse(f.Call.Source, tool) // it was followed
	address, _ := a.Label()
	return address
}

// Recorded returns a lock file's recorded constraints as requirements, for root modules
// without known configuration. Each term is at the line of its entry.
func Recorded(lock *lockfile.File) []Requirement {
	if lock == nil {
		return nil
	}
	var recorded []Requirement
	for _, l := range lock.Locks {
		r := Requirement{Addr: l.Addr}
		for _, t := range l.Constraints.Terms() {
			r.Terms = append(r.Terms, Term{Constraint: t, Place: problem.Place{Path: lock.Path, Line: l.Line()}})
		}
		if len(r.Terms) == 0 {
			r.Terms = []Term{{Place: problem.Place{Path: lock.Path, Line: l.Line()}}}
		}
		recorded = append(recorded, r)
	}
	return recorded
}
