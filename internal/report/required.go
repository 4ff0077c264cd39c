package report

import (
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
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

// Brought is a term that a module has after its change in the lock file of modules, and
// that the lock file of providers does not record.
type Brought struct {
	Module        string // the path of the call, joined by dots
	Version, Hash string // of the module
	Term          provider.Term
}

// broughtBy is the first term of a provider that a changed module brings. If modules within
// each other have changed, the inner one brings it.
func broughtBy(c diff.Change, terms []scan.Term, changed []upgrade.ModuleChange) (b Brought) {
	for _, t := range terms {
		if c.Kind != diff.Added && (t.Constraint.Op == 0 || slices.Contains(c.ConstraintsFrom.Terms(), t.Constraint)) {
			continue
		}
		for _, m := range changed {
			for _, call := range m.Calls {
				if within(t.Module, call.Module) && len(call.Module) > len(b.Module) {
					b = Brought{call.Module, m.To, m.Hash, t.Constraint}
				}
			}
		}
		if b.Module != "" {
			return b
		}
	}
	return b
}

// within reports whether a module is a called one, or is called by it.
func within(module, call string) bool { return module == call || strings.HasPrefix(module, call+".") }

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
		if within(t.Module, f.Module) && f.Place.Package == "" {
			return f.Place
		}
	}
	return problem.Place{}
}
