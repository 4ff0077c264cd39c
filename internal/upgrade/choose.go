package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/ask"
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
	old     lockfile.Lock // the entry that counts: of a disputed one that of a side
	offered offered
	applied policy.Applied   // with the version that can stay
	to      provider.Version // zero: none
	release provider.Release // of that version
	held    []Held
	notices []error // what is no failure but must be said
	undated bool    // the date of release decides, and is to be asked for
	idle    bool    // the entry stays as it is, and nobody was asked
	gone    bool    // the locked version stays, and is not offered by the methods that were asked
	unheard error   // why it is not known what is offered
	err     error
}

// chooseVersions decides about what raises a question, root module by root module.
// Where a rule asks for the age of a release that nobody has told yet, its date is
// asked for and the choice is made anew: so only those are asked of that decide.
func chooseVersions(roots []root, b behaviour, world asker) [][]chosen {
	var asked []ask.Question
	choices := make([][]chosen, len(roots))
	for i, r := range roots {
		choices[i] = make([]chosen, len(r.wanted))
		for _, w := range r.wanted {
			asked = append(asked, w.provider())
		}
	}
	answers := world.versions(asked)
	for first := true; ; first = false {
		var waiting []ask.Question
		for i, r := range roots {
			for j, w := range r.wanted {
				if first || choices[i][j].undated {
					choices[i][j] = choose(w, answers[w.provider()], b)
				}
				if c := choices[i][j]; c.undated {
					waiting = append(waiting, w.key(c.release.Version, provider.Platform{}))
				}
			}
		}
		if len(waiting) == 0 {
			return choices
		}
		for k, d := range world.published(waiting) {
			q := ask.Question{Tool: k.Tool, Want: provider.Want{Addr: k.Want.Addr}}
			o := answers[q]
			o.releases, o.dates = slices.Clone(o.releases), maps.Clone(o.dates) // choices that are made have the others
			o.release(k.Want.Version).Published, o.dates[k.Want.Version] = d.at, d
			answers[q] = o
		}
	}
}

// chooseIdle adds what the rules want no release for. Where an entry covers what
// its root module's must, it stays as it is; about the others the questions are
// still to be asked.
func chooseIdle(roots []root, choices [][]chosen, covers []coverage.Cover, b behaviour, world asker) [][]chosen {
	asking := slices.Clone(roots)
	all := make([][]chosen, len(roots))
	for i, r := range roots {
		asking[i].wanted = nil
		all[i] = slices.Clone(choices[i])
		told := fileOf(r.module.Tool, choices[i]).Tells()
		for _, w := range r.idle {
			c := chosen{wanted: w, old: w.locked, to: w.locked.Version, idle: true}
			if covers[i].Of(c.renewal(), told).Complete {
				all[i] = append(all[i], c)
			} else {
				asking[i].wanted = append(asking[i].wanted, w)
			}
		}
	}
	for i, further := range chooseVersions(asking, b, world) {
		all[i] = append(all[i], further...)
		slices.SortStableFunc(all[i], func(c, d chosen) int { return c.wanted.addr().Compare(d.wanted.addr()) })
	}
	return all
}

// choose selects the version of a provider.
func choose(w *wanted, o offered, b behaviour) chosen {
	c := chosen{wanted: w, old: w.locked, offered: o, applied: w.rules, unheard: o.err, err: o.err}
	switch {
	case c.err != nil:
		return c
	case w.sides != nil:
		c = chooseSide(c, b)
	case (b.keepsVersions || w.lockAlone) && w.isLock:
		c.release, c.err = c.stay(w.locked.Version)
		if c.err != nil && b.keepsWithdrawn && w.constraints.Allows(w.locked.Version) {
			c.release, c.err = provider.Release{Version: w.locked.Version}, nil // what becomes of it, its platforms decide
		}
	case b.keepsVersions && !w.carried.IsZero():
		c.release, c.err = c.stay(w.carried)
		if c.err != nil && b.reselects { // OpenTofu fails for what cannot be had here
			c.err = nil
			c = c.newest(b)
		}
	default:
		c = c.newest(b)
	}
	if c.err != nil || c.undated {
		return c
	}
	c.to = c.release.Version
	if w.relocked && !w.records.Allows(c.to) {
		// init selects it, since tests ask for it; providers lock reads no tests and refuses a
		// prerelease that nothing else names [terraform 1.11 internal/providercache/installer.go].
		c.err = &problem.Error{
			Problem: problem.Problem{
				Code: problem.CodeLockedVersion, Host: c.wanted.addr().Host, Subject: problem.Subject{Addr: c.wanted.addr(), Version: c.to, Versioned: true},
				Message: fmt.Sprintf("%s %s is required by tests alone: providers lock does not read them, and fails by the other constraints (%s)", c.wanted.addr(), c.to, c.wanted.records),
				Hint:    "name that version in the configuration, too, or run without --exact",
			},
		}
		return c
	}
	c.gone = w.isLock && b.keepsWithdrawn && c.to == c.old.Version && o.release(c.to) == nil
	switch {
	case b.tellsHeld:
		c.held = c.holding()
	case b.options.Newer:
		// A date that nobody has told is not asked for, since nothing depends on it.
		would := c.newest(b)
		if r := would.release; would.err == nil && !would.undated && r.Version.Precedence(c.to) > 0 {
			c.held = []Held{{Version: r.Version, By: policy.Hold{Reason: HeldByLock}, Published: r.Published}}
		}
	}
	return c
}

