package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/coverage"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// proven is a covered provider with the hashes that its packages prove.
type proven struct {
	covered   covered
	selection Selection
	hashes    []provider.Hash // the hashes of the new entry
	kept      bool            // the old entry stays as it is
	notices   []error
}

// prove merges what the packages prove with the old entry. If the rules ignore a provider
// and its entry covers the wanted platforms, the entry stays as it is on a failure.
func prove(c covered, answers map[ask.Question]coverage.Evidence, b behaviour) proven {
	choice, w := c.chosen, c.chosen.wanted
	p := proven{covered: c, kept: c.kept, notices: c.notices, selection: Selection{
		Requirement: w.requirement, From: choice.old.Version, To: choice.to, Err: c.err,
		Facts: Facts{Held: choice.held, Published: choice.release.Published, Warnings: choice.release.Warnings},
	}}
	if c.err == nil && !c.kept {
		p = p.enter(answers, b)
	}
	err := p.selection.Err
	if err == nil {
		return p
	}
	if b.forgives && w.mayStay && c.demand.Complete {
		p.notices, p.selection.Err, p.kept = append(slices.Clone(p.notices), err), nil, true
		return p
	}
	// A new release that fails here stays out of the lock file. The result names it as a
	// held release.
	reason := heldFor[problem.Of(err).Code]
	if reason != "" && c.err == nil && w.isLock && choice.to.Precedence(choice.old.Version) > 0 {
		p.selection.Held = append(slices.Clone(choice.held), Held{Version: choice.to, By: policy.Hold{Reason: reason}, Published: choice.release.Published})
	}
	return p
}

// heldFor is the reason for holding a release after each failure to prove it.
var heldFor = map[problem.Code]policy.Reason{problem.CodeNoPackage: HeldByPlatform, problem.CodeProtocol: HeldByProtocol}

// gather collects the evidence of every wanted package, in the order of the packages. A
// platform that the release does not serve is missing. Under Exact and Strict it fails the
// provider, as in the tools.
func (c covered) gather(answers map[ask.Question]coverage.Evidence, b behaviour) (found []provider.Hashes, missing []provider.Platform, err error) {
	lacking := map[provider.Platform]bool{}
	for _, k := range c.packages {
		e := answers[k]
		if b.skipsPlatforms && problem.Coded(e.Err, problem.CodeNoPackage) {
			lacking[k.Want.Platform] = true
			continue
		}
		if e.Err == nil {
			e.Err = untrusted(k.Want, e.Hashes, b)
		}
		if e.Err != nil {
			return nil, nil, e.Err
		}
		found = append(found, e.Hashes)
	}
	for _, h := range found {
		delete(lacking, h.Platform) // the other source has it
	}
	return found, slices.SortedFunc(maps.Keys(lacking), provider.Platform.Compare), nil
}

// serving is the newest allowed release before the chosen one that serves all platforms
// that are named in the settings. It is zero if none is known.
func (c covered) serving() (newest provider.Version) {
	for _, r := range c.chosen.allowed() {
		lacks := func(p provider.Platform) bool { return !slices.Contains(r.Platforms, p) }
		older := r.Version.Precedence(c.chosen.to) < 0
		if older && r.Version.Precedence(newest) > 0 && !slices.ContainsFunc(c.demand.Named, lacks) {
			newest = r.Version
		}
	}
	return newest
}

// since are the first releases that serve these platforms. It is nil if none is known.
func (c covered) since(missing []provider.Platform) map[provider.Platform]provider.Version {
	var all map[provider.Platform]provider.Version
	for _, p := range missing {
		first := c.firstFor(p)
		if first.IsZero() {
			continue
		}
		if all == nil {
			all = map[provider.Platform]provider.Version{}
		}
		all[p] = first
	}
	return all
}

