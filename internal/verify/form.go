package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// compareForm adds findings where the lock file differs from the requirements of its
// configuration, or from the text that its tool would write. If something cannot be
// compared, Unchecked says so.
func compareForm(r *Verification, p *Policy) {
	m := r.Module
	if m.Lock == nil || m.Alone {
		return
	}
	compareText(r)
	switch {
	case m.Standalone() || m.Kind != scan.Ordinary:
		r.Unchecked = append(r.Unchecked, "entries against requirements: the configuration is not, or not all, beside the lock file")
		return
	case problem.AnyError(m.All().Diagnostics):
		r.Unchecked = append(r.Unchecked, "entries against requirements: the configuration has errors")
		return
	}
	compareRequired(r, p)
	if unread := m.All().Unread; len(unread) > 0 {
		what := "modules could not be read"
		if slices.ContainsFunc(unread, func(u scan.Unread) bool { return u.Entry != nil }) {
			what = "modules or entries of required_providers could not be read"
		}
		r.Unchecked = append(r.Unchecked, fmt.Sprintf("entries that nothing requires: %d %s", len(unread), what))
		return
	}
	compareStale(r, p)
}

// compareText adds a finding if the tool would write the file in another form [terraform
// 1.11 internal/depsfile/locks_file.go].
func compareText(r *Verification) {
	lock := r.Module.Lock
	about := problem.Problem{Place: problem.Place{Path: lock.Path, Line: 1}}
	if lock.Tool != "" && lock.Tool != r.Module.Tool.Name {
		f := r.add(about)
		f.Code, f.Message = problem.CodeToolHeader, fmt.Sprintf("the file was written by %s, and %s is in force", lock.Tool.Title(), r.Module.Tool.Name.Title())
	}
	if !lock.Canonical() {
		f := r.add(about)
		f.Code, f.Message = problem.CodeNotNormal, "the file is not in the form that "+r.Module.Tool.Name.Title()+" writes"
	}
}

// compareRequired compares the requirements of the module tree with the entries.
func compareRequired(r *Verification, p *Policy) {
	lock := r.Module.Lock
	for _, q := range r.Module.All().Requirements {
		if !p.about(q.Addr) {
			continue
		}
		l, locked := lock.Lock(q.Addr)
		if !locked {
			r.add(problem.Problem{
				Code: problem.CodeEntryMissing, Subject: problem.Subject{Addr: q.Addr}, Place: q.Terms[0].Place,
				Message: fmt.Sprintf("%s is required and not locked", q.Addr),
			})
			continue
		}
		about := scribe{lock: l, path: lock.Path, result: r}
		if outside := termsOutside(q, l); len(outside) > 0 {
			about.add(problem.CodeVersionOutside, "%s %s does not meet %s, so that init fails", l.Addr, l.Version, strings.Join(outside, ", "))
		} else if !q.States(l.Constraints) && len(r.Module.All().Unread) == 0 {
			about.add(problem.CodeConstraintsDiffer, "the recorded constraints of %s are %s, and the configuration's are %s", l.Addr, constraintsText(l.Constraints), constraintsText(q.Constraints()))
		}
	}
}

// termsOutside are the terms that the locked version does not meet, each with its place.
func termsOutside(q scan.Requirement, l lockfile.Lock) []string {
	if q.Constraints().Allows(l.Version) {
		return nil
	}
	var outside []string
	for _, t := range q.Terms {
		if t.Constraint.Op != 0 && !provider.NewConstraints(t.Constraint).Allows(l.Version) {
			outside = append(outside, fmt.Sprintf("%q (%s)", t.Constraint, t.Place))
		}
	}
	if len(outside) == 0 { // no range allows a prerelease
		outside = []string{constraintsText(q.Constraints())}
	}
	return outside
}

func constraintsText(c provider.Constraints) string {
	if c.Empty() {
		return "none"
	}
	return fmt.Sprintf("%q", c)
}

// compareStale names the entries that nothing requires, if that is known.
func compareStale(r *Verification, p *Policy) {
	if p.KeepUnreferenced || r.Module.Shared {
		return
	}
	required := map[provider.Addr]bool{}
	for _, q := range r.Module.All().Requirements {
		required[q.Addr] = true
	}
	for _, l := range r.Module.Lock.Locks {
		kept := slices.ContainsFunc(p.Keep, func(some provider.Pattern) bool { return some.Match(l.Addr) })
		if !required[l.Addr] && !kept && p.about(l.Addr) {
			scribe{lock: l, path: r.Module.Lock.Path, result: r}.add(problem.CodeEntryStale, "nothing requires %s", l.Addr)
		}
	}
}
