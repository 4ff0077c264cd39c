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

// Advice is the smallest known change by which a person lets a provider move on, although
// constraints hold it. The zero value is no advice. relock itself changes none of this.
type Advice struct {
	// Version is the newest release that the rules allow. The measures let the provider
	// reach it.
	Version provider.Version
	// Leaves is the version that is selected once all measures are taken. It is zero if
	// that version is not newer than the current one, or is not known.
	Leaves provider.Version
	// Measures has one measure for each term and each call that must change. All are
	// required.
	Measures []Measure
}

// Measure is the part of an Advice that concerns one place, or the reason why nothing is
// known for that place.
type Measure struct {
	Kind MeasureKind `json:"kind"`
	// Term excludes the version. If a module has several such terms, it is the first.
	Term scan.Term `json:"term"`
	// Becomes replaces Term in a MeasureEdit. The zero value says that a person must remove
	// Term.
	Becomes provider.Term `json:"becomes"`
	// Call is the module call that must change. MeasureEdit and MeasureFixed have none.
	Call HoldingCall `json:"call,omitzero"`
	// Release is the version of the module, or its ref, that the measure is about.
	Release string `json:"release,omitempty"`
	// ByName says that the registry's list names the provider, but not its source.
	ByName bool `json:"by_name,omitempty"`
	// Against is the term that excludes the version in the release that was read
	// (MeasureRefuted).
	Against scan.Term `json:"against,omitzero"`
	// Why says why the release was not read (MeasureUnread).
	Why string `json:"why,omitempty"`
}

// HoldingCall is a call of a fetched module that a person can change. It is the outermost
// such call on the way to a term.
type HoldingCall struct {
	Module        string `json:"module"` // path of the call, joined by dots
	problem.Place        // Place of the call; its keys are in the same JSON object
	Source        string `json:"source"`     // as in scan.Fetched
	Version       string `json:"version"`    // in use; empty if the module comes from no registry
	Constraint    string `json:"constraint"` // of the call, as evaluated
	Ref           string `json:"ref"`        // the ref in the source
}

// MeasureKind says how much is known about a measure.
type MeasureKind string

// The kinds of measures.
const (
	MeasureEdit    MeasureKind = "edit"    // change a term in the repository
	MeasureListed  MeasureKind = "listed"  // the registry's list says that this release of the module allows the version
	MeasureRead    MeasureKind = "read"    // relock read the module tree of the release, and it allows the version
	MeasureRefuted MeasureKind = "refuted" // relock read the module tree of the release, and it excludes the version
	MeasureUnread  MeasureKind = "unread"  // the module tree of the release could not be read
	MeasureUnknown MeasureKind = "unknown" // newer releases exist; only reading them would say more
	MeasureNone    MeasureKind = "none"    // no newer release of the module allows it
	MeasureFixed   MeasureKind = "fixed"   // no file of the repository can change it
)

// advise finds the changes that let the provider move to the newest release that the rules
// allow. It sends no requests: it uses the module lists that the run has anyway. newer are
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

// reached is the newest release that the rules and these constraints allow. It is zero
// unless that release is above the selected one.
func reached(c chosen, constraints provider.Constraints) provider.Version {
	var newest provider.Version
	for _, r := range c.offered.releases {
		if r.Version.Precedence(c.to) > 0 && r.Version.Precedence(newest) > 0 && constraints.Allows(r.Version) && c.applied.Judge(r).Reason == "" {
			newest = r.Version
		}
	}
	return newest
}

// holder is a place that holds a provider back. It is a term that a person can change, or a
// call of a module whose terms only another release of that module changes.
type holder struct {
	wanted *wanted
	terms  []scan.Term   // the terms that exclude the version
	call   *scan.Fetched // nil: a term in the repository
}

// holders are the places that hold the provider below a version, in the order of their
// terms. Two calls of one fetched module give its terms once.
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

// Two fetched calls can be on the way to a module: a fetched module may call another one.
// These constants choose one of them.
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

// isBelow reports whether a call leads to this module or to one that contains it.
func isBelow(module, call string) bool {
	return module == call || strings.HasPrefix(module, call+".")
}

// measure is the measure for the holder, as far as the registry's lists know it.
func (h holder) measure(v provider.Version) Measure {
	s := Measure{Kind: MeasureFixed, Term: h.terms[0]}
	if h.call == nil {
		if s.Term.Place.Package == "" && path.Base(s.Term.Place.Path) != lockfile.Name { // neither a file of another program nor a recorded constraint
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

// taken are the terms of the whole module tree after a measure is taken.
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

// listed is the first release of the module, above the one in use, that allows the version
// according to the registry's list. speaks reports whether the list can answer, on two
// conditions:
//
//   - For the release in use, the list says the same as the files.
//   - For each newer release, it has the terms of the modules that hold the provider.
//
// The list says nothing about modules in other packages that these call.
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
		// The list's other modules that require the provider now count, too.
		allowed := !slices.ContainsFunc(h.termsOf(r, all), func(t scan.ListedTerms) bool { return !t.Constraints.Allows(v) })
		if len(said) == len(holding) && allowed {
			return r, true
		}
	}
	return first, speaks
}

// refutes reports that the list does not have this term for a release.
func (h holder) refutes(r scan.ModuleRelease, t scan.Term) bool {
	return !slices.ContainsFunc(h.termsOf(r, h.paths([]scan.Term{t})), func(said scan.ListedTerms) bool {
		return slices.Contains(said.Constraints.Terms(), t.Constraint)
	})
}

// termsOf is what the list says about the modules at these paths of a release. Paths that
// the list does not have are left out.
func (h holder) termsOf(r scan.ModuleRelease, paths []string) []scan.ListedTerms {
	var all []scan.ListedTerms
	for _, name := range paths {
		if said, listed := r.Terms(name, h.wanted.addr(), h.wanted.tool.Name); listed {
			all = append(all, said)
		}
	}
	return all
}

// paths are the paths of the modules that have these terms, inside the package of the call,
// as a registry lists them. Modules in other packages are left out.
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
