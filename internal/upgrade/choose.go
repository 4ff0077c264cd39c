package upgrade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/coverage"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// chosen is a wanted provider with its version.
type chosen struct {
	wanted  *wanted
	old     lockfile.Lock // the entry that counts; of a disputed entry, the chosen side
	offered offered
	applied policy.Applied   // with the locked version, if it can stay
	to      provider.Version // zero: none
	release provider.Release // of that version
	held    []Held
	notices []error // no failure, but people must see them
	undated bool    // the date of release decides, and must be asked for
	idle    bool    // the entry stays as it is, and no source was asked
	gone    bool    // the locked version stays, though the methods that were asked do not offer it
	unheard error   // why the offered releases are not known
	err     error
}

// chooseVersions decides about the wanted providers of each root module. If a rule needs
// the age of a release whose date is not known, the date is asked for, and the provider is
// chosen again. So only dates that decide are asked for.
func chooseVersions(wanted [][]*wanted, b behaviour, world asker) [][]chosen {
	all := slices.Concat(wanted...)
	choices := make([]chosen, len(all))
	var asked []ask.Question
	open := make([]int, len(all)) // the providers without a decision
	for i, w := range all {
		asked, open[i] = append(asked, w.provider()), i
	}
	answers := world.versions(asked)
	for len(open) > 0 {
		var undated []int
		var dates []ask.Question
		for _, i := range open {
			c := choose(all[i], answers[all[i].provider()], b)
			choices[i] = c
			if c.undated {
				undated, dates = append(undated, i), append(dates, c.wanted.key(c.release.Version, provider.Platform{}))
			}
		}
		open = undated
		for k, d := range world.published(dates) {
			q := ask.Question{Tool: k.Tool, Want: provider.Want{Addr: k.Want.Addr}}
			answers[q] = answers[q].dated(k.Want.Version, d)
		}
	}
	return shaped(choices, wanted)
}

// shaped cuts a list into lists with the same lengths as these.
func shaped[T, U any](all []T, like [][]U) [][]T {
	lists := make([][]T, len(like))
	for i, l := range like {
		lists[i], all = all[:len(l):len(l)], all[len(l):]
	}
	return lists
}

// chooseIdle adds the providers for which the rules let no release in. If an entry covers
// the platforms that its root module needs, it stays as it is. For the others, the sources
// are asked.
func chooseIdle(roots []root, choices [][]chosen, covers []coverage.Cover, b behaviour, world asker) [][]chosen {
	incomplete := make([][]*wanted, len(roots))
	all := make([][]chosen, len(roots))
	for i, r := range roots {
		all[i] = slices.Clone(choices[i])
		told := fileOf(r.module.Tool, choices[i]).Tells()
		for _, w := range r.idle {
			c := chosen{wanted: w, old: w.locked, to: w.locked.Version, idle: true}
			if covers[i].Of(c.renewal(), told).Complete {
				all[i] = append(all[i], c)
			} else {
				incomplete[i] = append(incomplete[i], w)
			}
		}
	}
	for i, further := range chooseVersions(incomplete, b, world) {
		all[i] = append(all[i], further...)
		slices.SortStableFunc(all[i], func(c, d chosen) int { return c.wanted.addr().Compare(d.wanted.addr()) })
	}
	return all
}

// choose selects the version of a provider.
func choose(w *wanted, o offered, b behaviour) chosen {
	c := chosen{wanted: w, old: w.locked, offered: o, applied: w.rules, unheard: o.err, err: o.err}
	if c.err == nil {
		c = c.withRelease(b)
	}
	if c.err != nil || c.undated {
		return c
	}
	c.to = c.release.Version
	if w.relocked && !w.records.Allows(c.to) {
		// init selects this version because tests ask for it. providers lock reads no
		// tests, and refuses a prerelease that no other file names [terraform 1.11
		// internal/providercache/installer.go].
		err := w.failure(problem.CodeLockedVersion, c.to, "%s %s is required by tests alone: providers lock does not read them, and fails by the other constraints (%s)", w.addr(), c.to, w.records)
		err.Problem.Hint = "name that version in the configuration, too, or run without --exact"
		c.err = err
		return c
	}
	c.gone = w.isLock && b.keepsWithdrawn && c.to == c.old.Version && o.release(c.to) == nil
	if b.tellsHeld {
		c.held = c.holding()
	} else if b.options.Newer {
		c.held = c.passedOver(b)
	}
	return c
}

