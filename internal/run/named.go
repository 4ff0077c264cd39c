package run

import (
	"cmp"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// checkNamed looks for the ask's names in the found root modules. If the run has no other
// target and a name matches nothing, it fails, before anything is asked or written: a person
// who misspells a name must not read "up to date". The error is a problem.Several.
func checkNamed(j job, in inventory) (notices []problem.Problem, err error) {
	s := j.visit.Lookup
	if s == nil || !s.several {
		s = &Lookup{}
	}
	s.unread = s.unread || in.unread()
	add := func(n lookupTerm) {
		if !n.found {
			n.lacking = []string{where(j)}
		}
		s.add(n)
	}
	for _, p := range j.ask.named {
		here := slices.ContainsFunc(in.all(), func(f found) bool { return slices.ContainsFunc(f.providers(), p.Match) })
		add(lookupTerm{name: p.Given(), single: p.Literal(), found: here || in.nothing()})
	}
	for _, t := range in.trees {
		for _, dir := range t.named {
			d, lost := in.lost[j.names(t).Of(dir)]
			add(lookupTerm{name: "the directory " + j.names(t).Of(dir), single: true, found: !lost, lost: d})
		}
	}
	if s.several {
		return nil, nil
	}
	missing, notices := s.verdict()
	if !s.unread && len(j.plan.Only) == 0 && in.whole() {
		notices = append(notices, idle(j.settings.Clauses(), in.found)...)
	}
	if slices.ContainsFunc(missing, func(d problem.Problem) bool { return d.Code == problem.CodeNotFound }) {
		return notices, problem.Several(missing)
	}
	return append(notices, missing...), nil
}

// nothing reports whether there is no root module, for another reason than a provider's
// name. For example, the pull request touches none, or a directory does not exist.
func (s inventory) nothing() bool {
	return len(s.found) == 0 && (s.extent.touched != nil || len(s.lost) > 0)
}

// whole reports whether the run looked at the whole repository.
func (s inventory) whole() bool {
	return s.extent.touched == nil && len(s.found) > 0 && len(s.trees) == 1 && slices.Equal(s.trees[0].dirs, []string{everything})
}

// unread reports whether the run may have missed some providers.
func (s inventory) unread() bool {
	return unreadable(s.diagnostics) || slices.ContainsFunc(s.all(), func(f found) bool {
		read := f.module.All()
		return len(read.Unread) > 0 || problem.AnyError(read.Diagnostics)
	})
}

// unreadable reports whether a scan did not read everything.
func unreadable(diagnostics []problem.Problem) bool {
	return slices.ContainsFunc(diagnostics, func(d problem.Problem) bool {
		return d.Severity == problem.SeverityError && d.Code != problem.CodeUnlocked
	})
}

// providers are those that a root module requires or locks.
func (f found) providers() []provider.Addr {
	var all []provider.Addr
	for _, r := range f.module.All().Requirements {
		all = append(all, r.Addr)
	}
	if f.module.Lock != nil {
		for _, l := range f.module.Lock.Locks {
			all = append(all, l.Addr)
		}
	}
	return all
}

// where names a job for people, if the run has several.
func where(j job) string {
	if len(j.settings.PullRequest.Base) > 1 {
		return strings.TrimSpace(j.target.repository + " at " + j.target.base)
	}
	return j.target.repository
}

// misses takes away diagnostics about named directories that do not exist or have no root
// module, and stores them as lost. The other targets of the run decide about those.
func misses(j job, s *inventory, t tree, diagnostics []problem.Problem) (kept []problem.Problem) {
	for _, d := range diagnostics {
		dir := d.Place.Path
		unlocked := func(d problem.Problem) bool { // the root modules of dir are reported
			return d.Code == problem.CodeUnlocked && strings.HasPrefix(d.Place.Path+"/", dir+"/")
		}
		// If a setting limits what is touched, no directory is named.
		named := d.Code == problem.CodeNotRootModule && s.extent.touched == nil && slices.Contains(t.named, dir)
		if !named || slices.ContainsFunc(diagnostics, unlocked) {
			kept = append(kept, d)
			continue
		}
		shown := j.names(t).Of(dir)
		switch {
		case d.Severity == problem.SeverityWarning: // it exists, and has no root module
			d.Message = "no root module was found in " + shown
		case strings.ContainsAny(dir, wildcards):
			d = noMatch(shown)
		}
		s.lost[shown] = problem.Problem{Code: problem.CodeNotFound, Message: d.Message, Hint: cmp.Or(d.Hint, listsRoots)}
	}
	return kept
}
