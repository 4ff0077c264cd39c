package upgrade

import (
	"cmp"
	"path"
	"slices"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// listedOptions are the releases of a module that allow the version by the registry's list:
// the first one, and the newest.
func (a adviser) listedOptions(h holder, addr provider.Addr, v provider.Version) []option {
	m := Measure{Kind: MeasureUnknown, Term: h.terms[0], Call: holdingCall(h.call)}
	_, above, known := h.call.Versions.Above(h.call.Version)
	none := m
	if known {
		none.Kind = MeasureNone
	}
	if len(above) > 0 {
		none.Release = above[len(above)-1].Version
		if !a.speaks(h) {
			return []option{{measure: m}}
		}
	}
	var all []option
	for _, r := range above {
		becomes, selected, ok := repin(h.call, r)
		if !ok || slices.ContainsFunc(all, func(o option) bool { return o.measure.Release == selected.Version }) {
			continue
		}
		terms, byName, complete := a.listedTerms(h, selected, addr)
		switch {
		case !complete:
			none = m
		case !slices.ContainsFunc(terms[addr], func(t scan.Term) bool { return excludes(t, v) }):
			o := option{measure: m, terms: terms}
			o.measure.Kind, o.measure.Release, o.measure.CallBecomes, o.measure.ByName = MeasureListed, selected.Version, becomes, byName
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return []option{{measure: none}}
	}
	return slices.Delete(all, 1, max(1, len(all)-mostReleases+1))
}

// holdingCall is a call as people can change it.
func holdingCall(f *scan.Fetched) HoldingCall {
	return HoldingCall{
		Module: f.Module, Place: f.Pin, Source: f.Source, Version: f.Version, Constraint: f.Call.Version, Ref: f.Ref, Expression: f.Expression,
	}
}

// repin is the constraint of a call in the same form, raised to a release of the module, and
// the newest listed release that it selects.
func repin(call *scan.Fetched, r scan.ModuleRelease) (becomes string, selected scan.ModuleRelease, ok bool) {
	v, err := provider.ParseVersion(r.Version)
	if err != nil || v.Prerelease != "" {
		return "", selected, false
	}
	becomes = r.Version
	if call.Call.Version != "" {
		becomes = raisedText(call.Call.Version, v)
	}
	constraint, err := goversion.NewConstraint(becomes)
	if err != nil {
		return "", selected, false
	}
	for _, s := range call.Versions.Releases { // oldest first
		if number, err := goversion.NewVersion(s.Version); err == nil && number.Prerelease() == "" && constraint.Check(number) {
			selected, ok = s, true
		}
	}
	return becomes, selected, ok
}

// raisedText raises each term of a constraint string. The others keep their spelling. It is
// empty, and so no constraint, if one of them cannot be read.
func raisedText(text string, v provider.Version) string {
	var pieces []string
	for piece := range strings.SplitSeq(text, ",") {
		piece = strings.TrimSpace(piece)
		c, err := provider.ParseConstraints(piece)
		if err != nil {
			return ""
		}
		was := c.Terms()[0]
		switch raised := was.Raised(v); {
		case raised.Op == 0: // the constraint says more, or nothing is left of it
		case raised == was:
			pieces = append(pieces, piece)
		case strings.HasPrefix(piece, "= "):
			pieces = append(pieces, "= "+raised.String())
		default:
			pieces = append(pieces, raised.String())
		}
	}
	return cmp.Or(strings.Join(pieces, ", "), ">= "+v.String())
}

// speaks reports whether the registry's list can say what another release of the module
// requires. Two conditions must hold:
//
//   - For the release in use, the list says the same as the files.
//   - No module of the package calls a module of another package. The list says nothing about
//     those.
func (a adviser) speaks(h holder) bool {
	current, _, listed := h.call.Versions.Above(h.call.Version)
	if !listed || slices.ContainsFunc(a.fetched, func(f scan.Fetched) bool { return f.Module != h.call.Module && isBelow(f.Module, h.call.Module) }) {
		return false
	}
	for _, r := range a.required {
		for _, t := range r.Terms {
			if isBelow(t.Module, h.call.Module) && t.Constraint.Op != 0 && !a.states(h, current, r.Addr, t) {
				return false
			}
		}
	}
	return len(a.paths(h, h.terms)) > 0
}

// states reports whether the list has this term for a release.
func (a adviser) states(h holder, r scan.ModuleRelease, addr provider.Addr, t scan.Term) bool {
	return slices.ContainsFunc(a.listed(r, a.paths(h, []scan.Term{t}), addr), func(said scan.ListedTerms) bool {
		return slices.Contains(said.Constraints.Terms(), t.Constraint)
	})
}

// listedTerms are the terms of a release, by the list. complete says that it has those of
// the modules that hold the provider.
func (a adviser) listedTerms(h holder, r scan.ModuleRelease, addr provider.Addr) (terms map[provider.Addr][]scan.Term, byName, complete bool) {
	terms = map[provider.Addr][]scan.Term{}
	var below []scan.Term
	for _, required := range a.required {
		below = append(below, collect.Those(required.Terms, func(t scan.Term) bool { return isBelow(t.Module, h.call.Module) })...)
	}
	for _, required := range a.required {
		for _, said := range a.listed(r, a.paths(h, below), required.Addr) {
			byName = byName || said.ByName && required.Addr == addr
			for _, t := range said.Constraints.Terms() {
				at := scan.Term{Constraint: t, Module: h.call.Module}
				at.Place.Package = h.call.Source
				terms[required.Addr] = append(terms[required.Addr], at)
			}
		}
	}
	holding := a.paths(h, h.terms)
	return terms, byName, len(a.listed(r, holding, addr)) == len(holding)
}

// listed is what the list says about the modules at these paths of a release. Paths that
// the list does not have are left out.
func (a adviser) listed(r scan.ModuleRelease, paths []string, addr provider.Addr) []scan.ListedTerms {
	var all []scan.ListedTerms
	for _, name := range paths {
		if said, listed := r.Terms(name, addr, a.tool.Name); listed {
			all = append(all, said)
		}
	}
	return all
}

// paths are the paths of the modules that have these terms, inside the package of the call,
// as a registry lists them. Modules in other packages are left out.
func (a adviser) paths(h holder, terms []scan.Term) []string {
	address, err := moduleaddr.Parse(h.call.Call.Source, a.tool.Name)
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
		if !isBelow(t.Module, h.call.Module) || fetchedOn(a.fetched, t.Module, innermost) != h.call {
			continue
		}
		if below, ok := strings.CutPrefix(path.Join("/", path.Dir(t.Place.Path), "x"), top); ok {
			all.Add(path.Dir(below))
		}
	}
	return all.List
}