// stay keeps a locked version, which must be allowed and still be offered:
// providers lock fails otherwise.
func (c chosen) stay(locked provider.Version) (provider.Release, error) {
	if !c.wanted.constraints.Allows(locked) {
		err := c.wanted.failure(problem.CodeLockedVersion, locked, "the locked version %s of %s does not meet the constraints %s", locked, c.wanted.addr(), c.wanted.constraints)
		err.Problem.Hint = "run relock upgrade to select another version"
		return provider.Release{}, err
	}
	if r := c.offered.release(locked); r != nil {
		return *r, nil
	}
	return provider.Release{}, c.offered.methods.notOffered(c.wanted.addr(), locked)
}

// newest selects the newest release that the constraints and the rules allow.
// Platforms and protocols play no part, as in the tools.
//
// A locked release that is not offered any more is among those that can be
// selected, since a version goes down by a wish only: unless the wish is there and
// every installation method has listed what it offers, or another one of the same
// precedence is offered.
func (c chosen) newest(b behaviour) chosen {
	locked := c.old.Version
	var allowed []provider.Release
	for _, r := range c.offered.releases {
		if c.wanted.constraints.Allows(r.Version) {
			allowed = append(allowed, r)
		}
	}
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
	// pick one by chance; here the locked one wins, then one without metadata, then the
	// bytewise greatest.
	locked = cmp.Or(locked, c.wanted.carried)
	slices.SortStableFunc(allowed, func(r, s provider.Release) int {
		v, w := s.Version, r.Version
		return cmp.Or(v.Precedence(w), claim(v == locked, w == locked), claim(v.Metadata == "", w.Metadata == ""), cmp.Compare(v.Metadata, w.Metadata))
	})
	if len(c.applied.Rules) == 0 {
		c.release = allowed[0]
		return c
	}
	return c.newestUnheld(allowed, locked, b.options.Dates != nil)
}

// newestUnheld selects the first of the releases that no rule holds, and may find
// that it has to know the date of one before. The releases are those that the
// constraints allow, the newest first.
//
// A rule must not bring a version down: none below the locked one is looked at,
// unless the constraints leave nothing else. If the rules leave no release at
// all, as may happen where there is no locked version or it cannot stay, the
// first one is selected all the same, since the tools refuse to work without an
// entry that meets the constraints; people are told. It fails where a date decides
// that could not be asked for: what rules say of releases without a date is not
// meant for those [case 75].
func (c chosen) newestUnheld(allowed []provider.Release, locked provider.Version, dates bool) chosen {
	c.applied.From = provider.Version{}
	if slices.ContainsFunc(allowed, func(r provider.Release) bool { return r.Version == locked }) {
		c.applied.From = locked
	}
	c.release = allowed[0]
	inVain := 0
	for _, d := range c.offered.dates {
		if d.err == nil && d.at.IsZero() {
			inVain++
		}
	}
	for i, r := range allowed {
		if i > 0 && r.Version.Precedence(locked) < 0 {
			break
		}
		reason := c.applied.Judge(r).Reason
		if (reason == "" || reason == policy.HeldByAge) && c.applied.WantsAge(r) {
			d, asked := c.offered.dates[r.Version]
			switch {
			case d.err != nil:
				c.release, c.unheard, c.err = provider.Release{}, d.err, d.err
				return c
			case dates && r.Published.IsZero() && !asked && (inVain < mostUndated || !c.applied.HoldsUndated(r)):
				c.release, c.undated = r, true
				return c
			}
		}
		if reason == "" {
			c.release = r
			break
		}
	}
	against := c.applied
	against.From = locked
	if h := against.Judge(c.release); h.Reason != "" {
		rule := "a rule"
		if h.Rule != "" {
			rule += " (" + h.Rule + ")"
		}
		c.notices = append(c.notices, c.wanted.failure(problem.CodePolicy, c.release.Version,
			"%s %s is selected though %s holds it: without it no version would meet the constraints", c.wanted.addr(), c.release.Version, rule))
	}
	return c
}

// claim compares two claims: true is greater.
func claim(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// noVersion is the error of a provider of which no release is allowed.
func (c chosen) noVersion() error {
	methods, releases := c.offered.methods, c.offered.releases
	err := &problem.Error{
		Problem: problem.Problem{
			Code: problem.CodeNoVersion, Host: methods.host(c.wanted.addr()), Subject: problem.Subject{Addr: c.wanted.addr()},
			Message: fmt.Sprintf("no release of %s meets the constraints %q", c.wanted.addr(), c.wanted.constraints),
			Hint:    "no release at all is listed" + cmp.Or(methods.answered("by"), " by the registry"),
		},
	}
	if len(releases) == 0 {
		return err
	}
	top := slices.MaxFunc(releases, func(a, b provider.Release) int { return a.Version.Compare(b.Version) }).Version
	err.Problem.Hint = fmt.Sprintf("the newest release%s is %s", methods.answered("of"), top)
	if t, ok := excluding(c.wanted.requirement, top); ok {
		err.Problem.Hint += fmt.Sprintf("; %q at %s excludes it", t.Constraint, t.Place)
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

// holding explains why no newer release was selected: for each reason the newest
// release that it holds, the newest first. Where the constraints exclude a
// release, what the rules say of it is not told. Of the terms that exclude a release
// the one decides that excludes the oldest release above the selected one.
func (c chosen) holding() []Held {
	var newer []provider.Release
	for _, r := range c.offered.releases {
		if r.Version.Prerelease == "" && r.Version.Precedence(c.to) > 0 {
			newer = append(newer, r)
		}
	}
	slices.SortFunc(newer, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	var all []Held
	told := map[policy.Reason]bool{"": true}
	for _, r := range newer {
		h := Held{Version: r.Version, By: policy.Hold{Reason: HeldByConstraint}, Published: r.Published}
		if c.wanted.constraints.Allows(r.Version) {
			h.By = c.applied.Judge(r)
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

// excluders are the terms that exclude a release, the one that decides before the
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
