package upgrade

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// selectVersions decides the version of every choice.
func (d *draft) selectVersions(answers map[question]listing, opts Options) {
	for _, c := range d.choices {
		answer := answers[question{d.module.Tool, c.Requirement.Addr}]
		if answer.err != nil {
			c.Err = answer.err
			continue
		}
		c.choose(answer.releases, opts)
	}
}

func (c *choice) choose(releases []provider.Release, opts Options) {
	c.listed = releases
	constraints := c.Requirement.Constraints()
	switch {
	case opts.Mode == Complete && c.isLock:
		c.release, c.Err = stay(c.Requirement.Addr, c.locked.Version, constraints, releases)
	case opts.Mode == Complete && !c.carried.IsZero():
		c.release, c.Err = c.carry(constraints, releases, opts)
	default:
		c.release, c.Err = newest(c.Requirement, constraints, releases, c.From)
	}
	if c.Err != nil {
		return
	}
	c.To = c.release.Version
	c.Published = c.release.Published
	c.Warnings = c.release.Warnings
	if opts.Mode == Upgrade {
		c.Held = held(c.Requirement, releases, c.To)
	}
}

// carry takes the version over that the provider had on the other registry. If
// it cannot be had here, OpenTofu fails, and we select anew.
func (c *choice) carry(constraints provider.Constraints, releases []provider.Release, opts Options) (provider.Release, error) {
	release, err := stay(c.Requirement.Addr, c.carried, constraints, releases)
	if err != nil && !opts.Exact {
		return newest(c.Requirement, constraints, releases, provider.Version{})
	}
	return release, err
}

// stay keeps a locked version, which must be allowed and still be offered:
// providers lock fails otherwise.
func stay(addr provider.Addr, locked provider.Version, constraints provider.Constraints, releases []provider.Release) (provider.Release, error) {
	if !constraints.Allows(locked) {
		return provider.Release{}, &provider.Error{
			Code: provider.CodeLockedVersion, Host: addr.Host, Addr: addr, Version: locked,
			Message: fmt.Sprintf("the locked version %s of %s does not meet the constraints %s", locked, addr, constraints),
			Hint:    "run relock upgrade to select another version",
		}
	}
	i := slices.IndexFunc(releases, func(r provider.Release) bool { return r.Version == locked })
	if i < 0 {
		return provider.Release{}, &provider.Error{
			Code: provider.CodeLockedVersion, Host: addr.Host, Addr: addr, Version: locked,
			Message: fmt.Sprintf("the locked version %s of %s is no longer offered", locked, addr),
			Hint:    "run relock upgrade to select another version",
		}
	}
	return releases[i], nil
}

// newest returns the newest allowed release. Platforms and protocols play no
// part, as in the tools. Releases that differ in build metadata alone have one
// precedence, and the tools pick one by chance; here the locked one wins, then
// one without metadata, then the bytewise greatest.
func newest(r scan.Requirement, constraints provider.Constraints, releases []provider.Release, locked provider.Version) (provider.Release, error) {
	var best provider.Release
	for _, candidate := range releases {
		if constraints.Allows(candidate.Version) && (best.Version.IsZero() || preferred(candidate.Version, best.Version, locked)) {
			best = candidate
		}
	}
	if best.Version.IsZero() {
		return best, noVersion(r, constraints, releases)
	}
	return best, nil
}

func preferred(v, best, locked provider.Version) bool {
	if c := v.Precedence(best); c != 0 {
		return c > 0
	}
	return cmp.Or(
		claim(v == locked, best == locked),
		claim(v.Metadata == "", best.Metadata == ""),
		cmp.Compare(v.Metadata, best.Metadata),
	) > 0
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

func noVersion(r scan.Requirement, constraints provider.Constraints, releases []provider.Release) error {
	err := &provider.Error{
		Code: provider.CodeNoVersion, Host: r.Addr.Host, Addr: r.Addr,
		Message: fmt.Sprintf("no release of %s meets the constraints %q", r.Addr, constraints),
		Hint:    "the registry lists no release at all",
	}
	if len(releases) == 0 {
		return err
	}
	top := slices.MaxFunc(releases, func(a, b provider.Release) int { return a.Version.Compare(b.Version) }).Version
	err.Hint = fmt.Sprintf("the newest release is %s", top)
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
		if t.Constraint.Op != 0 && !t.Constraint.Meets(v) {
			return t, true
		}
	}
	return scan.Term{}, false
}

// held explains why the newest release of all was not selected. The deciding
// term is the one that excludes the oldest release above the selected one: to
// get any further, that one has to change first.
func held(r scan.Requirement, releases []provider.Release, to provider.Version) []Held {
	var newer []provider.Release
	for _, rel := range releases {
		if rel.Version.Prerelease == "" && rel.Version.Precedence(to) > 0 {
			newer = append(newer, rel)
		}
	}
	if len(newer) == 0 {
		return nil
	}
	byVersion := func(a, b provider.Release) int { return a.Version.Compare(b.Version) }
	next := slices.MinFunc(newer, byVersion)
	top := slices.MaxFunc(newer, byVersion)
	t, ok := excluding(r, next.Version)
	if !ok { // only 0.0.0 or build metadata can be the reason
		return nil
	}
	return []Held{{Version: top.Version, Reason: HeldByConstraint, Published: top.Published, Term: t}}
}
