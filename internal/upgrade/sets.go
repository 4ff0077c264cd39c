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

// A root module with several sets of values has one lock file, which must serve all of
// them. Its versions meet the terms of every set. It has an entry for every provider that
// any set requires. The constraints of an entry may be those that init writes with one set.

// stated are the constraints that the entry of a provider must state. They may depend on
// the old entry; its zero value means that there is none.
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

// asOneSetLeaves is the root module with the requirements of one set. It does so if the
// lock file is the one that init leaves with that set, and does not serve the other sets.
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
			Hint:    "run `relock upgrade`, which makes it serve all of them",
		})
		return r
	}
	return r
}

// serves reports whether a lock file has an entry that meets the requirement.
func serves(lock *lockfile.File, q scan.Requirement) bool {
	l, ok := lock.Lock(q.Addr)
	return ok && q.Constraints().Allows(l.Version)
}

// leaves reports whether init leaves such a lock file for these requirements: exactly their
// entries, each with its constraints.
func leaves(lock *lockfile.File, required []scan.Requirement) bool {
	return len(lock.Locks) == len(required) && !slices.ContainsFunc(required, func(q scan.Requirement) bool {
		l, ok := lock.Lock(q.Addr)
		return !ok || !q.Constraints().Equal(l.Constraints) || !q.Constraints().Allows(l.Version)
	})
}

// requiredIn are the requirements of one set.
func requiredIn(all []scan.Requirement, set string) (part []scan.Requirement) {
	for _, q := range all {
		if in, ok := q.In(set); ok {
			part = append(part, in)
		}
	}
	return part
}

// disagreement names the terms of sets that agree with no common release, although some
// release meets each set alone. It also names the terms of units that start from one lock
// file. Otherwise it is empty.
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
	return ": " + strings.Join(terms, ", ")
}
