package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// A lock file does not name its platforms: they are recovered by hashing the
// packages of locked versions and looking for the results among the h1 hashes of
// the entries.
//
// The entries of one lock file are taken to be made for the same platforms, and
// one that covers fewer to be made on fewer machines. So the entry with the most
// h1 hashes tells of all of them. Another one is asked about if it has more than
// those give it, and if it is about to lose its hashes, since its version moves: no
// platform that an entry covers may get lost unseen. What its release's packages
// hash to is known from the run that locked them, if the hash cache was kept. If it
// was not, mostProven old packages are downloaded where the number of hashes says
// that the platforms are those of the others; beyond that the number is believed
// while nothing speaks against it, and a warning says so.
//
// A platform that another entry evidently does without, though it covers no fewer
// and its release serves the platform, stays with the entries that have it.
//
// A failure is no answer. Another entry may tell instead; where none does, those
// stay as they are whose platforms the failure leaves open.

// coverage is which platforms the new entries of a root module must cover.
type coverage struct {
	Platforms // resolved: All or a List
	auto      bool
	// own are those that an old entry covers besides, and doubts why it is not known
	// what a new one must.
	own    map[provider.Addr][]provider.Platform
	doubts map[provider.Addr]error
	// assumed are the entries whose old platforms only the number of their hashes tells.
	assumed []witness
}

// choosePlatforms resolves "auto" for every root module.
func choosePlatforms(roots []root, choices [][]chosen, b behaviour, world asker) []coverage {
	covers := make([]coverage, len(roots))
	if b.Platforms.All || len(b.Platforms.List) > 0 {
		for i := range covers {
			covers[i].Platforms = b.Platforms
		}
		return covers
	}
	// The source may remember what the packages of releases are that are left. It is
	// asked at once about those that new entries are made of, whatever the platforms.
	var releases []ask.Question
	recoveries := make([]recovery, len(roots))
	for i := range roots {
		told := witnesses(choices[i])
		if everywhere(choices[i]) {
			covers[i] = coverage{Platforms: Platforms{All: true}, auto: true, own: map[provider.Addr][]provider.Platform{}}
			for _, c := range choices[i] {
				if old := c.offered.release(c.old.Version); c.isLock && old != nil {
					covers[i].own[c.addr()] = old.Platforms // one that the new release lacks is missing then
				}
			}
		} else {
			recoveries[i] = recovery{told, map[provider.Addr]bool{}}
			for _, w := range told {
				if w.moves && !w.lost {
					releases = append(releases, w.key(w.old.Version, w.candidates()[0]))
				}
			}
		}
		if len(told) > 1 || len(told) == 1 && told[0].moves {
			for _, c := range choices[i] { // the likeliest platform that the release is known to serve
				n := slices.IndexFunc(likely, func(p provider.Platform) bool { return slices.Contains(c.release.Platforms, p) })
				if c.err == nil && !c.gone && n >= 0 {
					releases = append(releases, c.key(c.to, likely[n]))
				}
			}
		}
	}
	known := world.remembered(releases)
	proofs := map[ask.Question]bool{}
	for {
		var asked []ask.Question
		for _, r := range recoveries {
			asked = append(asked, r.next(known, proofs)...)
		}
		if len(asked) == 0 {
			break
		}
		maps.Copy(known, world.packages(asked, nil))
	}
	for i, r := range recoveries {
		if covers[i].All {
			continue
		}
		found := r.read(known)
		list := found.covered
		if len(list) < 2 {
			// One platform alone is likely the machine of whoever ran init last, not a choice:
			// the default list joins it.
			list = slices.Concat(provider.DefaultPlatforms, list)
			slices.SortFunc(list, provider.Platform.Compare)
			list = slices.Compact(list)
		}
		covers[i] = coverage{Platforms: Platforms{List: list}, auto: true, own: found.own, doubts: found.doubts(choices[i]), assumed: found.assumed}
	}
	return covers
}

// everywhere reports whether the lock file is meant to cover whatever its releases
// serve: every entry has as many h1 hashes as its release serves platforms.
func everywhere(choices []chosen) bool {
	several := false
	for _, c := range choices {
		if !c.isLock || len(c.ownPlatforms) > 0 || c.err != nil && c.unheard == nil {
			continue
		}
		w := witnessOf(c, c.old)
		if w.release == nil || !w.release.Closed() || len(w.h1) < len(w.release.Platforms) {
			return false
		}
		several = several || len(w.release.Platforms) > 1
	}
	return several
}

