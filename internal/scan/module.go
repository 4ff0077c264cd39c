package scan

import (
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// Module is a root module: a directory in which a tool is run.
type Module struct {
	// Kind is not RootModule if the configuration of the directory comes from
	// another program, in whole or in part, or from nowhere.
	Kind Kind
	// Standalone says that there is no configuration beside the lock file, or,
	// for a Terragrunt unit, not the whole of it: Requirements are what the lock
	// file records.
	Standalone bool
	// Dir is slash-separated and relative to the scanned file tree; "." is its top.
	Dir  string
	Tool provider.Tool
	// Assumed says that nothing names the release of the tool: it is the newest
	// that required_version allows, of those whose rules are known.
	Assumed bool
	// Requirements are the merged requirements of the whole module tree, sorted
	// by address, without built-in providers.
	Requirements []Requirement
	// Lock is the lock file beside the configuration; nil if there is none.
	Lock *lockfile.File
	// Unread lists the module calls that could not be followed. If there is
	// any, Requirements is incomplete.
	Unread []Unread
	// Dirs are the directories of the file tree that the modules of the whole
	// module tree are in, sorted: a file in another changes nothing here.
	Dirs []string
	// Fetched lists the module calls that were followed out of the scanned file
	// tree, in the order in which they were met.
	Fetched []Fetched
	// Diagnostics are the problems of this root module's files, the warnings of
	// its lock file included. An error among them means that the tool would
	// refuse the configuration or the lock. Messages repeat nothing of a file
	// but identifiers and what has a canonical form.
	Diagnostics []provider.Diagnostic
	// TestDiagnostics are those of Diagnostics that only test files lead to.
	TestDiagnostics []provider.Diagnostic
}

// WithoutTests returns what the module is to a tool that does not read its test
// files: as providers lock is, but with provider.TestFilesInLock.
func (m Module) WithoutTests() Module {
	var kept []Requirement
	for _, r := range m.Requirements {
		if r, ok := r.WithoutTests(); ok {
			kept = append(kept, r)
		}
	}
	m.Requirements = kept
	m.Unread = slices.DeleteFunc(slices.Clone(m.Unread), func(u Unread) bool { return u.Test })
	m.Fetched = slices.DeleteFunc(slices.Clone(m.Fetched), func(f Fetched) bool { return f.Test })
	m.Diagnostics = slices.DeleteFunc(slices.Clone(m.Diagnostics), func(d provider.Diagnostic) bool {
		return slices.Contains(m.TestDiagnostics, d)
	})
	m.TestDiagnostics = nil
	return m
}

// Requirement is what the whole module tree demands of one provider.
type Requirement struct {
	Addr provider.Addr
	// Terms holds one element for each term of each version constraint, and one
	// without constraint for each module that needs the provider without saying
	// which versions, at the first place that says so; sorted by module path,
	// file and line.
	Terms []Term
}

// WithoutTests returns the requirement without the terms that only test files
// lead to, and false if there are no others.
func (r Requirement) WithoutTests() (Requirement, bool) {
	r.Terms = slices.DeleteFunc(slices.Clone(r.Terms), func(t Term) bool { return t.Test })
	return r, len(r.Terms) > 0
}

// Term is one term of a version constraint and the place that set it.
type Term struct {
	// Constraint is the term; its zero value (no operator) means any version.
	Constraint provider.Term
	// Module is the path of module calls from the root module, joined by dots;
	// empty for the root module itself.
	Module string
	// File is slash-separated and relative to the scanned file tree, unless it
	// is Remote.
	File string
	Line int
	// Test says that only a test file of the root module leads here. Init takes
	// such terms into account; providers lock does so with provider.TestFilesInLock.
	Test bool
}

func (t Term) place() place { return place{file: t.File, line: t.Line} }

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

// Unread is a module call that could not be followed.
type Unread struct {
	Module string // path of the call, joined by dots
	Source string // as evaluated, if it is known; without credentials and query
	Code   provider.Code
	Reason string
	Hint   string // what to do next; may be empty
	File   string // as in Term
	Line   int
	Test   bool // as in Term
}

// Fetched is a module call that was followed out of the scanned file tree.
type Fetched struct {
	Module  string // path of the call, joined by dots
	Source  string // as in Unread
	Version string // that was selected of a registry module; empty for others
	ID      string // of the package, as in Package
	// Stored says that the module was not fetched by a Source: the tool has left
	// it in its directory below the root module.
	Stored bool
	Test   bool // as in Term
}

// Remote reports whether the name of a file, in a Term or anywhere else in the
// results of a scan, is that of a file in a fetched module package: the source
// of the package without credentials and query, two slashes, and the path in
// the package. Any other name is a path in the scanned file tree.
func Remote(file string) bool { return strings.Contains(file, "//") }

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
			r.Terms = append(r.Terms, Term{Constraint: t, File: lock.Path, Line: l.Line()})
		}
		if len(r.Terms) == 0 {
			r.Terms = []Term{{File: lock.Path, Line: l.Line()}}
		}
		recorded = append(recorded, r)
	}
	return recorded
}