// withRelease adds the release to the choice. It is, in this order: the release of a side
// of a merge, the locked one, the one in a predecessor's entry, or the newest.
func (c chosen) withRelease(b behaviour) chosen {
	w := c.wanted
	switch {
	case w.sides != nil:
		return chooseSide(c, b)
	case w.isLock && (b.keepsVersions || w.lockAlone):
		c.release, c.err = c.stay(w.locked.Version)
		if c.err != nil && b.keepsWithdrawn && w.constraints.Allows(w.locked.Version) {
			c.release, c.err = provider.Release{Version: w.locked.Version}, nil // its platforms decide what happens to it
		}
		return c
	case b.keepsVersions && !w.carried.IsZero():
		release, err := c.stay(w.carried)
		if err == nil || !b.reselects { // OpenTofu fails if the version is not available here
			c.release, c.err = release, err
			return c
		}
	}
	return c.newest(b)
}

// passedOver is the newest release that an upgrade would select instead of the locked one.
// No date is asked for, since no decision depends on it.
func (c chosen) passedOver(b behaviour) []Held {
	would := c.newest(b)
	r := would.release
	if would.err != nil || would.undated || r.Version.Precedence(c.to) <= 0 {
		return nil
	}
	return []Held{{Version: r.Version, By: policy.Hold{Reason: HeldByLock}, Published: r.Published}}
}

// stay keeps a locked version. The constraints must allow it and a method must offer it:
// providers lock fails otherwise.
func (c chosen) stay(locked provider.Version) (provider.Release, error) {
	if !c.wanted.constraints.Allows(locked) {
		err := c.wanted.failure(problem.CodeLockedVersion, locked, "the locked version %s of %s does not meet the constraints %s", locked, c.wanted.addr(), c.wanted.constraints)
		err.Problem.Message += disagreement(c.wanted.requirement, c.offered.releases)
		switch {
		case len(c.allowed()) == 0: // an upgrade fails, too
			err.Problem.Hint = problem.Of(c.noVersion()).Hint
		case !c.wanted.lockAlone: // else an upgrade keeps the version, too
			err.Problem.Hint, err.Problem.Upgradable = "run `relock upgrade` to select another version", true
		}
		return provider.Release{}, err
	}
	if r := c.offered.release(locked); r != nil {
		return *r, nil
	}
	return provider.Release{}, c.offered.methods.notOffered(c.wanted.addr(), locked)
}

// newest selects the newest release that the constraints and the rules allow. Platforms and
// protocols play no part, as in the tools.
//
// A version goes down only if somebody asks for it. So a locked release that is no longer
// offered can still be selected, with two exceptions:
//
//   - AllowDowngrade is set and every installation method has listed its releases.
//   - Another release of the same precedence is offered.
func (c chosen) newest(b behaviour) chosen {
	locked := c.old.Version
	allowed := c.allowed()
	lowers := b.lowers || b.options.AllowDowngrade && c.offered.methods.allListed()
	offered := slices.ContainsFunc(allowed, func(r provider.Release) bool { return r.Version.Precedence(locked) == 0 })
	if c.wanted.isLock && !lowers && !offered && c.wanted.constraints.Allows(locked) {
		allowed = append(allowed, provider.Release{Version: locked})
	}
	if len(allowed) == 0 {
		c.err = c.noVersion()
		return c
	}
	// Releases that differ in build metadata alone have one precedence, and the tools
	// choose one by chance. relock prefers the locked release, then one without metadata,
	// then the bytewise greatest.
	locked = cmp.Or(locked, c.wanted.carried)
	slices.SortStableFunc(allowed, func(r, s provider.Release) int {
		v, w := r.Version, s.Version
		return cmp.Or(w.Precedence(v), collect.TrueFirst(v == locked, w == locked), collect.TrueFirst(v.Metadata == "", w.Metadata == ""), cmp.Compare(w.Metadata, v.Metadata))
	})
	if len(c.applied.Rules) == 0 {
		c.release = allowed[0]
		return c
	}
	return c.newestUnheld(allowed, locked, b)
}

