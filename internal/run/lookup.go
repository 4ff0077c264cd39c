package run

import (
	"slices"

	"github.com/relock-dev/relock/internal/problem"
)

// lookupTerm is a name in an ask, of a provider or a directory, and what was found of it.
type lookupTerm struct {
	name    string
	single  bool            // it means one thing, which must exist
	found   bool            // a target has it
	lacking []string        // the targets without it
	lost    problem.Problem // why a directory is not there; empty for a provider
}

// Lookup has the names in an ask and what was found of them, in one target or several.
type Lookup struct {
	several bool // several targets: another one may have what this one lacks
	unread  bool // something unread may contain it
	all     []lookupTerm
}

// add adds what was found of a name.
func (s *Lookup) add(n lookupTerm) {
	i := slices.IndexFunc(s.all, func(o lookupTerm) bool { return o.name == n.name })
	if i < 0 {
		s.all = append(s.all, n)
		return
	}
	o := &s.all[i]
	o.found, o.lacking = o.found || n.found, append(o.lacking, n.lacking...)
	if n.lost.Message != "" {
		o.lost = n.lost
	}
}

// Add adds the names and findings of another Lookup.
func (s *Lookup) Add(other *Lookup) {
	for _, n := range other.all {
		s.add(n)
	}
	s.unread = s.unread || other.unread
}

// fewNames is how many repositories a line names.
const fewNames = 3

// verdict judges all names that some target lacks. missing are single things that no target
// has; notices are about the others.
func (s *Lookup) verdict() (missing, notices []problem.Problem) {
	for _, n := range s.all {
		d := s.missing(n)
		switch {
		case n.found && (!n.single || len(n.lacking) == 0):
			continue
		case n.found:
			d = problem.Problem{Code: problem.CodeNotFound, Message: n.name + " was not found in " + firstOf(n.lacking, fewNames)}
		case n.single:
			missing = append(missing, d)
			continue
		}
		d.Severity = problem.SeverityWarning
		notices = append(notices, d)
	}
	return missing, notices
}

// The commands that list what a name may mean.
const (
	listsProviders = "relock scan lists the providers of each root module"
	listsRoots     = "relock scan lists root modules"
)

// missing is the problem that no target has a name.
func (s *Lookup) missing(n lookupTerm) problem.Problem {
	if n.lost.Message != "" {
		return n.lost
	}
	d := problem.Problem{Code: problem.CodeNotFound, Message: "no root module requires or locks " + n.name, Hint: listsProviders}
	if s.unread {
		d.Message = n.name + " was not found in what could be read"
		d.Hint = "make readable what the report names, and try again; if the name is wrong: " + d.Hint
	}
	if s.unread && n.single {
		d.Code = problem.CodeUnreadModule // the name may be right
	}
	return d
}

// Problems are about the names that some or all targets of a run lack.
func (s *Lookup) Problems() []problem.Problem {
	missing, notices := s.verdict()
	return append(missing, notices...)
}
