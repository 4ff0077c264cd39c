package upgrade

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// selectVersions decides the version of every choice that is not made yet. Where a
// rule asks for the age of a release that nobody has told yet, its date is asked
// for and the choice is made anew: so only those are asked of that decide.
func selectVersions(drafts []*draft, opts Options, ask asker) {
	var asked []providerKey
	for _, d := range drafts {
		for _, c := range d.choices {
			if !c.decided && !c.ignored {
				asked = append(asked, providerKey{d.module.Tool, c.Requirement.Addr})
			}
		}
	}
	answers := ask.versions(asked)
	for again := true; again; {
		var waiting []packageKey
		for _, d := range drafts {
			waiting = append(waiting, d.selectVersions(answers, opts)...)
		}
		dates := ask.published(waiting)
		for k, d := range dates {
			answers[providerKey{k.tool, k.want.Addr}].learn(k.want.Version, d)
		}
		again = len(dates) > 0
	}
}

// date is what is known of when a release was published.
type date struct {
	at  time.Time
	err error
}

// lost reports whether the date is not known for a failure: then it would be known
// on another day. A source that has none may say so by any other error.
func (d date) lost() bool {
	return provider.Coded(d.err, provider.CodeUnreachable) || provider.Coded(d.err, provider.CodeCancelled)
}

// learn remembers when a release was published.
func (l *listing) learn(v provider.Version, d date) {
	if l.dated == nil {
		l.dated, l.unheard = map[provider.Version]bool{}, map[provider.Version]error{}
	}
	l.dated[v] = true
	switch {
	case d.lost():
		l.unheard[v] = d.err
		return
	case d.err != nil || d.at.IsZero():
		l.undated++
		return
	}
	for i := range l.releases {
		if l.releases[i].Version == v {
			l.releases[i].Published = d.at
		}
	}
}

// selectVersions makes the choices that are not made yet, and returns the
// releases whose dates the others wait for.
func (d *draft) selectVersions(answers map[providerKey]*listing, opts Options) []packageKey {
	var waiting []packageKey
	for _, c := range d.choices {
		if c.decided || c.ignored {
			continue
		}
		q := providerKey{d.module.Tool, c.Requirement.Addr}
		c.choose(answers[q], opts)
		c.decided = c.undated.IsZero()
		if !c.decided {
			waiting = append(waiting, packageKey{q.tool, provider.Want{Addr: q.addr, Version: c.undated}})
		}
	}
	return waiting
}

func (c *choice) choose(l *listing, opts Options) {
	c.listed, c.undated, c.notices = l.releases, provider.Version{}, nil
	c.unheard, c.methods = l.err, l.methods
	if c.Err = l.err; c.Err != nil {
		return
	}
	constraints := c.Requirement.Constraints()
	b := opts.behaviour()
	switch {
	case c.sides != nil:
		c.release, c.Err = c.settleVersion(constraints, l, opts)
	case b.keepsVersions && c.isLock:
		c.release, c.Err = c.stays(constraints, l, opts)
	case b.keepsVersions && !c.carried.IsZero():
		c.release, c.Err = c.carry(constraints, l, opts)
	default:
		c.release, c.Err = c.newest(constraints, l, opts)
	}
	if c.Err != nil {
		return
	}
	c.To = c.release.Version
	c.gone = c.isLock && b.keepsWithdrawn && c.To == c.From && c.lockedRelease() == nil
	c.Published = c.release.Published
	c.Warnings = c.release.Warnings
	if b.tellsHeld {
		c.Held = c.held(constraints)
	} else if opts.Newer {
		c.tellNewer(constraints, l, opts)
	}
}

// tellNewer notes the release that an upgrade would select, where it is newer. A date
// that nobody has told is not asked for, since nothing depends on it.
func (c *choice) tellNewer(constraints provider.Constraints, l *listing, opts Options) {
	would := *c
	r, err := would.newest(constraints, l, opts)
	if err == nil && would.undated.IsZero() && r.Version.Precedence(c.To) > 0 {
		c.Held = []Held{{Version: r.Version, Reason: HeldByLock, Published: r.Published}}
	}
}

// stays keeps the locked version. One that is not offered any more fails under
// Exact, and else stays for keep to decide about.
func (c *choice) stays(constraints provider.Constraints, l *listing, opts Options) (provider.Release, error) {
	release, err := stay(c.Requirement.Addr, c.From, constraints, l)
	if err != nil && opts.behaviour().keepsWithdrawn && constraints.Allows(c.From) {
		return provider.Release{Version: c.From}, nil
	}
	return release, err
}

