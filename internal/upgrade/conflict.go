package upgrade

import (
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// Where the lock file is made of the two sides of a merge, most entries are of one
// piece and planned like any other. A disputed one is planned anew:
//
//   - Its version is the preferred one of the two that the configuration allows and
//     that is offered; if there is none, the newest that is, as for a provider
//     without an entry. A version goes down by a wish only, so that is the newer
//     one, unless it is known that one side alone has moved it.
//   - Its constraints are those of the configuration, as always.
//   - Its hashes are those that its packages and verified lists prove, on all
//     platforms that either side covers. The recorded ones are only held against
//     them, as always: that a side had a hash says nothing of where git put it.
//
// If that fails the lock file keeps its markers: there is no old entry to keep.

// settled is the root module without what is wrong with a conflicted lock file,
// and with its disputed entries required: what nothing requires would keep its
// entry, and there is none that could be kept.
func settled(m scan.RootModule) scan.RootModule {
	conflict, conflicted := problem.Problem{}, false
	if m.Lock != nil {
		conflict, conflicted = m.Lock.Conflicted()
	}
	if !conflicted {
		return m
	}
	m.Tree.Diagnostics = collect.Those(m.Tree.Diagnostics, func(d problem.Problem) bool { return d != conflict })
	m.Tree.Requirements = supplemented(m.Tree.Requirements, collect.Those(scan.Recorded(m.Lock), func(r scan.Requirement) bool { return disputed(m, r.Addr) }))
	return m
}

// disputed reports whether the sides of a merge differ about a provider.
func disputed(m scan.RootModule, addr provider.Addr) bool {
	return m.Lock != nil && m.Lock.Disputed[addr] != nil
}

// chooseSide decides which side of a disputed entry counts, selects, and tells.
func chooseSide(c chosen, b behaviour) chosen {
	had, why := c.wanted.sides[0].Version.String(), ""
	if len(c.wanted.sides) > 1 {
		had += " and " + c.wanted.sides[1].Version.String()
	}
	i := slices.IndexFunc(c.wanted.sides, func(side lockfile.Lock) bool {
		_, err := c.stay(side.Version)
		return err == nil
	})
	if i >= 0 {
		c.old = c.wanted.sides[i]
		c.release, c.err = c.stay(c.old.Version)
	} else {
		c.old, why = c.wanted.sides[0], ", since neither is allowed and offered"
		c = c.newest(b)
	}
	if c.err == nil && (i < 0 || len(c.wanted.sides) > 1) {
		v := c.release.Version
		c.notices = append(c.notices, c.wanted.failure(problem.CodeConflict, v, "the sides of the merge lock %s %s: %s is selected%s", c.wanted.addr(), had, v, why))
	}
	return c
}
