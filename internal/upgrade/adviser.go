package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// The bounds of a search for advice. Each trial plans the providers whose terms change.
const (
	mostTargets   = 6 // releases of the provider to aim at
	mostReleases  = 2 // releases of each module to try
	mostObstacles = 4 // providers to mend, one after the other
	mostMeasures  = 6 // changes that people are asked to make together
)

// adviser searches the changes that help the providers of one root module.
type adviser struct {
	tool      provider.Tool
	required  []scan.Requirement
	fetched   []scan.Fetched
	choices   map[provider.Addr]chosen
	behaviour behaviour
	trials    *rootTrials // reads releases of modules; nil: nothing is read or asked
}

// newAdviser is an adviser that knows the registries' lists of modules.
func newAdviser(r root, choices []chosen, b behaviour) adviser {
	b.tellsHeld, b.options.Newer = false, false
	a := adviser{tool: r.module.Tool, required: r.module.Tree.Requirements, fetched: r.module.Tree.Fetched, choices: map[provider.Addr]chosen{}, behaviour: b}
	for _, c := range choices {
		a.choices[c.wanted.addr()] = c
	}
	return a
}

// advise adds advice to each choice that wants it.
func (a adviser) advise(choices []chosen) []chosen {
	return collect.Mapped(choices, func(c chosen) chosen {
		if !wantsAdvice(c) {
			return c
		}
		return withAdvice(c, a.advice(c))
	})
}

// option is a measure, with the terms of the called modules after it.
type option struct {
	measure Measure
	terms   map[provider.Addr][]scan.Term
}

// draft is the root module with measures applied in memory.
type draft struct {
	terms    map[provider.Addr][]scan.Term
	measures []Measure
}

// advice is the first change that succeeds. If none does, it says why the first candidate
// does not.
func (a adviser) advice(c chosen) Advice {
	var failed *Advice
	targets, rule := a.targets(c, a.terms()[c.wanted.addr()])
	for _, v := range targets {
		for nth := range mostReleases {
			found := a.reach(c, v, nth)
			if found.Helps() {
				return found
			}
			if failed == nil {
				failed = &found
			}
		}
	}
	if failed == nil {
		return Advice{Rule: rule}
	}
	return *failed
}

// terms are the terms of all providers.
func (a adviser) terms() map[provider.Addr][]scan.Term {
	all := map[provider.Addr][]scan.Term{}
	for _, r := range a.required {
		all[r.Addr] = r.Terms
	}
	return all
}

// targets are the releases to aim at: newer than the selected one, and not held by a rule.
// Of the releases of a major version that the same terms exclude, these are the newest and
// the oldest: another release of a module may allow only a part of them. The newest ones
// come first; if the provider has no version at all, those for which the fewest places must
// change. If the rules hold every release, rule is the hold of the newest.
func (a adviser) targets(c chosen, terms []scan.Term) (targets []provider.Version, rule policy.Hold) {
	newer := collect.Those(c.offered.releases, func(r provider.Release) bool { return r.Version.Prerelease == "" && r.Version.Precedence(c.to) > 0 })
	slices.SortFunc(newer, func(r, s provider.Release) int { return s.Version.Precedence(r.Version) })
	var kinds collect.Set[string]
	oldest := map[string]provider.Version{}
	for _, r := range newer {
		if hold := c.applied.Judge(r); hold.Reason != "" {
			rule = cmp.Or(rule, hold)
			continue
		}
		excluding := collect.Those(terms, func(t scan.Term) bool { return excludes(t, r.Version) })
		if len(excluding) == 0 && c.err == nil {
			continue
		}
		kind := fmt.Sprint(r.Version.Major, excluding)
		if oldest[kind].IsZero() {
			targets = append(targets, r.Version)
		}
		kinds.Add(kind)
		oldest[kind] = r.Version
	}
	for _, kind := range kinds.List {
		if !slices.Contains(targets, oldest[kind]) {
			targets = append(targets, oldest[kind])
		}
	}
	if c.err != nil {
		slices.SortStableFunc(targets, func(v, w provider.Version) int {
			return cmp.Compare(len(a.holders(terms, v)), len(a.holders(terms, w)))
		})
	}
	if len(targets) > 0 {
		rule = policy.Hold{}
	}
	return targets[:min(len(targets), mostTargets)], rule
}