// allowed are the releases that the constraints allow.
func (c chosen) allowed() []provider.Release {
	return collect.Those(c.offered.releases, func(r provider.Release) bool { return c.wanted.constraints.Allows(r.Version) })
}

// newestUnheld selects the first release that no rule holds. It stops if it needs a date
// that was not asked for yet. allowed are the releases that the constraints allow, the
// newest first.
//
// A rule must not bring a version down. So releases below the locked one are looked at only
// if the constraints leave nothing else. If the rules leave no release at all, the first
// one is selected, with a notice: the tools do not work without an entry that meets the
// constraints. That happens if no version is locked, or the locked one cannot stay. If a
// date decides and could not be asked for, the choice fails. Rules for releases without a
// date do not apply then [case 75].
func (c chosen) newestUnheld(allowed []provider.Release, locked provider.Version, b behaviour) chosen {
	c.applied.From = provider.Version{}
	if slices.ContainsFunc(allowed, func(r provider.Release) bool { return r.Version == locked }) {
		c.applied.From = locked
	}
	notLower := collect.CountIf(allowed, func(r provider.Release) bool { return r.Version.Precedence(locked) >= 0 })
	c.release = allowed[0]
	for _, r := range allowed[:max(notLower, 1)] {
		reason := c.applied.Judge(r).Reason
		aging := (reason == "" || reason == policy.HeldByAge) && c.applied.WantsAge(r)
		if err := c.offered.dates[r.Version].err; aging && err != nil {
			c.release, c.unheard, c.err = provider.Release{}, err, err
			return c
		}
		if aging && c.lacksDate(r, b) {
			c.release, c.undated = r, true
			return c
		}
		if reason == "" {
			c.release = r
			break
		}
	}
	against := c.applied
	against.From = locked
	if against.WantsAge(c.release) && c.lacksDate(c.release, b) {
		c.undated = true // a rule for this kind of update may hold it
		return c
	}
	if h := against.Judge(c.release); h.Reason != "" {
		rule := "a rule"
		if h.Rule != "" {
			rule += " (" + h.Rule + ")"
		}
		c.notices = append(c.notices, c.wanted.failure(problem.CodePolicy, c.release.Version,
			"%s %s is selected although %s excludes it: no other version meets the constraints", c.wanted.addr(), c.release.Version, rule))
	}
	return c
}

// lacksDate reports whether the date of a release must still be asked for. After
// mostUndated releases without a date, it must only if the rules hold releases without one.
func (c chosen) lacksDate(r provider.Release, b behaviour) bool {
	_, asked := c.offered.dates[r.Version]
	if asked || b.options.Dates == nil || !r.Published.IsZero() {
		return false
	}
	return c.offered.inVain() < mostUndated || !c.applied.HoldsUndated(r)
}

