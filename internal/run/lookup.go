package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// NotFound is what an ask names and what is nowhere, so that nothing was done: a person
// who misspells a name must not read that it is up to date.
type NotFound []problem.Problem

// Error returns the messages.
func (n NotFound) Error() string { return errors.Join(n.Unwrap()...).Error() }

// Unwrap returns the diagnostics.
func (n NotFound) Unwrap() []error {
	all := make([]error, len(n))
	for i, d := range n {
		all[i] = &problem.Error{Problem: d}
	}
	return all
}

// lookupTerm is something that is named in an ask: a provider or a directory.
type lookupTerm struct {
	pattern provider.Pattern
	dir     string // empty: a provider
}

// Lookup is what was named in a run and what was found of it, over one target or several.
type Lookup struct {
	several bool // targets; what one of them lacks may be in another
	all     []lookupTerm
	found   map[lookupTerm]bool
	lacking map[lookupTerm][]string        // the targets that have nothing of it
	lost    map[lookupTerm]problem.Problem // why, for directories
	there   map[provider.Addr]bool
	unread  bool // something that it could be in
}

// add says that something is looked for.
func (s *Lookup) add(n lookupTerm) {
	if s.found == nil {
		s.found, s.lacking, s.lost = map[lookupTerm]bool{}, map[lookupTerm][]string{}, map[lookupTerm]problem.Problem{}
	}
	if !slices.Contains(s.all, n) {
		s.all = append(s.all, n)
	}
}

// addFound says that a target has what is named.
func (s *Lookup) addFound(n lookupTerm) {
	s.add(n)
	s.found[n] = true
}

// addLacking says that a target has nothing of it.
func (s *Lookup) addLacking(n lookupTerm, target string) {
	s.add(n)
	s.lacking[n] = append(s.lacking[n], target)
}

// Add takes over what another run over targets has looked for and found.
func (s *Lookup) Add(other *Lookup) {
	for _, n := range other.all {
		s.add(n)
		s.found[n] = s.found[n] || other.found[n]
		s.lacking[n] = append(s.lacking[n], other.lacking[n]...)
		if d, lost := other.lost[n]; lost {
			s.lost[n] = d
		}
	}
	if s.there == nil {
		s.there = map[provider.Addr]bool{}
	}
	maps.Copy(s.there, other.there)
	s.unread = s.unread || other.unread
}

// verdict is about all that some target lacks. The missing ones name one thing that no
// target has; notices are about the others.
func (s *Lookup) verdict() (missing, notices []problem.Problem) {
	for _, n := range s.all {
		switch {
		case s.found[n] && n.single() && len(s.lacking[n]) > 0:
			notices = append(notices, problem.Problem{
				Severity: problem.SeverityWarning, Code: problem.CodeNotFound,
				Message: fmt.Sprintf("%s was not found in %s", n, few(s.lacking[n])),
			})
		case s.found[n]:
		case n.single():
			missing = append(missing, s.missing(n))
		default:
			d := s.missing(n)
			d.Severity = problem.SeverityWarning
			notices = append(notices, d)
		}
	}
	return missing, notices
}

// single reports whether it is one thing, which must be there.
func (n lookupTerm) single() bool { return n.dir != "" || n.pattern.Literal() }

func (n lookupTerm) String() string {
	if n.dir != "" {
		return "the directory " + n.dir
	}
	return n.pattern.Given()
}

// fewNames is how many repositories are named in a line.
const fewNames = 3

func few(names []string) string {
	if rest := len(names) - fewNames; rest > 1 {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:fewNames], ", "), rest)
	}
	return strings.Join(names, ", ")
}

// missing says that no target has what is named, and what was probably meant.
func (s *Lookup) missing(n lookupTerm) problem.Problem {
	if d, ok := s.lost[n]; ok {
		return d
	}
	d := problem.Problem{
		Code: problem.CodeNotFound, Message: "no root module requires or locks " + n.String(),
		Hint: "relock scan lists the providers of each root module",
	}
	if near, ok := n.pattern.Near(slices.SortedFunc(maps.Keys(s.there), provider.Addr.Compare)); ok {
		d.Hint = fmt.Sprintf("did you mean %s?", near.Short())
	}
	if s.unread {
		d.Message = n.String() + " was not found in what could be read"
		d.Hint = "make readable what the report names, and try again; if the name is wrong: " + d.Hint
	}
	if s.unread && n.single() {
		d.Code = problem.CodeUnreadModule // it is not known that the name is wrong
	}
	return d
}

// Problems is what the targets of one run do not have of what it names: some or all.
func (s *Lookup) Problems() []problem.Problem {
	missing, notices := s.verdict()
	return append(missing, notices...)
}
