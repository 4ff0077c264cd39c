package report

import (
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
)

// requiredAt is where the repository requires what a change makes. The terms are those of
// the provider, the root module's own first.
func requiredAt(c diff.Change, terms []scan.Term, m scan.RootModule) problem.Place {
	i := slices.IndexFunc(terms, func(t scan.Term) bool { return makes(t, c) })
	if i < 0 && c.Kind == diff.Constrained && len(terms) > 0 {
		i = 0 // a term is gone, and its line with it
	}
	if i < 0 {
		return problem.Place{}
	}
	return inRepository(terms[i], m)
}

// makes reports whether a term is a reason for a change: the first one for an entry that
// is not there, or else one that the lock file does not record, or that excludes its version.
func makes(t scan.Term, c diff.Change) bool {
	switch c.Kind {
	case diff.Added, diff.Moved:
		return true
	case diff.Constrained:
		return t.Constraint.Op != 0 && !slices.Contains(c.ConstraintsFrom.Terms(), t.Constraint)
	case diff.Upgraded, diff.Downgraded:
		return t.Constraint.Op != 0 && !t.Constraint.Meets(c.From)
	}
	return false
}

// inRepository is the place of a term, or of the module call in the repository by which a
// fetched module with the term is reached.
func inRepository(t scan.Term, m scan.RootModule) problem.Place {
	if t.Place.Package == "" {
		return t.Place
	}
	for _, f := range slices.Concat(m.Tree.Fetched, m.Tests.Fetched) {
		if (t.Module == f.Module || strings.HasPrefix(t.Module, f.Module+".")) && f.Place.Package == "" {
			return f.Place
		}
	}
	return problem.Place{}
}
