package upgrade

import (
	"fmt"

	"github.com/relock-dev/relock/internal/provider"
)

// keep decides about locked versions that are selected but not offered. If its
// own registry lists one no more, a person must look. A mirror may never have had
// it, and a registry that does not know the provider has listed nothing: then the
// entry is as good as before, unless something of it is missing.
func (d *draft) keep(opts Options) {
	for _, c := range d.choices {
		if c.Err != nil || !c.gone {
			continue
		}
		err := c.offered.methods.notOffered(c.Requirement.Addr, c.From)
		err.Hint = c.wayDown()
		switch {
		case c.offered.methods.registry():
			err.Message += " and kept: a version goes down only by request"
			c.Err = err
		case !d.covers(c, opts):
			err.Message += ", so that its missing hashes cannot be had"
			c.Err = err
		default:
			err.Message += ", and kept"
			c.notices = append(c.notices, err)
			c.kept = true
		}
		if unknown := c.offered.methods.unlisted(); unknown != "" {
			err.Message += "; the provider is unknown to the " + unknown
		}
	}
}

// wayDown is the command that moves a version which is not offered any more.
func (c *choice) wayDown() string {
	constraints := c.Requirement.Constraints()
	var best provider.Version
	for _, r := range c.offered.releases {
		if constraints.Allows(r.Version) && r.Version.Precedence(best) > 0 {
			best = r.Version
		}
	}
	addr := c.Requirement.Addr
	switch {
	case best.IsZero():
		return "change the constraints: they allow no version that is offered"
	case best.Precedence(c.From) < 0 && !c.offered.methods.complete():
		return fmt.Sprintf("it does not go down to %s before each of these has listed what it offers: add the provider there, or exclude it there in the CLI configuration", best)
	case best.Precedence(c.From) < 0:
		return fmt.Sprintf("ask its publisher why; relock upgrade --provider %s --allow-downgrade moves it to %s", addr.Short(), best)
	}
	return fmt.Sprintf("ask its publisher why; relock upgrade --provider %s moves it to %s, unless a rule holds that", addr.Short(), best)
}

// covers reports whether the old entry has an h1 for every platform that is
// wanted, as far as their number tells: which of them an h1 belongs to, only the
// packages say. Where no other entry tells which platforms are meant, those of
// this one are, if they are more than one machine's.
func (d *draft) covers(c *choice, opts Options) bool {
	auto := !opts.Platforms.All && len(opts.Platforms.List)+len(c.ownPlatforms) == 0
	wanted := len(d.wanted(c))
	switch {
	case auto && (wanted == 0 || len(d.telling()) == 0):
		return countH1(c) > 1
	case wanted == 0: // all that the release serves
		return false
	}
	return countH1(c) >= wanted
}

// forgive lets a provider that the rules ignore stay as it is where it cannot be
// completed and covers what is wanted. It reports whether it does.
func (d *draft) forgive(c *choice, opts Options) bool {
	if !opts.behaviour().forgives || !c.mayStay || !d.covers(c, opts) {
		return false
	}
	c.notices = append(c.notices, c.Err)
	c.Err, c.kept = nil, true
	return true
}
