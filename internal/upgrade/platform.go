package upgrade

import (
	"slices"

	"github.com/relock-dev/relock/internal/provider"
)

// platforms resolves "auto" for every draft.
func (p *planner) platforms(drafts []*draft) {
	if p.opts.Platforms.All || len(p.opts.Platforms.List) > 0 {
		for _, d := range drafts {
			d.platforms = p.opts.Platforms
		}
		return
	}
	rounds := []func(*choice) []provider.Platform{likely, published}
	known := map[packageKey]evidence{}
	for _, candidates := range rounds {
		var asked []packageKey
		for _, d := range drafts {
			asked = append(asked, d.probes(known, candidates)...)
		}
		for k, e := range p.packages(asked) {
			known[k] = e
		}
	}
	for _, d := range drafts {
		d.platforms = d.recover(known)
	}
}

// A lock file does not name its platforms: they are recovered by hashing the
// packages of a locked version and looking for the results in the entry. One
// entry is enough, the one with the most h1 hashes; among equals one whose
// version stays, since its packages are wanted anyway. One whose platforms a rule
// names says nothing of the others.
func (d *draft) witness() *choice {
	var best *choice
	for _, c := range d.choices {
		if c.Err != nil || !c.isLock || len(c.platforms) > 0 || c.lockedRelease() == nil || countH1(c) == 0 {
			continue
		}
		if best == nil || countH1(c) > countH1(best) || countH1(c) == countH1(best) && c.stays() && !best.stays() {
			best = c
		}
	}
	return best
}

func (c *choice) stays() bool { return c.From == c.To }

func countH1(c *choice) int { return len(h1(c.locked.Hashes)) }

func h1(hashes []provider.Hash) []provider.Hash {
	return slices.DeleteFunc(slices.Clone(hashes), func(h provider.Hash) bool { return h.Scheme() != provider.SchemeH1 })
}

// lockedRelease is what the registry says of the locked version; nil if it is
// not offered any more.
func (c *choice) lockedRelease() *provider.Release {
	i := slices.IndexFunc(c.listed, func(r provider.Release) bool { return r.Version == c.From })
	if i < 0 {
		return nil
	}
	return &c.listed[i]
}

// likely are the platforms that most lock files cover.
func likely(c *choice) []provider.Platform { return provider.DefaultPlatforms }

// published are all platforms that the locked release is said to serve.
func published(c *choice) []provider.Platform { return c.lockedRelease().Platforms }

// probes lists the packages that would say which platform the h1 hashes of the
// witness belong to. Nothing is asked if the count alone answers, or once every
// hash has found its platform.
func (d *draft) probes(known map[packageKey]evidence, candidates func(*choice) []provider.Platform) []packageKey {
	c := d.witness()
	if c == nil || d.coversAll() || len(d.covered(c, known)) >= countH1(c) {
		return nil
	}
	var asked []packageKey
	for _, platform := range candidates(c) {
		k := d.key(c, c.From, platform)
		if _, ok := known[k]; !ok {
			asked = append(asked, k)
		}
	}
	return asked
}

// coversAll reports whether every entry has as many h1 hashes as its release
// serves platforms, so that the lock file is meant to cover all of them.
func (d *draft) coversAll() bool {
	several := false
	for _, c := range d.choices {
		if !c.isLock || c.Err != nil || len(c.platforms) > 0 {
			continue
		}
		r := c.lockedRelease()
		if r == nil || len(r.Platforms) == 0 || countH1(c) < len(r.Platforms) {
			return false
		}
		several = several || len(r.Platforms) > 1
	}
	return several
}

// covered are the platforms whose packages the entry has an h1 of, either
// computed or reported by the registry for another platform's package.
func (d *draft) covered(c *choice, known map[packageKey]evidence) []provider.Platform {
	var covered []provider.Platform
	for _, platform := range slices.Concat(likely(c), published(c)) {
		e := known[d.key(c, c.From, platform)]
		if e.err == nil && (slices.Contains(c.locked.Hashes, e.hashes.H1) || slices.Contains(c.locked.Hashes, e.hashes.H1Zip)) {
			covered = append(covered, platform)
		}
		for reported, hashes := range e.hashes.Reported {
			if slices.ContainsFunc(h1(hashes), func(h provider.Hash) bool { return slices.Contains(c.locked.Hashes, h) }) {
				covered = append(covered, reported)
			}
		}
	}
	slices.SortFunc(covered, provider.Platform.Compare)
	return slices.Compact(covered)
}

// recover decides the platforms of a root module. One platform alone is
// likely the machine of whoever ran init last, not a choice: the default list
// joins it.
func (d *draft) recover(known map[packageKey]evidence) Platforms {
	c := d.witness()
	if c == nil {
		return Platforms{List: provider.DefaultPlatforms}
	}
	if d.coversAll() {
		return Platforms{All: true}
	}
	covered := d.covered(c, known)
	if len(covered) < 2 {
		covered = append(slices.Clone(provider.DefaultPlatforms), covered...)
		slices.SortFunc(covered, provider.Platform.Compare)
		covered = slices.Compact(covered)
	}
	return Platforms{List: covered}
}