// firstFor is the first release that serves a platform. It is zero unless that release is
// newer than the chosen one, and the lists of all older ones lack the platform.
func (c covered) firstFor(p provider.Platform) (first provider.Version) {
	silent := false
	for _, r := range c.chosen.offered.releases {
		serves := len(r.Platforms) == 0 || slices.Contains(r.Platforms, p)
		if serves && r.Version.Prerelease == "" && (first.IsZero() || r.Version.Precedence(first) < 0) {
			first, silent = r.Version, len(r.Platforms) == 0
		}
	}
	if silent || first.Precedence(c.chosen.to) <= 0 {
		return provider.Version{}
	}
	return first
}

// unreleased is the failure of a release that lacks platforms of the command line, or that
// has no package at all. It does not depend on the sources' words.
func (p proven) unreleased(found []provider.Hashes, b behaviour) error {
	to, w, missing := p.covered.chosen.to, p.covered.chosen.wanted, p.selection.Missing
	if demanded := b.options.Platforms.Demanded && len(b.options.Platforms.List) > 0; demanded && len(missing) > 0 {
		names := collect.Mapped(missing, provider.Platform.String)
		err := w.failure(problem.CodeNoPackage, to, "%s %s is not released for %s", w.addr(), to, strings.Join(names, ", "))
		err.Problem.Subject.Platform = missing[0]
		err.Problem.Hint = "leave these out of --platform, or name them in the configuration file: there relock reports a platform without a package and leaves it out"
		if serving := p.selection.Serving; !serving.IsZero() {
			err.Problem.Hint = fmt.Sprintf("choose %s, which is released for all of them; or %s", serving, err.Problem.Hint)
		}
		return err
	}
	if len(found) == 0 {
		err := w.failure(problem.CodeNoPackage, to, "%s %s is published for none of the wanted platforms", w.addr(), to)
		err.Problem.Hint = "name a platform that it is published for with --platform"
		return err
	}
	return nil
}

// enter proves the hashes of the new entry, or sets the selection's error.
func (p proven) enter(answers map[ask.Question]coverage.Evidence, b behaviour) proven {
	found, missing, err := p.covered.gather(answers, b)
	if len(missing) > 0 {
		p.selection.Missing, p.selection.Serving = missing, p.covered.serving()
		p.selection.Since = p.covered.since(missing)
	}
	if err == nil {
		err = p.unreleased(found, b)
	}
	var prior []provider.Hash
	if err == nil {
		p, prior, err = p.confront(found, b)
	}
	if err != nil {
		p.selection.Err = err
		return p
	}
	recorded := toRecord(found, b)
	p.hashes = slices.Concat(prior, recorded)
	if !b.keepsHashes || b.settlesConflicts && p.covered.chosen.wanted.sides != nil {
		p.hashes = recorded
	}
	p.selection.Marks = provider.Marks(found, recorded)
	p.selection.Hashes = platformsOf(p.hashes, found)
	platforms := slices.Collect(maps.Values(p.selection.Hashes))
	for _, h := range found {
		if h.Mirror == "" {
			p.selection.Signer = h.Signer
		}
		platforms = append(platforms, h.Platform)
	}
	slices.SortFunc(platforms, provider.Platform.Compare)
	p.selection.Coverage = slices.Clone(slices.Compact(platforms)) // a clone without the spare capacity
	return p
}

// confront compares the packages with the hashes of the old entry and with each other. It
// returns the old hashes that the new entry keeps.
func (p proven) confront(found []provider.Hashes, b behaviour) (_ proven, prior []provider.Hash, err error) {
	choice, w := p.covered.chosen, p.covered.chosen.wanted
	// init drops hashes of unknown schemes and providers lock keeps them. relock keeps
	// them, too, unless the bytes must be init's: a newer tool may know the scheme.
	if w.isLock && choice.old.Version == choice.to {
		prior = collect.Those(choice.old.Hashes, func(h provider.Hash) bool { return h.Known() || b.keepsUnknown || w.lockAlone })
	}
	refuses := b.refuses
	if w.lockAlone {
		refuses = refuseNone
	}
	if h, other := p.contradicting(prior, found, refuses); other {
		accepted := slices.ContainsFunc(b.options.AcceptReReleased, func(r provider.ReleasePattern) bool { return r.Match(w.addr(), choice.to) })
		switch {
		case refuses == refuseNone:
			// providers lock silently adds new hashes to old ones of other bytes. Exact
			// bytes must repeat that, but people should know.
			p.notices = append(slices.Clone(p.notices), p.reReleased(h))
		case accepted:
			prior = nil
		default:
			return p, nil, p.reReleased(h)
		}
		p.selection.Replaced = true
	}
	altered := p.altered(found)
	switch {
	case altered == nil:
	case b.refusesAltered:
		return p, nil, altered
	default:
		p.notices = append(slices.Clone(p.notices), altered)
	}
	return p, prior, nil
}

