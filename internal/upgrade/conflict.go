package upgrade

import (
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
)

// A conflicted lock file has the two sides of a merge. Most of its entries are the same on
// both sides, and are planned like any other. A disputed entry differs. It is planned
// again:
//
//   - Its version is the preferred side's, if the configuration allows it and it is offered.
//     Else the other side's, else the newest release, as for a provider without an entry.
//     The preferred side has the newer version, unless only one side has moved it: a
//     version goes down only if somebody asks for it.
//   - Its constraints are those of the configuration, as always.
//   - Its hashes are those that its packages and verified lists prove, on all platforms
//     that either side covers. The recorded hashes are only compared with them: the text
//     that git merged does not say which version a hash belongs to.
//
// If that fails, the lock file keeps its markers: there is no old entry to keep.

// settled is the root module without the problem of its conflicted lock file. Each disputed
// entry becomes required. If nothing required it, its old entry would stay, and it has
// none.
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

// withoutConflictOfModules is the root module without the problem of its conflicted lock file
// of modules. The packages of disputed entries were asked for again.
func withoutConflictOfModules(m scan.RootModule) scan.RootModule {
	if m.ModuleLock == nil {
		return m
	}
	if conflict, conflicted := m.ModuleLock.Conflicted(); conflicted {
		m.Tree.Diagnostics = collect.Those(m.Tree.Diagnostics, func(d problem.Problem) bool { return d != conflict })
	}
	return m
}

// disputed reports whether the sides of a merge differ about a provider.
func disputed(m scan.RootModule, addr provider.Addr) bool {
	return m.Lock != nil && m.Lock.Disputed[addr] != nil
}

// chooseSide decides which side of a disputed entry counts. It selects that side's release
// and adds a notice.
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
