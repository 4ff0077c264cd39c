package upgrade

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Advice is what a person could do so that a provider goes on which constraints hold: the
// smallest thing that is known. Its zero value is none. relock does nothing of it.
type Advice struct {
	// Version is the newest release that the rules allow, for which the measures are.
	Version provider.Version
	// Leaves is what is selected once all of them are taken; zero where that is no newer
	// version than now, or where it is not known.
	Leaves provider.Version
	// Measures are one for each term and each call that has to change, all of them.
	Measures []Measure
}

// Measure is what of an Advice one place has to do, or why nothing is known for it.
type Measure struct {
	Kind MeasureKind `json:"kind"`
	// Term excludes the version: of a module the first term that does.
	Term scan.Term `json:"term"`
	// Becomes is the term in its place, of MeasureEdit; its zero value says that Term goes.
	Becomes provider.Term `json:"becomes"`
	// Call is the module call that has to change, of all kinds but MeasureEdit and MeasureFixed.
	Call HoldingCall `json:"call,omitzero"`
	// Release is the version of the module, or its ref, that it speaks of.
	Release string `json:"release,omitempty"`
	// ByName says that the registry's list names the provider and no source.
	ByName bool `json:"by_name,omitempty"`
	// Against is the term of the release that was read, of MeasureRefuted.
	Against scan.Term `json:"against,omitzero"`
	// Why says why the release was not read, of MeasureUnread.
	Why string `json:"why,omitempty"`
}

// HoldingCall is a call of a fetched module that a person can change: the outermost one on
// the way to a term.
type HoldingCall struct {
	Module        string `json:"module"` // path of the call, joined by dots
	problem.Place        // its keys are those of the call
	Source        string `json:"source"`     // as in scan.Fetched
	Version       string `json:"version"`    // in use; empty if the module is of no registry
	Constraint    string `json:"constraint"` // of the call, as evaluated
	Ref           string `json:"ref"`        // that the source asks for
}

// MeasureKind is what is known of a measure.
type MeasureKind string

// The kinds of measures.
const (
	MeasureEdit    MeasureKind = "edit"    // a term of the repository's own becomes another one
	MeasureListed  MeasureKind = "listed"  // by the registry's list the release of the module allows the version
	MeasureRead    MeasureKind = "read"    // the module tree of the release was read, and allows it
	MeasureRefuted MeasureKind = "refuted" // that was read, and does not
	MeasureUnread  MeasureKind = "unread"  // that could not be read
	MeasureUnknown MeasureKind = "unknown" // there are newer releases, of which nothing is known without reading them
	MeasureNone    MeasureKind = "none"    // no newer release of the module allows it
	MeasureFixed   MeasureKind = "fixed"   // no file of the repository can be changed for it
)

// advise finds what lets the provider go on to the newest release that the rules allow.
// It asks nobody: of modules it knows what the lists say that were needed anyway. newer are
// the releases above the selected one, the newest first.
func advise(c chosen, newer []provider.Release) Advice {
	i := slices.IndexFunc(newer, func(r provider.Release) bool { return c.applied.Judge(r).Reason == "" })
	if i < 0 || c.wanted.constraints.Allows(newer[i].Version) {
		return Advice{}
	}
	h := Advice{Version: newer[i].Version}
	terms, known := c.wanted.requirement.Terms, true
	for _, held := range c.wanted.holders(h.Version) {
		m := held.measure(h.Version)
		h.Measures, terms = append(h.Measures, m), held.taken(m, terms)
		known = known && m.Kind != MeasureUnknown
	}
	if known {
		h.Leaves = reached(c, scan.Requirement{Terms: terms}.Constraints())
	}
	return h
}

// reached is the newest release that the rules and these constraints allow; zero if that is
// not above the selected one.
func reached(c chosen, constraints provider.Constraints) provider.Version {
	var newest provider.Version
	for _, r := range c.offered.releases {
		if r.Version.Precedence(c.to) > 0 && r.Version.Precedence(newest) > 0 && constraints.Allows(r.Version) && c.applied.Judge(r).Reason == "" {
			newest = r.Version
		}
	}
	return newest
}

// holder is a place that holds a provider: a term that a person can change, or the call of
// a module with terms that only another release of the module changes.
type holder struct {
	wanted *wanted
	terms  []scan.Term   // that exclude the version
	call   *scan.Fetched // nil: the term is the repository's own
}

// holders are the places that hold the provider below a version, in the order of terms. A
// module that is called twice has its terms once.
func (w *wanted) holders(v provider.Version) []holder {
	var all []holder
	for _, t := range w.requirement.Terms {
		if !excludes(t, v) {
			continue
		}
		call := w.fetchedOn(t.Module, outermost)
		i := slices.IndexFunc(all, func(h holder) bool {
			return h.call == call && (call != nil || h.terms[0].Constraint == t.Constraint && h.terms[0].Place == t.Place)
		})
		if i < 0 {
			all = append(all, holder{wanted: w, call: call})
			i = len(all) - 1
		}
		all[i].terms = append(all[i].terms, t)
	}
	return all
}

// Which of the fetched calls on the way to a module is meant.
const (
	outermost = -1
	innermost = 1
)

// fetchedOn is a fetched call on the way to a module; nil if there is none.
func (w *wanted) fetchedOn(module string, which int) *scan.Fetched {
	var found *scan.Fetched
	for i, f := range w.fetched {
		if isBelow(module, f.Module) && (found == nil || cmp.Compare(len(f.Module), len(found.Module)) == which) {
			found = &w.fetched[i]
		}
	}
	return found
}

