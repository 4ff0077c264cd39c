package scan

import (
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// Module is a root module: a directory in which a tool is run.
type Module struct {
	// Dir is slash-separated and relative to the scanned file tree; "." is its top.
	Dir  string
	Tool provider.Tool
	// Requirements are the merged requirements of the whole module tree, sorted
	// by address, without built-in providers.
	Requirements []Requirement
	// Lock is the lock file beside the configuration; nil if there is none.
	Lock *lockfile.File
	// Unread lists the module calls that could not be followed. If there is
	// any, Requirements is incomplete.
	Unread []Unread
	// Diagnostics are the problems of this root module's files, the warnings of
	// its lock file included. An error among them means that the tool would
	// refuse the configuration or the lock. Messages repeat nothing of a file
	// but identifiers and what has a canonical form.
	Diagnostics []provider.Diagnostic
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

// Term is one term of a version constraint and the place that set it.
type Term struct {
	// Constraint is the term; its zero value (no operator) means any version.
	Constraint provider.Term
	// Module is the path of module calls from the root module, joined by dots;
	// empty for the root module itself.
	Module string
	// File is slash-separated and relative to the scanned file tree.
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
	Source string // as written, if it could be read; without credentials and query
	Reason string
	File   string
	Line   int
	Test   bool // as in Term
}
