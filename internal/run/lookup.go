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

// NotFound lists names in an ask that match nothing. Then relock does nothing: a person who
// misspells a name must not read "up to date".
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

// lookupTerm is a name in an ask: of a provider or a directory.
type lookupTerm struct {
	pattern provider.Pattern
	dir     string // empty: a provider
}

// Lookup has the names in an ask and what was found of them, in one target or several.
type Lookup struct {
	several bool // several targets: another one may have what this one lacks
	all     []lookupTerm
	found   map[lookupTerm]bool
	lacking map[lookupTerm][]string        // the targets without it
	lost    map[lookupTerm]problem.Problem // the reasons, for directories
	there   map[provider.Addr]bool
	unread  bool // something unread may contain it
}

// add begins the search for a name.
func (s *Lookup) add(n lookupTerm) {
	if s.found == nil {
		s.found, s.lacking, s.lost = map[lookupTerm]bool{}, map[lookupTerm][]string{}, map[lookupTerm]problem.Problem{}
	}
	if !slices.Contains(s.all, n) {
		s.all = append(s.all, n)
	}
}

// addFound notes that a target has the name.
func (s *Lookup) addFound(n lookupTerm) {
	s.add(n)
	s.found[n] = true
}

// addLacking notes that a target does not have the name.
func (s *Lookup) addLacking(n lookupTerm, target string) {
	s.add(n)
	s.lacking[n] = append(s.lacking[n], target)
}

// Add adds the names and findings of another Lookup.
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

// verdict judges all names that some target lacks. missing are single things that no target
// has; notices are about the others.
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

// single reports whether the name means one thing, which must exist.
func (n lookupTerm) single() bool { return n.dir != "" || n.pattern.Literal() }

func (n lookupTerm) String() string {
	if n.dir != "" {
		return "the directory " + n.dir
	}
	return n.pattern.Given()
}

// fewNames is how many repositories a line names.
const fewNames = 3

func few(names []string) string {
	if rest := len(names) - fewNames; rest > 1 {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:fewNames], ", "), rest)
	}
	return strings.Join(names, ", ")
}

// missing is the problem that no target has a name, with the name that was probably meant.
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
		d.Code = problem.CodeUnreadModule // the name may be right
	}
	return d
}

// Problems are about the names that some or all targets of a run lack.
func (s *Lookup) Problems() []problem.Problem {
	missing, notices := s.verdict()
	return append(missing, notices...)
}
