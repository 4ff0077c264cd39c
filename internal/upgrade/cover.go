package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/coverage"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// coverRoots finds which platforms the new entries of each root module must cover.
func coverRoots(roots []root, choices [][]chosen, b behaviour, world asker) []coverage.Cover {
	if asked := b.options.Platforms; asked.All || len(asked.List) > 0 {
		if asked.All {
			asked.List = nil
		}
		return slices.Repeat([]coverage.Cover{coverage.Fixed(asked.List)}, len(roots))
	}
	files := make([]coverage.LockFile, len(roots))
	for i, r := range roots {
		files[i] = fileOf(r.module.Tool, choices[i])
	}
	recovery := coverage.Recover(files)
	known := world.remembered(recovery.Releases())
	for {
		next := recovery.Next(known)
		if len(next) == 0 {
			return recovery.Covers(known)
		}
		maps.Copy(known, world.packages(next, nil))
	}
}

// fileOf is the lock file of a root module in the form that coverage reads.
func fileOf(tool provider.Tool, choices []chosen) coverage.LockFile {
	return coverage.LockFile{Tool: tool, Renewals: collect.Mapped(choices, chosen.renewal)}
}

// renewal is the choice in the form that coverage reads.
func (c chosen) renewal() coverage.Renewal {
	e := coverage.Renewal{
		Addr: c.wanted.addr(), InLock: c.wanted.isLock, Old: c.offered.locked(c.old), Sides: collect.Mapped(c.wanted.sides, c.offered.locked), New: c.release, ByRule: c.wanted.ownPlatforms,
		Failed: c.err != nil, Gone: c.gone, Unheard: c.unheard,
	}
	e.Withdrawn = c.offered.methods.allListed()
	if c.wanted.isLock && e.Old.Release == nil {
		e.NotOffered = c.offered.methods.notOffered(c.wanted.addr(), c.old.Version)
	}
	return e
}

// locked is an entry with the platforms that are offered of its version.
func (o offered) locked(l lockfile.Lock) coverage.Locked {
	return coverage.Locked{Version: l.Version, H1: h1(l.Hashes), Release: o.release(l.Version)}
}

// covered is a chosen provider with the packages that its entry is made from.
type covered struct {
	chosen   chosen
	demand   coverage.Demand
	packages []ask.Question // in the order of the wanted platforms
	kept     bool           // the old entry stays as it is
	notices  []error
	err      error
}

// coverEach finds the packages that the new entries of a root module are made from.
func coverEach(r root, v coverage.Cover, choices []chosen, b behaviour) []covered {
	all := make([]covered, len(choices))
	f := fileOf(r.module.Tool, choices)
	told := f.Tells()
	for i, c := range choices {
		all[i] = c.covering(v.Of(f.Renewals[i], told), b)
	}
	return all
}

// covering adds the packages that cover the demand.
func (c chosen) covering(demand coverage.Demand, b behaviour) covered {
	e := covered{chosen: c, demand: demand, kept: c.idle, notices: c.notices, err: cmp.Or(c.err, demand.Err)}
	if e.err == nil && c.gone {
		e.kept, e.notices, e.err = e.withdrawn()
	}
	if e.err == nil && !e.kept {
		e.packages = c.needs(demand.Platforms, b)
	}
	return e
}

// needs are the packages that the new entry is made from. Under Exact the package of init's
// platform comes first: init follows the methods on its one platform, and providers lock
// asks the registries.
func (c chosen) needs(platforms []provider.Platform, b behaviour) []ask.Question {
	if c.wanted.initAlone {
		platforms = platforms[:min(1, len(platforms))]
	}
	var packages []ask.Question
	for i, p := range platforms {
		methods, origin := c.sources(i == 0, b)
		k := c.wanted.key(c.to, p)
		if methods {
			packages = append(packages, k)
		}
		if origin {
			k.Want.Origin = true
			packages = append(packages, k)
		}
	}
	return packages
}

// sources says whether a package comes from the installation methods, and whether from its
// origin.
func (c chosen) sources(first bool, b behaviour) (methods, origin bool) {
	switch b.packagesFrom {
	case fromMethodsFirst:
		return first && !c.wanted.lockAlone, !c.wanted.initAlone
	case fromOrigins:
		return false, true
	}
	from := b.options.HashesFrom
	return from != FromOrigin, from == FromOrigin || from == FromBoth
}

// withdrawn decides about a locked version that is selected but not offered. If its own
// registry has a list without it, a person must look. Otherwise the entry is kept, if it is
// complete: a mirror may never have had the version, and a registry that does not know the
// provider has listed nothing.
func (c covered) withdrawn() (kept bool, notices []error, failure error) {
	choice, w := c.chosen, c.chosen.wanted
	methods := choice.offered.methods
	err := methods.notOffered(w.addr(), choice.old.Version)
	var best provider.Version
	for _, r := range choice.allowed() {
		if r.Version.Precedence(best) > 0 {
			best = r.Version
		}
	}
	switch down := best.Precedence(choice.old.Version) < 0; { // the command that moves the version
	case best.IsZero():
		err.Problem.Hint = "change the constraints: they allow no version that is offered"
	case down && !methods.allListed():
		err.Problem.Hint = fmt.Sprintf("add the provider there, or exclude it there in the CLI configuration: it does not go down to %s before each of these has listed what it offers", best)
	case down:
		err.Problem.Hint = fmt.Sprintf("ask its publisher why; run `relock upgrade --provider %s --allow-downgrade`, which moves it to %s", w.addr().Short(), best)
	default:
		err.Problem.Hint = fmt.Sprintf("ask its publisher why; run `relock upgrade --provider %s`, which moves it to %s, unless a rule holds that", w.addr().Short(), best)
	}
	switch {
	case slices.ContainsFunc(methods, func(m provider.Method) bool { return m.Listed && !m.Mirror }):
		err.Problem.Message += " and kept: a version goes down only by request"
	case !c.demand.Complete:
		err.Problem.Message += ", so that its missing hashes cannot be had"
	default:
		err.Problem.Message += ", and kept"
		kept = true
	}
	if unknown := methods.unlisted(); unknown != "" {
		err.Problem.Message += "; the provider is unknown to the " + unknown
	}
	if kept {
		return true, append(slices.Clone(c.notices), err), nil
	}
	return false, c.notices, err
}

// former names a package of the release that the entry leaves. Selection.former will
// probably name the same package.
func (c covered) former() []ask.Question {
	if len(c.packages) == 0 || !c.chosen.wanted.isLock || c.chosen.old.Version == c.chosen.to {
		return nil
	}
	first := slices.MinFunc(c.packages, func(k, l ask.Question) int { return k.Want.Platform.Compare(l.Want.Platform) })
	return []ask.Question{c.chosen.wanted.key(c.chosen.old.Version, first.Want.Platform)}
}

// h1 are the hashes of the scheme h1.
func h1(hashes []provider.Hash) []provider.Hash {
	return collect.Those(hashes, func(h provider.Hash) bool { return h.Scheme() == provider.SchemeH1 })
}