// isBelow reports whether a module is the one that a call leads to, or below it.
func isBelow(module, call string) bool {
	return module == call || strings.HasPrefix(module, call+".")
}

// measure is what of an Advice the holder has to do, as far as lists say.
func (h holder) measure(v provider.Version) Measure {
	s := Measure{Kind: MeasureFixed, Term: h.terms[0]}
	if h.call == nil {
		if s.Term.Place.Package == "" && path.Base(s.Term.Place.Path) != lockfile.Name { // no other program's, and no record
			s.Kind, s.Becomes = MeasureEdit, s.Term.Constraint.Raised(v)
		}
		return s
	}
	if h.call.Place.Package != "" {
		return s
	}
	s.Call = HoldingCall{
		Module: h.call.Module, Place: h.call.Place, Source: h.call.Source, Version: h.call.Version, Constraint: h.call.Call.Version, Ref: h.call.Ref,
	}
	_, above, listed := h.call.Versions.Above(h.call.Version)
	release, speaks := h.listed(v)
	switch {
	case release.Version != "":
		s.Kind, s.Release = MeasureListed, release.Version
		s.ByName = slices.ContainsFunc(h.termsOf(release, h.paths(h.terms)), func(t scan.ListedTerms) bool { return t.ByName })
	case listed && len(above) == 0:
		s.Kind = MeasureNone
	case speaks:
		s.Kind, s.Release = MeasureNone, above[len(above)-1].Version
	default:
		s.Kind = MeasureUnknown
	}
	return s
}

// taken are the terms of the whole module tree once a measure is taken.
func (h holder) taken(s Measure, terms []scan.Term) []scan.Term {
	switch s.Kind {
	case MeasureEdit:
		terms = slices.DeleteFunc(slices.Clone(terms), func(t scan.Term) bool {
			return t.Constraint == s.Term.Constraint && t.Place == s.Term.Place
		})
		return append(terms, scan.Term{Constraint: s.Becomes})
	case MeasureListed:
		terms = slices.DeleteFunc(slices.Clone(terms), func(t scan.Term) bool { return isBelow(t.Module, h.call.Module) })
		_, above, _ := h.call.Versions.Above(h.call.Version)
		release := above[slices.IndexFunc(above, func(r scan.ModuleRelease) bool { return r.Version == s.Release })]
		for _, listed := range h.termsOf(release, h.paths(h.wanted.requirement.Terms)) {
			for _, t := range listed.Constraints.Terms() {
				terms = append(terms, scan.Term{Constraint: t})
			}
		}
	}
	return terms
}

// listed is the first release of the module above the one in use that allows the version
// by the registry's list. The list speaks if it says of the release in use what was read of
// that, and of each further one what its modules require in place of those with the terms.
// Of modules in other packages, which these call, it says nothing.
func (h holder) listed(v provider.Version) (first scan.ModuleRelease, speaks bool) {
	holding, all := h.paths(h.terms), h.paths(h.wanted.requirement.Terms)
	current, above, listed := h.call.Versions.Above(h.call.Version)
	if !listed || len(holding) == 0 || slices.ContainsFunc(h.terms, func(t scan.Term) bool { return h.refutes(current, t) }) {
		return first, false
	}
	speaks = true
	for _, r := range above {
		said := h.termsOf(r, holding)
		speaks = speaks && len(said) == len(holding)
		// What else it says of modules that require the provider now counts, too.
		allowed := !slices.ContainsFunc(h.termsOf(r, all), func(t scan.ListedTerms) bool { return !t.Constraints.Allows(v) })
		if len(said) == len(holding) && allowed {
			return r, true
		}
	}
	return first, speaks
}

// refutes reports whether the list does not say of a release that it has the term.
func (h holder) refutes(r scan.ModuleRelease, t scan.Term) bool {
	return !slices.ContainsFunc(h.termsOf(r, h.paths([]scan.Term{t})), func(said scan.ListedTerms) bool {
		return slices.Contains(said.Constraints.Terms(), t.Constraint)
	})
}

// termsOf is what a list says of the modules at these paths of a release, as far as it does.
func (h holder) termsOf(r scan.ModuleRelease, paths []string) []scan.ListedTerms {
	var all []scan.ListedTerms
	for _, name := range paths {
		if said, listed := r.Terms(name, h.wanted.addr(), h.wanted.tool.Name); listed {
			all = append(all, said)
		}
	}
	return all
}

// paths are where in the package of the call terms are, as a registry lists the modules
// there. Those in other packages are left out.
func (h holder) paths(terms []scan.Term) []string {
	address, err := moduleaddr.Parse(h.call.Call.Source, h.wanted.tool.Name)
	top, ok := "/"+h.call.Dir, err == nil
	if ok && address.Subdir != "" {
		top, ok = strings.CutSuffix(top, "/"+address.Subdir)
	}
	if !ok {
		return nil
	}
	top = strings.TrimSuffix(path.Clean("/"+top), "/") + "/"
	var all collect.Set[string]
	for _, t := range terms {
		if !isBelow(t.Module, h.call.Module) || h.wanted.fetchedOn(t.Module, innermost) != h.call {
			continue
		}
		if below, ok := strings.CutPrefix(path.Join("/", path.Dir(t.Place.Path), "x"), top); ok {
			all.Add(path.Dir(below))
		}
	}
	return all.List
}