// reach tries to make the version possible, with the nth release of each module that helps.
// If another provider has no version then, it changes what excludes that, too. It fails with
// one measure that says why.
func (a adviser) reach(c chosen, v provider.Version, nth int) Advice {
	d, failed, target := draft{terms: a.terms()}, c, v
	for range mostObstacles {
		addr := failed.wanted.addr()
		for _, h := range a.holders(d.terms[addr], target) {
			o := a.option(h, d, addr, target, nth)
			if len(d.measures) == mostMeasures {
				o.measure = Measure{Kind: MeasureFixed, Term: h.terms[0]}
			}
			if !o.measure.helps() {
				return Advice{Version: v, Measures: []Measure{o.measure}}
			}
			d = a.apply(d, h, addr, o)
		}
		next, found := a.obstacle(d)
		if !found {
			return a.reached(c, v, d)
		}
		failed = next
		targets, _ := a.targets(failed, d.terms[failed.wanted.addr()])
		i := slices.IndexFunc(targets, func(t provider.Version) bool { return a.mendable(d, failed.wanted.addr(), t) })
		if i < 0 {
			break
		}
		target = targets[i]
	}
	return Advice{Version: v, Measures: []Measure{clash(failed, d)}}
}

// reached is the advice of a draft in which every provider has a version.
func (a adviser) reached(c chosen, v provider.Version, d draft) Advice {
	now := a.planned(c.wanted.addr(), d)
	if now.wanted == nil { // nothing requires it after the change
		last := d.measures[len(d.measures)-1]
		last.Kind = MeasureRefuted
		return Advice{Version: v, Measures: []Measure{last}}
	}
	if now.to.Precedence(c.to) <= 0 {
		return Advice{Version: v, Rule: now.applied.Judge(*c.offered.release(v))}
	}
	return Advice{Version: now.to, Measures: d.measures}
}

// mendable reports whether every place that excludes the version can change.
func (a adviser) mendable(d draft, addr provider.Addr, v provider.Version) bool {
	holders := a.holders(d.terms[addr], v)
	return len(holders) > 0 && !slices.ContainsFunc(holders, func(h holder) bool { return !a.option(h, d, addr, v, 0).measure.helps() })
}

// clash says which terms of a provider exclude each other after the change.
func clash(failed chosen, d draft) Measure {
	m := Measure{Kind: MeasureClash, Provider: failed.wanted.addr()}
	if last := len(d.measures) - 1; last >= 0 {
		m.Call, m.Release = d.measures[last].Call, d.measures[last].Release
	}
	core := contradiction(failed.wanted.requirement.Terms, failed.offered.releases)
	if len(core) > 0 {
		m.Term, m.Against = core[0], core[len(core)-1]
	}
	return m
}

// obstacle is the first provider that has no version, or only one that a rule excludes.
func (a adviser) obstacle(d draft) (chosen, bool) {
	before := a.terms()
	for _, addr := range slices.SortedFunc(maps.Keys(d.terms), provider.Addr.Compare) {
		was, known := a.choices[addr]
		if slices.Equal(before[addr], d.terms[addr]) && !problem.Coded(was.err, problem.CodeNoVersion) {
			continue
		}
		if now := a.planned(addr, d); now.err != nil || known && cornered(now) && !cornered(was) {
			return now, true
		}
	}
	return chosen{}, false
}

// cornered reports whether a version is selected although a rule excludes it.
func cornered(c chosen) bool {
	return slices.ContainsFunc(c.notices, func(err error) bool { return problem.Coded(err, problem.CodePolicy) })
}

// planned is the choice of a provider in a draft. Nothing is known against a provider that
// the plan is not about.
func (a adviser) planned(addr provider.Addr, d draft) chosen {
	was := a.choices[addr]
	base := was.wanted
	if base == nil && a.trials != nil {
		base = a.trials.wanted(addr)
	}
	if base == nil || len(d.terms[addr]) == 0 {
		return chosen{}
	}
	w := *base
	w.requirement.Terms = d.terms[addr]
	w.constraints, w.relocked = w.requirement.Constraints(), false
	known := was.offered
	known.err = nil
	c := choose(&w, known, a.behaviour)
	if a.trials != nil && (was.wanted == nil || c.undated) {
		c = chooseVersions([][]*wanted{{&w}}, a.behaviour, a.trials.of.world)[0][0]
	}
	if c.undated {
		c.to = c.release.Version
	}
	return c
}