// carry takes the version over that the provider had on the other registry. If
// it cannot be had here, OpenTofu fails, and we select anew.
func (c *choice) carry(constraints provider.Constraints, l *listing, opts Options) (provider.Release, error) {
	release, err := stay(c.Requirement.Addr, c.carried, constraints, l)
	if err != nil && opts.behaviour().reselects {
		return c.newest(constraints, l, opts)
	}
	return release, err
}

// stay keeps a locked version, which must be allowed and still be offered:
// providers lock fails otherwise.
func stay(addr provider.Addr, locked provider.Version, constraints provider.Constraints, l *listing) (provider.Release, error) {
	if !constraints.Allows(locked) {
		return provider.Release{}, &provider.Error{
			Code: provider.CodeLockedVersion, Host: addr.Host, Addr: addr, Version: locked,
			Message: fmt.Sprintf("the locked version %s of %s does not meet the constraints %s", locked, addr, constraints),
			Hint:    "run relock upgrade to select another version",
		}
	}
	i := slices.IndexFunc(l.releases, func(r provider.Release) bool { return r.Version == locked })
	if i < 0 {
		return provider.Release{}, l.methods.notOffered(addr, locked)
	}
	return l.releases[i], nil
}

// newest returns the newest release that the constraints and the rules allow.
// Platforms and protocols play no part, as in the tools.
func (c *choice) newest(constraints provider.Constraints, l *listing, opts Options) (provider.Release, error) {
	var allowed []provider.Release
	for _, r := range l.releases {
		if constraints.Allows(r.Version) {
			allowed = append(allowed, r)
		}
	}
	if locked, ok := c.withdrawn(allowed, opts); ok {
		allowed = append(allowed, locked)
	}
	if len(allowed) == 0 {
		return provider.Release{}, noVersion(c.Requirement, constraints, l)
	}
	locked := cmp.Or(c.From, c.carried)
	preference := func(a, b provider.Release) int { return preferred(a.Version, b.Version, locked) }
	if len(c.policy.rules) == 0 {
		return slices.MaxFunc(allowed, preference), nil
	}
	slices.SortFunc(allowed, func(a, b provider.Release) int { return preference(b, a) })
	return c.obedient(allowed, locked, l, opts)
}

// obedient returns the first of the releases that no rule holds, and may find
// that it has to know the date of one before. The releases are those that the
// constraints allow, the newest first.
//
// A rule must not bring a version down: none below the locked one is looked at,
// unless the constraints leave nothing else. If the rules leave no release at
// all, as may happen where there is no locked version or it cannot stay, the
// first one is selected all the same, since the tools refuse to work without an
// entry that meets the constraints; people are told. It fails where a date decides
// that could not be asked for: what rules say of releases without a date is not
// meant for those.
func (c *choice) obedient(allowed []provider.Release, locked provider.Version, l *listing, opts Options) (provider.Release, error) {
	c.policy.locked = provider.Version{}
	if slices.ContainsFunc(allowed, func(r provider.Release) bool { return r.Version == locked }) {
		c.policy.locked = locked
	}
	picked := allowed[0]
	for i, r := range allowed {
		if i > 0 && r.Version.Precedence(locked) < 0 {
			break
		}
		h := c.policy.judge(r)
		byDate := (h.Reason == "" || h.Reason == HeldByAge) && c.policy.aging(r) != nil
		if byDate && opts.Dates != nil && c.policy.needsDate(r, l) {
			c.undated = r.Version
			return r, nil
		}
		if err := l.unheard[r.Version]; byDate && r.Version != c.policy.locked && err != nil {
			c.unheard = err
			return r, err
		}
		if h.Reason == "" {
			picked = r
			break
		}
	}
	c.noteDisobedience(picked, locked)
	return picked, nil
}

// noteDisobedience remembers that a release is selected against the rules.
func (c *choice) noteDisobedience(r provider.Release, locked provider.Version) {
	p := c.policy
	p.locked = locked
	h := p.judge(r)
	if h.Reason == "" {
		return
	}
	addr, rule := c.Requirement.Addr, "a rule"
	if h.Rule != "" {
		rule += " (" + h.Rule + ")"
	}
	c.notices = append(c.notices, &provider.Error{
		Code: provider.CodePolicy, Host: addr.Host, Addr: addr, Version: r.Version,
		Message: fmt.Sprintf("%s %s is selected though %s holds it: without it no version would meet the constraints", addr, r.Version, rule),
	})
}

