package report

import (
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
)

// requiredAt is the place in the repository whose requirement causes a change.
// The terms are those of the provider, the root module's own first.
func requiredAt(c diff.Change, terms []scan.Term, m scan.RootModule) problem.Place {
	i := slices.IndexFunc(terms, func(t scan.Term) bool { return makes(t, c) })
	if i < 0 && c.Kind == diff.Constrained && len(terms) > 0 {
		i = 0 // a term and its line were removed
	}
	if i < 0 {
		return problem.Place{}
	}
	return inRepository(terms[i], m)
}

// makes reports whether a term causes a change. The first term causes a new
// entry. Other changes are caused by a term that the lock file does not record,
// or that excludes its version.
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

// inRepository is the place of a term. For a term of a fetched module, it is the
// module call in the repository that leads to it.
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