// toRecord are the hashes of packages that an entry records. For each package the tool
// writes the h1, every line of the signed list, and what the source verified or reported.
// The source leaves these empty if the tool does not record them [cases 33, 80]. Under
// Strict, hashes that a source only reports are not recorded.
func toRecord(found []provider.Hashes, b behaviour) []provider.Hash {
	var recorded []provider.Hash
	for _, h := range found {
		recorded = slices.Concat(recorded, []provider.Hash{h.Sum.H1}, h.Listed, h.Verified)
		for _, reported := range h.Reported {
			if !b.provenOnly {
				recorded = append(recorded, reported...)
			}
		}
	}
	return recorded
}

// platformsOf says which platform each h1 of an entry belongs to. A computed h1 has
// precedence over reported ones.
func platformsOf(hashes []provider.Hash, found []provider.Hashes) map[provider.Hash]provider.Platform {
	platforms := map[provider.Hash]provider.Platform{}
	for _, h := range found {
		for platform, reported := range h.Reported {
			for _, r := range h1(reported) {
				platforms[r] = platform
			}
		}
	}
	maps.DeleteFunc(platforms, func(h provider.Hash, _ provider.Platform) bool { return !slices.Contains(hashes, h) })
	for _, h := range found {
		platforms[h.Sum.H1] = h.Platform
	}
	return platforms
}

// contradicting finds a package whose bytes changed under the same version. init -upgrade
// demands that the package of its own platform matches one old hash. providers lock demands
// nothing. relock demands that every package matches, with two exceptions:
//
//   - The entry has no zh hashes. An h1 of another platform proves nothing about this one.
//   - All recorded zh hashes are still in the checksum lists. Then the release grew and was
//     not replaced.
//
// Packages of a mirror that were never zips are compared by content. Nobody knows which
// platform an h1 belongs to. So one of these packages must match, unless the entry has no
// h1.
func (p proven) contradicting(prior []provider.Hash, found []provider.Hashes, refuses refusal) (provider.Hashes, bool) {
	choice := p.covered.chosen
	zips := collect.Those(prior, func(h provider.Hash) bool { return h.Scheme() == provider.SchemeZH })
	switch refuses {
	case refuseNone:
		return replaced(choice.old.Hashes, zips, found)
	case refuseFirst:
		// A zh hash says nothing about an unpacked package.
		applicable := slices.ContainsFunc(prior, func(h provider.Hash) bool {
			return h.Known() && (!found[0].Unpacked() || h.Scheme() != provider.SchemeZH)
		})
		return found[0], applicable && !found[0].Sum.Matches(prior)
	}
	if h, ok := replaced(prior, zips, found); ok {
		return h, true
	}
	packed := slices.ContainsFunc(found, func(h provider.Hashes) bool { return !h.Unpacked() })
	matching := slices.ContainsFunc(found, func(h provider.Hashes) bool { return h.Sum.Matches(prior) })
	return found[0], !packed && !matching && len(h1(prior)) > 0
}