// preferred compares two versions by which is to be selected. Releases that
// differ in build metadata alone have one precedence, and the tools pick one by
// chance; here the locked one wins, then one without metadata, then the bytewise
// greatest.
func preferred(v, w, locked provider.Version) int {
	return cmp.Or(
		v.Precedence(w),
		claim(v == locked, w == locked),
		claim(v.Metadata == "", w.Metadata == ""),
		cmp.Compare(v.Metadata, w.Metadata),
	)
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

func noVersion(r scan.Requirement, constraints provider.Constraints, l *listing) error {
	err := &provider.Error{
		Code: provider.CodeNoVersion, Host: l.methods.host(r.Addr), Addr: r.Addr,
		Message: fmt.Sprintf("no release of %s meets the constraints %q", r.Addr, constraints),
		Hint:    "no release at all is listed" + cmp.Or(l.methods.by(), " by the registry"),
	}
	if len(l.releases) == 0 {
		return err
	}
	top := slices.MaxFunc(l.releases, func(a, b provider.Release) int { return a.Version.Compare(b.Version) }).Version
	err.Hint = fmt.Sprintf("the newest release%s is %s", l.methods.of(), top)
	if t, ok := excluding(r, top); ok {
		err.Hint += fmt.Sprintf("; %q at %s excludes it", t.Constraint, place(t))
	} else if top.Prerelease != "" {
		err.Hint += ", a prerelease, which only an exact constraint selects"
	}
	return err
}

func place(t scan.Term) string { return fmt.Sprintf("%s:%d", t.File, t.Line) }

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

// held explains why no newer release was selected: for each reason the newest
// release that it holds, the newest first. Where the constraints exclude a
// release, what the rules say of it is not told.
func (c *choice) held(constraints provider.Constraints) []Held {
	var newer []provider.Release
	for _, r := range c.listed {
		if r.Version.Prerelease == "" && r.Version.Precedence(c.To) > 0 {
			newer = append(newer, r)
		}
	}
	slices.SortFunc(newer, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	var all []Held
	told := map[Reason]bool{"": true}
	for _, r := range newer {
		h := Held{Reason: HeldByConstraint}
		if constraints.Allows(r.Version) {
			h = c.policy.judge(r)
		}
		if told[h.Reason] {
			continue
		}
		told[h.Reason] = true
		if h.Reason == HeldByConstraint {
			h = c.heldByConstraint(r, newer)
		}
		all = append(all, h)
	}
	return all
}

// heldByConstraint names the terms that exclude the newest release that the
// constraints do not allow. The one that decides is that which excludes the
// oldest such release above the selected one. The releases are newest first.
func (c *choice) heldByConstraint(top provider.Release, newer []provider.Release) Held {
	h := Held{Version: top.Version, Reason: HeldByConstraint, Published: top.Published}
	for _, r := range slices.Backward(newer) {
		if t, ok := excluding(c.Requirement, r.Version); ok {
			h.Term = t
			break
		}
	}
	for _, t := range c.Requirement.Terms {
		if t != h.Term && excludes(t, top.Version) {
			h.Others = append(h.Others, t)
		}
	}
	return h
}

// heldByPackage notes that the selected release is newer than the locked one and
// stays out of the lock file for what its packages are.
func (c *choice) heldByPackage(err error) {
	if !c.isLock || c.To.Precedence(c.From) <= 0 {
		return
	}
	h := Held{Version: c.To, Published: c.Published}
	switch {
	case provider.Coded(err, provider.CodeNoPackage):
		h.Reason = HeldByPlatform
	case provider.Coded(err, provider.CodeProtocol):
		h.Reason = HeldByProtocol
	default:
		return
	}
	c.Held = append(c.Held, h)
}

// serving returns the newest release before the selected one that the
// constraints allow and that serves all the platforms; zero if none does, or if
// the source does not say what releases serve.
func (c *choice) serving(platforms []provider.Platform) provider.Version {
	constraints := c.Requirement.Constraints()
	var best provider.Version
	for _, r := range c.listed {
		older := r.Version.Precedence(c.To) < 0 && r.Version.Precedence(best) > 0 && constraints.Allows(r.Version)
		if older && !slices.ContainsFunc(platforms, func(p provider.Platform) bool { return !slices.Contains(r.Platforms, p) }) {
			best = r.Version
		}
	}
	return best
}
