package upgrade

import (
	"fmt"
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// covered is a chosen provider with the packages that its entry is made of.
type covered struct {
	chosen
	named    []provider.Platform // platforms that are asked for by name
	packages []packageKey        // in order of wanting
	complete bool                // the old entry covers what is wanted
	kept     bool                // and stays as it is
	notices  []error
	err      error
}

// packages says of the providers of a root module what their entries are made of.
func (v coverage) packages(choices []chosen, opts Options, b behaviour) []covered {
	all := make([]covered, len(choices))
	for i, c := range choices {
		e := covered{chosen: c, named: v.named(c.wanted), kept: c.idle, notices: c.notices, err: c.err}
		e.complete = v.complete(c.wanted, c.old, choices)
		if e.err == nil {
			e.err = v.doubts[c.addr()]
		}
		if e.err == nil && c.gone {
			e.kept, e.notices, e.err = e.withdrawn()
		}
		if e.err == nil && !e.kept {
			e.packages = e.wants(v, opts, b)
		}
		all[i] = e
	}
	return all
}

// wants lists the packages that the new entry must cover: under Exact that of the
// platform of init comes first. init follows the methods on its one platform, and
// providers lock asks the registries.
func (c covered) wants(v coverage, opts Options, b behaviour) []packageKey {
	platforms := c.named
	if v.All && len(platforms) == 0 {
		platforms = slices.Clone(servedOf(c.release, provider.DefaultPlatforms))
		for _, p := range v.own[c.addr()] {
			if !slices.Contains(platforms, p) {
				platforms = append(platforms, p)
			}
		}
	}
	if c.initAlone {
		platforms = platforms[:min(1, len(platforms))]
	}
	var keys []packageKey
	for i, p := range platforms {
		methods, origin := opts.HashesFrom != FromOrigin, opts.HashesFrom == FromOrigin || opts.HashesFrom == FromBoth
		switch b.packages {
		case fromMethodsFirst:
			methods, origin = i == 0, true
		case fromOrigins:
			methods, origin = false, true
		}
		k := c.key(c.to, p)
		if methods {
			keys = append(keys, k)
		}
		if k.want.Origin = true; origin && !c.initAlone {
			keys = append(keys, k)
		}
	}
	return keys
}

// withdrawn decides about a locked version that is selected but not offered. If its
// own registry lists one no more, a person must look. A mirror may never have had
// it, and a registry that does not know the provider has listed nothing: then the
// entry is as good as before, unless something of it is missing.
func (c covered) withdrawn() (kept bool, notices []error, failure error) {
	methods := c.offered.methods
	err := methods.notOffered(c.addr(), c.old.Version)
	var best provider.Version
	for _, r := range c.offered.releases {
		if c.constraints.Allows(r.Version) && r.Version.Precedence(best) > 0 {
			best = r.Version
		}
	}
	switch down := best.Precedence(c.old.Version) < 0; { // the command that moves it
	case best.IsZero():
		err.Hint = "change the constraints: they allow no version that is offered"
	case down && !methods.complete():
		err.Hint = fmt.Sprintf("it does not go down to %s before each of these has listed what it offers: add the provider there, or exclude it there in the CLI configuration", best)
	case down:
		err.Hint = fmt.Sprintf("ask its publisher why; relock upgrade --provider %s --allow-downgrade moves it to %s", c.addr().Short(), best)
	default:
		err.Hint = fmt.Sprintf("ask its publisher why; relock upgrade --provider %s moves it to %s, unless a rule holds that", c.addr().Short(), best)
	}
	switch {
	case slices.ContainsFunc(methods, func(m provider.Method) bool { return m.Listed && !m.Mirror }):
		err.Message += " and kept: a version goes down only by request"
	case !c.complete:
		err.Message += ", so that its missing hashes cannot be had"
	default:
		err.Message += ", and kept"
		kept = true
	}
	if unknown := methods.unlisted(); unknown != "" {
		err.Message += "; the provider is unknown to the " + unknown
	}
	if kept {
		return true, append(slices.Clone(c.notices), err), nil
	}
	return false, c.notices, err
}

// former names a package of the release that the entry leaves, most likely the one
// that Selection.former will name.
func (c covered) former() (k packageKey, ok bool) {
	if len(c.packages) == 0 || !c.isLock || c.old.Version == c.to {
		return k, false
	}
	first := slices.MinFunc(c.packages, func(k, l packageKey) int { return k.want.Platform.Compare(l.want.Platform) })
	return c.key(c.old.Version, first.want.Platform), true
}
