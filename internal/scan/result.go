package scan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/tfconfig"
)

// RootModule is a root module and what it requires.
type RootModule struct {
	Root
	// Newer says that a release of the tool is wanted that is newer than all whose
	// rules are known.
	Newer bool
	// Unfamiliar is what no known release takes, where newer ones are allowed and none is
	// named: Newer tells of it.
	Unfamiliar []problem.Problem
	// Tree is what the root module calls, and Tests what its test files lead to
	// besides. Init reads both, providers lock the tests only with
	// provider.TestFilesInLock.
	Tree, Tests ModuleTree
}

// Partial reports whether what the lock file records stands in for what is not
// known of the requirements.
func (m RootModule) Partial() bool {
	return m.Standalone() || m.Preserves() && len(m.Tree.Unread) > 0
}

// ModuleTree is what was read of a root module and the modules that it calls, or
// of its test files and the modules that those run.
type ModuleTree struct {
	// Requirements are the merged requirements of the whole tree, sorted by
	// address, without built-in providers.
	Requirements []Requirement
	// Unread lists the module calls that could not be followed, and the entries that
	// leave open what they require. If there is any, Requirements is incomplete.
	Unread []Unread
	// Fetched lists the module calls that were followed out of the scanned file
	// tree, in the order in which they were met.
	Fetched []Fetched
	// Dirs are the directories of the file tree that the modules are in, sorted: a
	// file in another changes nothing here.
	Dirs []string
	// Diagnostics are the problems of the files, for the root module also those of
	// its lock file, warnings included. An error among them means that
	// the configuration or the lock file is not valid. Messages repeat nothing of a file
	// but identifiers and what has a canonical form.
	Diagnostics []problem.Problem
	// Notes are facts that are no problem of the files, in the order in which they were
	// met.
	Notes []problem.Problem
}

// All is what the root module requires with its tests.
func (m RootModule) All() ModuleTree {
	if t := m.Tests; len(t.Requirements)+len(t.Unread)+len(t.Fetched)+len(t.Dirs)+len(t.Diagnostics)+len(t.Notes) == 0 {
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

// Requirement is what the whole module tree demands of one provider.
type Requirement struct {
	Addr provider.Addr
	// Terms holds one element for each term of each version constraint, and one
	// without constraint for each module that needs the provider without saying
	// which versions, at the first place that says so; sorted by module path,
	// file and line.
	Terms []Term
	// OfUnits are those of each of the units that begin with the lock file, by their
	// directories; nil if it has one root module.
	OfUnits map[string][]Term
}

// Term is one term of a version constraint and the place that set it.
type Term struct {
	// Constraint is the term; its zero value (no operator) means any version.
	Constraint provider.Term `json:"text"`
	// Module is the path of module calls from the root module, joined by dots;
	// empty for the root module itself.
	Module        string `json:"module"`
	problem.Place        // its keys are those of the term
	// Unit is which of the units that begin with the lock file has the term; empty if all do,
	// or if it has one root module.
	Unit string `json:"unit,omitempty"`
	// Sets are the sets of values with which the configuration has the term; zero: with
	// all that there are.
	Sets SetNames `json:"sets,omitzero"`
	// Source and Expression are what the address and the constraint were evaluated from,
	// as it is written; empty for what is written itself.
	Source     string `json:"source_expression,omitempty"`
	Expression string `json:"expression,omitempty"`
}

// Constraints merges the terms to the string that the lock file records.
func (r Requirement) Constraints() provider.Constraints {
	var terms []provider.Term
	for _, t := range r.Terms {
		if t.Constraint != (provider.Term{}) {
			terms = append(terms, t.Constraint)
		}
	}
	return provider.NewConstraints(terms...)
}

// Unread is a module call that could not be followed, or an entry of a module that was
// read and that leaves open what it requires.
type Unread struct {
	Module string `json:"module"` // path of the call, or of the module with the entry, joined by dots
	Source string `json:"source"` // as evaluated, if it is known; without credentials and query
	Reason string `json:"reason"`
	// Cause is Reason without what was attempted, where that was no more than to fetch
	// the package of Source; else empty.
	Cause string `json:"cause,omitempty"`
	// Provider is the local name of the entry, and Expression what has no value in it; both
	// are empty for a call.
	Provider      string              `json:"provider,omitempty"`
	Sets          SetNames            `json:"sets,omitzero"` // as in Term
	Expression    string              `json:"expression,omitempty"`
	problem.Place                     // its keys are those of the call
	Code          problem.Code        `json:"code,omitempty"`
	Hint          string              `json:"hint,omitempty"` // what to do next; may be empty
	Outage        problem.Outage      `json:"outage,omitzero"`
	Entry         *tfconfig.OpenEntry `json:"-"` // nil for a call. Other providers are not in doubt for it.
}

// OfEntry reports whether it is an entry that leaves open what it requires.
func (u Unread) OfEntry() bool { return u.Entry != nil || u.Provider != "" }

// Fetched is a module call that was followed out of the scanned file tree.
type Fetched struct {
	Module  string        // path of the call, joined by dots
	Place   problem.Place // of the call
	Source  string        // as in Unread
	Ref     string        // that the source asks for, as written; empty if it asks for none
	Version string        // that was selected of a registry module; empty for others
	// ID is that of the package, as in Package; empty if no Source has fetched it, but
	// the tool has left it in its directory below the root module.
	ID string
	// Call is what a Source was asked, and Dir the module's directory in the package.
	Call Call
	Dir  string
	// Versions is as in Package.
	Versions *ModuleVersions
}

// Recorded returns the constraints that a lock file records as requirements,
// for where no configuration tells any: each term at the line of its entry.
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