// noVersion is the error for a provider that has no allowed release.
func (c chosen) noVersion() error {
	methods, releases := c.offered.methods, c.offered.releases
	err := &problem.Error{
		Problem: problem.Problem{
			Code: problem.CodeNoVersion, Host: methods.host(c.wanted.addr()), Subject: problem.Subject{Addr: c.wanted.addr()},
			Message: fmt.Sprintf("no release of %s meets the constraints %q", c.wanted.addr(), c.wanted.constraints),
			Hint:    "ask its publisher: no release at all is listed" + cmp.Or(methods.answered("by"), " by the registry"),
		},
	}
	if len(releases) == 0 {
		return err
	}
	said := disagreement(c.wanted.requirement, releases)
	if core := contradiction(c.wanted.requirement.Terms, releases); said == "" && len(core) > 1 {
		said = ": " + strings.Join(collect.Mapped(core, func(t scan.Term) string { return fmt.Sprintf("%q at %s", t.Constraint, t.Place) }), " and ") + " exclude each other"
	}
	err.Problem.Message += said
	top := slices.MaxFunc(releases, func(a, b provider.Release) int { return a.Version.Compare(b.Version) }).Version
	err.Problem.Hint = fmt.Sprintf("change the constraints: the newest release%s is %s", methods.answered("of"), top)
	if t, ok := excluding(c.wanted.requirement, top); ok {
		err.Problem.Hint += fmt.Sprintf(", and %q%s excludes it", t.Constraint, c.wanted.at(t.Place))
	} else if top.Prerelease != "" {
		err.Problem.Hint += ", a prerelease, which only an exact constraint selects"
	}
	return err
}

// excluding returns the first term that the version does not meet.
func excluding(r scan.Requirement, v provider.Version) (scan.Term, bool) {
	for _, t := range r.Terms {
		if excludes(t, v) {
			return t, true
		}
	}
	return scan.Term{}, false
}

func excludes(t scan.Term, v provider.Version) bool {
	return t.Constraint.Op != 0 && !t.Constraint.Meets(v)
}

// holding explains why no newer release was selected. It has one element for each reason,
// the newest release that the reason holds, sorted from the newest. If the constraints
// exclude a release, the rules are not mentioned. If several terms exclude it, Term is the
// one that excludes the oldest release above the selected one.
func (c chosen) holding() []Held {
	newer := collect.Those(c.offered.releases, func(r provider.Release) bool { return r.Version.Prerelease == "" && r.Version.Precedence(c.to) > 0 })
	slices.SortFunc(newer, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	var all []Held
	told := map[policy.Reason]bool{"": true}
	for _, r := range newer {
		h := Held{Version: r.Version, By: policy.Hold{Reason: HeldByConstraint}, Published: r.Published}
		if c.wanted.constraints.Allows(r.Version) {
			h.By = c.applied.Judge(r)
			h.By.Eligible = c.eligible(newer, h.By)
		}
		if told[h.By.Reason] {
			continue
		}
		told[h.By.Reason] = true
		if h.By.Reason == HeldByConstraint {
			h.Term, h.Others = excluders(c.wanted.requirement, r, newer)
		}
		all = append(all, h)
	}
	return all
}

// eligible is the first day on which one of the newer releases may be taken that are held for
// the same reason. It may be another one than the newest.
func (c chosen) eligible(newer []provider.Release, hold policy.Hold) time.Time {
	if hold.Eligible.IsZero() {
		return hold.Eligible
	}
	first := time.Time{}
	for _, r := range newer {
		rules, by := c.applied, policy.Hold{}
		if !c.wanted.constraints.Allows(r.Version) || rules.Judge(r).Reason != hold.Reason {
			continue
		}
		for by = rules.Judge(r); rules.Now.Before(by.Eligible); by = rules.Judge(r) {
			rules.Now = by.Eligible
		}
		if by.Reason == "" && (first.IsZero() || rules.Now.Before(first)) {
			first = rules.Now
		}
	}
	return cmp.Or(first, hold.Eligible)
}

// excluders are the terms that exclude a release: first the one that decides, then the
// others. newer are the releases above the selected one, the newest first.
func excluders(required scan.Requirement, r provider.Release, newer []provider.Release) (decides scan.Term, others []scan.Term) {
	for _, oldest := range slices.Backward(newer) {
		if t, ok := excluding(required, oldest.Version); ok {
			decides = t
			break
		}
	}
	for _, t := range required.Terms {
		if t != decides && excludes(t, r.Version) {
			others = append(others, t)
		}
	}
	return decides, others
}