// apply is the draft after one more measure.
func (a adviser) apply(d draft, h holder, addr provider.Addr, o option) draft {
	next := draft{terms: maps.Clone(d.terms), measures: append(slices.Clip(d.measures), o.measure)}
	if h.call == nil {
		next.terms[addr] = collect.Mapped(d.terms[addr], func(t scan.Term) scan.Term {
			if t.Constraint == o.measure.Term.Constraint && t.Place == o.measure.Term.Place {
				t.Constraint = o.measure.Becomes
			}
			return t
		})
		return next
	}
	for q, terms := range d.terms {
		next.terms[q] = collect.Those(terms, func(t scan.Term) bool { return !isBelow(t.Module, h.call.Module) })
	}
	for q, terms := range o.terms {
		next.terms[q] = append(slices.Clip(next.terms[q]), terms...)
	}
	return next
}

// holder is a place that holds a provider back. It is a term that a person can change, or a
// call of a module whose terms only another release of that module changes.
type holder struct {
	terms []scan.Term   // the terms that exclude the version
	call  *scan.Fetched // nil: a term in the repository
}

// holders are the places that hold the provider below a version, in the order of their
// terms. Two calls of one fetched module give its terms once.
func (a adviser) holders(terms []scan.Term, v provider.Version) []holder {
	var all []holder
	for _, t := range terms {
		if !excludes(t, v) {
			continue
		}
		call := fetchedOn(a.fetched, t.Module, outermost)
		i := slices.IndexFunc(all, func(h holder) bool {
			return h.call == call && (call != nil || h.terms[0].Constraint == t.Constraint && h.terms[0].Place == t.Place)
		})
		if i < 0 {
			all = append(all, holder{call: call})
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
func fetchedOn(fetched []scan.Fetched, module string, which int) *scan.Fetched {
	var found *scan.Fetched
	for i, f := range fetched {
		if isBelow(module, f.Module) && (found == nil || cmp.Compare(len(f.Module), len(found.Module)) == which) {
			found = &fetched[i]
		}
	}
	return found
}

// isBelow reports whether a call leads to this module or to one that contains it.
func isBelow(module, call string) bool {
	return module == call || strings.HasPrefix(module, call+".")
}

// option is the nth option for the holder, or the last one. A call changes only once.
func (a adviser) option(h holder, d draft, addr provider.Addr, v provider.Version, nth int) option {
	if h.call == nil {
		return option{measure: edit(h.terms[0], d.terms[addr], v)}
	}
	if h.call.Place.Package != "" || slices.ContainsFunc(d.measures, func(m Measure) bool { return m.Call.Module == h.call.Module }) {
		return option{measure: Measure{Kind: MeasureFixed, Term: h.terms[0]}}
	}
	all := a.listedOptions(h, addr, v)
	if a.trials != nil && all[0].measure.Kind != MeasureNone {
		all = a.trials.options(h, addr, v, nth, all)
	}
	return all[min(nth, len(all)-1)]
}

// edit is the change of a term, if a file of the repository has it. all are the terms of the
// provider.
func edit(t scan.Term, all []scan.Term, v provider.Version) Measure {
	m := Measure{Kind: MeasureFixed, Term: t}
	if t.Place.Package != "" || path.Base(t.Place.Path) == lockfile.Name { // a file of another program, or a recorded constraint
		return m
	}
	m.Kind, m.Becomes = MeasureEdit, t.Constraint.Raised(v)
	alone := !slices.ContainsFunc(all, func(u scan.Term) bool { return u.Place == t.Place && u.Constraint != t.Constraint })
	lowers := t.Constraint.Op != provider.Not   // it was a lower bound
	if m.Becomes.Op == 0 && (alone || lowers) { // else nothing would be left between the quotes, or no lower bound
		m.Becomes = provider.Term{Op: provider.AtLeast, Bound: v}
	}
	return m
}

// contradiction are the terms that no release meets together. Each of them is needed for
// that. It is empty if a release meets all terms.
func contradiction(terms []scan.Term, releases []provider.Release) []scan.Term {
	met := func(some []scan.Term) bool {
		all := scan.Requirement{Terms: some}.Constraints()
		return slices.ContainsFunc(releases, func(r provider.Release) bool { return all.Allows(r.Version) })
	}
	core := collect.Those(terms, func(t scan.Term) bool { return t.Constraint.Op != 0 })
	if met(core) {
		return nil
	}
	for i := len(core) - 1; i >= 0; i-- {
		if without := slices.Delete(slices.Clone(core), i, i+1); !met(without) {
			core = without
		}
	}
	return core
}
