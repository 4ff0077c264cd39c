package scan

import (
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// readAlone are those that are read by themselves, in a new list. The units that begin with
// a lock file replace that lock file.
func readAlone(all []*serving) []*serving {
	var alone []*serving
	for _, s := range all {
		if s.units == nil {
			alone = append(alone, s)
		}
		alone = append(alone, s.units...)
	}
	return alone
}

// joined is the root module of a lock file with which units of stacks begin. It has the
// requirements of all units, so that the lock file serves each of them [case
// stack-lock-catalogue-two-values].
func joined(r Root, units []RootModule) RootModule {
	m := RootModule{Root: r}
	m.Searched, m.Made.Tree, m.Made.Serves = nil, nil, nil
	m.StandIn = StandInParts
	first := units[0]
	if !slices.ContainsFunc(units, func(u RootModule) bool { return u.Tool != first.Tool }) {
		m.Tool, m.Assumed, m.Pin, m.Guessed = first.Tool, first.Assumed, first.Pin, first.Guessed
	}
	m.Made.Units = collect.Mapped(units, func(u RootModule) string { return u.Dir })
	joinFacts(&m, units)
	m.Made.Sources = union(units, func(u RootModule) []string { return u.Made.Sources })
	m.Made.Unread = slices.Concat(r.Made.Unread, union(units, func(u RootModule) []Unread { return u.Made.Unread }))
	m.Tree = joinedTree(units, func(u RootModule) ModuleTree { return u.Tree })
	m.Tests = joinedTree(units, func(u RootModule) ModuleTree { return u.Tests })
	m.Tree.Unread = slices.Concat(r.Made.Unread, m.Tree.Unread)
	m.Tree.Diagnostics = sorted(slices.Concat(r.Problems, m.Tree.Diagnostics))
	return m
}

// joinedTree joins the same module tree of several units.
func joinedTree(units []RootModule, of func(RootModule) ModuleTree) ModuleTree {
	terms, parts := map[provider.Addr][]Term{}, termsOfUnits{}
	for _, u := range units {
		for _, r := range of(u).Requirements {
			parts.add(r.Addr, u.Dir, r.Terms)
			for _, term := range r.Terms {
				term.Unit = u.Dir
				terms[r.Addr] = append(terms[r.Addr], term)
			}
		}
	}
	for addr, ofAll := range terms {
		terms[addr] = sameTerms(ofAll, len(units))
	}
	t := joinedLists(units, of)
	t.Requirements = parts.in(merged(terms))
	t.Unread = union(units, func(u RootModule) []Unread { return of(u).Unread })
	t.Diagnostics = sorted(union(units, func(u RootModule) []problem.Problem { return of(u).Diagnostics }))
	return t
}

// termsOfUnits are the requirements of several units, by provider and directory.
type termsOfUnits map[provider.Addr]map[string][]Term

func (u termsOfUnits) add(addr provider.Addr, unit string, terms []Term) {
	if u[addr] == nil {
		u[addr] = map[string][]Term{}
	}
	u[addr][unit] = slices.Concat(u[addr][unit], terms)
}

// in adds to requirements what each unit requires.
func (u termsOfUnits) in(required []Requirement) []Requirement {
	for i, r := range required {
		required[i].OfUnits = u[r.Addr]
	}
	return required
}

// sameTerms joins equal terms of several units, and names the units unless all have the
// term.
func sameTerms(terms []Term, units int) []Term {
	where := map[Term][]string{}
	var distinct []Term
	for _, t := range terms {
		unit := t.Unit
		t.Unit = ""
		if where[t] == nil {
			distinct = append(distinct, t)
		}
		where[t] = append(where[t], unit)
	}
	for i, t := range distinct {
		has := slices.Compact(where[t])
		switch {
		case len(has) == units:
		case len(has) == 1:
			distinct[i].Unit = has[0]
		default:
			distinct[i].Unit = fmt.Sprintf("%s and %d more", has[0], len(has)-1)
		}
	}
	return distinct
}