// replaced finds a package that replaced a recorded one: no checksum list has some recorded
// zip any more, and the package matches no old hash.
func replaced(prior, zips []provider.Hash, found []provider.Hashes) (provider.Hashes, bool) {
	listed := map[provider.Hash]bool{}
	for _, h := range found {
		for _, z := range h.Listed {
			listed[z] = true
		}
	}
	if !slices.ContainsFunc(zips, func(z provider.Hash) bool { return !listed[z] }) {
		return provider.Hashes{}, false
	}
	i := slices.IndexFunc(found, func(h provider.Hashes) bool { return !h.Unpacked() && !h.Sum.Matches(prior) })
	if i < 0 {
		return provider.Hashes{}, false
	}
	return found[i], true
}

// altered compares the packages of mirrors with those of the registry, if both were asked.
// The tools record the hashes of both, even if they differ [case 54b]. relock refuses a
// mirror with other content, unless the bytes must be the tools'.
func (p proven) altered(found []provider.Hashes) error {
	choice, w := p.covered.chosen, p.covered.chosen.wanted
	origin := map[provider.Platform]provider.Hash{}
	for _, h := range found {
		if h.Mirror == "" {
			origin[h.Platform] = h.Sum.H1
		}
	}
	for _, h := range found {
		if own := origin[h.Platform]; h.Mirror != "" && own != "" && own != h.Sum.H1 {
			err := w.failure(problem.CodeBadChecksum, choice.to,
				"the package of %s %s for %s in the %s (%s) is not that of its registry (%s)", w.addr(), choice.to, h.Platform, h.Mirror, h.Sum.H1, own)
			err.Problem.Subject.Platform, err.Problem.Hint = h.Platform, "ask the mirror's operator why before you trust it"
			return err
		}
	}
	return nil
}

func (p proven) reReleased(h provider.Hashes) error {
	choice, w := p.covered.chosen, p.covered.chosen.wanted
	addr := w.addr()
	err := w.failure(problem.CodeReReleased, choice.to,
		"the package of %s %s for %s (%s) matches none of the recorded hashes", addr, choice.to, h.Platform, cmp.Or(h.Sum.ZH, h.Sum.H1))
	err.Problem.Subject.Platform = h.Platform
	err.Problem.Hint = fmt.Sprintf("ask the publisher why the release was replaced; if you trust it, use `--accept-re-released %s/%s@%s`",
		addr.Namespace, addr.Type, choice.to)
	return err
}

// untrusted says why a package is refused although its bytes are right:
//
//   - Every hash must be proven, and the package is from a mirror or its list is not signed.
//   - The signer is not among the configured keys of the provider.
func untrusted(want provider.Want, h provider.Hashes, b behaviour) error {
	refused := func(hint, format string, args ...any) *problem.Error {
		return &problem.Error{Problem: problem.Problem{
			Code: problem.CodeBadSignature, Host: want.Addr.Host, Subject: problem.Subject{Addr: want.Addr, Version: want.Version, Versioned: true, Platform: want.Platform},
			Message: fmt.Sprintf(format, args...), Hint: hint,
		}}
	}
	fromMirror := fmt.Sprintf("the package of %s %s for %s is from the %s, which no signature covers", want.Addr, want.Version, want.Platform, h.Mirror)
	list := fmt.Sprintf("the checksum list of %s %s is", want.Addr, want.Version)
	const others = "and the configured signers of the provider are others"
	const askPublisher = "ask the provider's publisher; if the key is theirs, add it to the configured signers"
	switch {
	case b.provenOnly && h.Mirror != "":
		return refused("take hashes from the provider's own registry, or leave out `--strict`", "%s", fromMirror)
	case b.provenOnly && h.Signer.KeyID == "":
		return refused("leave out `--strict`, and it is accepted where the tool accepts it", "%s not signed by an announced key", list)
	case b.options.Signers.Admits(want.Addr, h.Signer):
		return nil
	case h.Mirror != "":
		return refused(askPublisher, "%s, %s", fromMirror, others)
	case h.Signer.KeyID == "":
		return refused(askPublisher, "%s signed by no announced key, %s", list, others)
	}
	key := cmp.Or(h.Signer.Fingerprint, h.Signer.KeyID)
	err := refused(askPublisher, "%s signed by the key %s, %s", list, key, others)
	err.Problem.About = key
	return err
}
