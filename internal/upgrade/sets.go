package upgrade

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Where a root module is run with several sets of values, its lock file serves all of
// them: its versions meet the terms of every set, and it has an entry for every provider
// that any of them requires. What its entries state may be what one set's init states.

// stated are the constraints that the entry of a provider is to state, by the old entry,
// whose zero value is none.
func stated(required scan.Requirement, old lockfile.Lock) provider.Constraints {
	if old.Addr == (provider.Addr{}) {
		return required.Constraints()
	}
	return required.EntryConstraints(old.Constraints)
}

// removedBySets warns of entries that init removes with one set.
func removedBySets(m scan.RootModule) []problem.Problem {
	notes := collect.Those(m.Tree.Notes, func(n problem.Problem) bool { return n.Code == problem.CodeSets })
	return collect.Mapped(notes, func(n problem.Problem) problem.Problem {
		n.Severity = problem.SeverityWarning
		return n
	})
}

// asOneSetLeaves is the root module with what one set requires, if its lock file is what
// init leaves with that and does not serve the others.
func (r root) asOneSetLeaves() root {
	lock := r.module.Lock
	if lock == nil || !slices.ContainsFunc(r.module.Tree.Requirements, func(q scan.Requirement) bool { return !serves(lock, q) }) {
		return r
	}
	for _, set := range r.module.Sets.List() {
		part := requiredIn(r.module.Tree.Requirements, set)
		if !leaves(lock, part) {
			continue
		}
		r.module.Tree.Requirements = part
		r.module.Tree.Notes = nil
		r.diagnostics = append(r.diagnostics, problem.Problem{
			Severity: problem.SeverityWarning, Code: problem.CodeSets, Place: problem.Place{Path: path.Join(r.module.Dir, lockfile.Name)},
			Message: fmt.Sprintf("the lock file is as init leaves it with the set %s, and does not serve every other set", set),
			Hint:    "relock upgrade makes it serve all of them",
		})
		return r
	}
	return r
}

// serves reports whether a lock file has an entry that meets all that is required.
func serves(lock *lockfile.File, q scan.Requirement) bool {
	l, ok := lock.Lock(q.Addr)
	return ok && q.Constraints().Allows(l.Version)
}

// leaves reports whether init leaves such a lock file: with these entries and no other,
// each with its constraints.
func leaves(lock *lockfile.File, required []scan.Requirement) bool {
	return len(lock.Locks) == len(required) && !slices.ContainsFunc(required, func(q scan.Requirement) bool {
		l, ok := lock.Lock(q.Addr)
		return !ok || !q.Constraints().Equal(l.Constraints) || !q.Constraints().Allows(l.Version)
	})
}

// requiredIn is what one set requires.
func requiredIn(all []scan.Requirement, set string) (part []scan.Requirement) {
	for _, q := range all {
		if in, ok := q.In(set); ok {
			part = append(part, in)
		}
	}
	return part
}

// mostTerms is how many terms of sets that do not agree are named.
const mostTerms = 4

// disagreement names the terms of sets of which no release meets all, though one meets
// those of each set, and those of units that begin with one lock file; else it is empty.
func disagreement(required scan.Requirement, offered []provider.Release) string {
	var terms []string
	for _, t := range required.Terms {
		if t.Constraint.Op == 0 {
			continue
		}
		if t.Unit != "" { // [case stack-lock-catalogue-two-values]
			terms = append(terms, fmt.Sprintf("%q of %s at %s", t.Constraint, t.Unit, t.Place))
			continue
		}
		if t.Sets.IsZero() {
			continue
		}
		for _, set := range t.Sets.List() {
			of, _ := required.In(set)
			met := slices.ContainsFunc(offered, func(r provider.Release) bool { return of.Constraints().Allows(r.Version) })
			if !met {
				return ""
			}
		}
		terms = append(terms, fmt.Sprintf("%q of the %s at %s", t.Constraint, t.Sets, t.Place))
	}
	if len(terms) == 0 {
		return ""
	}
	if more := len(terms) - mostTerms; more > 0 {
		terms = append(terms[:mostTerms], fmt.Sprintf("%d more", more))
	}
	return ": " + strings.Join(terms, ", ")
}