// named are the platforms that are asked for by name; none where the release
// says which.
func (v coverage) named(w *wanted) []provider.Platform {
	own := v.own[w.addr()]
	switch {
	case len(w.ownPlatforms) > 0:
		return w.ownPlatforms
	case v.All:
		return nil
	case len(own) > 0:
		return slices.SortedFunc(slices.Values(slices.Concat(v.List, own)), provider.Platform.Compare)
	}
	return v.List
}

// complete reports whether the old entry has an h1 for every platform that is
// wanted, as far as their number tells: which of them an h1 belongs to, only the
// packages say. Where no other entry tells which platforms are meant, those of
// this one are, if they are more than one machine's.
func (v coverage) complete(w *wanted, old lockfile.Lock, choices []chosen) bool {
	count, platforms := len(h1(old.Hashes)), len(v.named(w))
	switch {
	case v.auto && len(w.ownPlatforms) == 0 && (platforms == 0 || len(witnesses(choices)) == 0):
		return count > 1
	case platforms == 0: // all that the release serves
		return false
	}
	return count >= platforms
}

// covered is a chosen provider with the packages that its entry is made of.
type covered struct {
	chosen
	named    []provider.Platform // platforms that are asked for by name
	packages []ask.Question      // in order of wanting
	complete bool                // the old entry covers what is wanted
	kept     bool                // and stays as it is
}

// packages says of the providers of a root module what their entries are made of.
// Under Exact the package of the platform of init comes first: init follows the
// methods on its one platform, and providers lock asks the registries.
func (v coverage) packages(choices []chosen, b behaviour) []covered {
	all := make([]covered, len(choices))
	for i, c := range choices {
		e := &all[i]
		*e = covered{chosen: c, named: v.named(c.wanted), kept: c.idle}
		e.err = cmp.Or(c.err, v.doubts[c.addr()])
		e.complete = v.complete(c.wanted, c.old, choices)
		if e.err == nil && c.gone {
			e.kept, e.notices, e.err = e.withdrawn()
		}
		if e.err != nil || e.kept {
			continue
		}
		platforms := e.named
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
		for i, p := range platforms {
			methods, origin := b.HashesFrom != FromOrigin, b.HashesFrom == FromOrigin || b.HashesFrom == FromBoth
			switch b.packages {
			case fromMethodsFirst:
				methods, origin = i == 0 && !c.lockAlone, true
			case fromOrigins:
				methods, origin = false, true
			}
			k := c.key(c.to, p)
			if methods {
				e.packages = append(e.packages, k)
			}
			k.Want.Origin = true
			if origin && !c.initAlone {
				e.packages = append(e.packages, k)
			}
		}
	}
	return all
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
		err.Problem.Hint = "change the constraints: they allow no version that is offered"
	case down && !methods.complete():
		err.Problem.Hint = fmt.Sprintf("it does not go down to %s before each of these has listed what it offers: add the provider there, or exclude it there in the CLI configuration", best)
	case down:
		err.Problem.Hint = fmt.Sprintf("ask its publisher why; relock upgrade --provider %s --allow-downgrade moves it to %s", c.addr().Short(), best)
	default:
		err.Problem.Hint = fmt.Sprintf("ask its publisher why; relock upgrade --provider %s moves it to %s, unless a rule holds that", c.addr().Short(), best)
	}
	switch {
	case slices.ContainsFunc(methods, func(m provider.Method) bool { return m.Listed && !m.Mirror }):
		err.Problem.Message += " and kept: a version goes down only by request"
	case !c.complete:
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

// former names a package of the release that the entry leaves, most likely the one
// that Selection.former will name.
func (c covered) former() []ask.Question {
	if len(c.packages) == 0 || !c.isLock || c.old.Version == c.to {
		return nil
	}
	first := slices.MinFunc(c.packages, func(k, l ask.Question) int { return k.Want.Platform.Compare(l.Want.Platform) })
	return []ask.Question{c.key(c.old.Version, first.Want.Platform)}
}
