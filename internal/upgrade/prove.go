package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// finish turns the draft into a result: it merges the hashes, builds the new
// entries and decides whether there is anything to write.
func (d *draft) finish(hashes map[packageKey]evidence, opts Options) Result {
	d.settleOld()
	r := Result{Module: d.root.module, Partial: d.root.partial, Old: d.old, New: d.old, Diagnostics: d.root.diagnostics, exact: opts.behaviour().allBytes, untouched: d.root.unknown}
	if d.root.generated || d.root.unknown {
		return r
	}
	entries := map[provider.Addr]lockfile.Lock{}
	for _, c := range d.choices {
		d.settle(c, entries, hashes, opts)
		r.Selections = append(r.Selections, c.Selection)
		r.Diagnostics = append(r.Diagnostics, c.explain()...)
	}
	if untouchable(r.Selections, opts) || d.unsettled() {
		r.untouched = true
		return r
	}
	r.Diagnostics = append(r.Diagnostics, d.doubtful()...)
	r.New = d.merge(entries, opts)
	r.Selections = append(r.Selections, dropped(d.old, r.New)...)
	slices.SortFunc(r.Selections, func(a, b Selection) int { return a.Requirement.Addr.Compare(b.Requirement.Addr) })
	r.File = r.print()
	return r
}

// settle builds the entry of one choice, unless it failed before or stays as it
// is.
func (d *draft) settle(c *choice, entries map[provider.Addr]lockfile.Lock, answers map[packageKey]evidence, opts Options) {
	if c.kept || c.Err != nil && d.forgive(c, opts) || c.Err != nil {
		return
	}
	l, err := d.entry(c, answers, opts)
	if err == nil {
		entries[c.Requirement.Addr] = l
		return
	}
	c.Err = err
	if !d.forgive(c, opts) {
		c.heldByPackage(err)
	}
}

// untouchable reports whether a failed provider keeps the whole root module as
// it is: always when it has no old entry to fall back to, since a lock file
// that lacks a required provider would be worse than the old one; and under
// Exact and Strict, which promise all or nothing.
func untouchable(selections []Selection, opts Options) bool {
	return slices.ContainsFunc(selections, func(s Selection) bool {
		return s.Err != nil && (opts.behaviour().allOrNothing || s.From.IsZero())
	})
}

// explain turns a failure, or else the notices, into diagnostics at the place
// that requires the provider. What is no failure (missing platforms, the
// registry's warnings) stays a fact of the selection.
func (c *choice) explain() []provider.Diagnostic {
	if c.Err != nil {
		return []provider.Diagnostic{c.diagnose(c.Err, provider.SeverityError)}
	}
	var diagnostics []provider.Diagnostic
	for _, notice := range c.notices {
		diagnostics = append(diagnostics, c.diagnose(notice, provider.SeverityWarning))
	}
	return diagnostics
}

func (c *choice) diagnose(err error, severity provider.Severity) provider.Diagnostic {
	d := provider.Diagnose(err)
	d.Severity, d.Addr = severity, c.Requirement.Addr
	if d.File == "" && len(c.Requirement.Terms) > 0 {
		d.File, d.Line = c.Requirement.Terms[0].File, c.Requirement.Terms[0].Line
	}
	return d
}

// entry merges what the packages prove with what the old entry holds.
func (d *draft) entry(c *choice, answers map[packageKey]evidence, opts Options) (lockfile.Lock, error) {
	prior := c.prior(opts)
	found, err := d.collect(c, answers, opts)
	if err != nil {
		return lockfile.Lock{}, err
	}
	if err := c.verify(prior, found, opts); err != nil {
		if !accepted(opts.AcceptReReleased, c.Requirement.Addr, c.To) {
			return lockfile.Lock{}, err
		}
		prior, c.Replaced = nil, true
	}
	if err := altered(c.Requirement.Addr, c.To, found); err != nil {
		if opts.behaviour().refusesAltered {
			return lockfile.Lock{}, err
		}
		c.notices = append(c.notices, err)
	}
	recorded := recorded(found, opts.behaviour().provenOnly)
	merged := prior
	if b := opts.behaviour(); !b.keepsHashes || b.settlesConflicts && c.sides != nil {
		merged = nil
	}
	merged = append(merged, recorded...)
	for _, h := range found {
		if h.Mirror == "" {
			c.Signer = h.Signer
		}
	}
	c.Marks = provider.Marks(found, recorded)
	c.attribute(found, merged)
	return lockfile.New(c.Requirement.Addr, c.To, c.records, merged), nil
}

// altered compares the packages of mirrors with those of the registry where both
// were asked. The tools record the hashes of both, whatever they are; here a
// mirror that has other content is refused, unless the bytes must be theirs.
func altered(addr provider.Addr, v provider.Version, found []provider.Hashes) error {
	origin := map[provider.Platform]provider.Hash{}
	for _, h := range found {
		if h.Mirror == "" {
			origin[h.Package.Platform] = h.H1
		}
	}
	for _, h := range found {
		if own := origin[h.Package.Platform]; h.Mirror != "" && own != "" && own != h.H1 {
			return &provider.Error{
				Code: provider.CodeBadChecksum, Host: addr.Host, Addr: addr, Version: v, Platform: h.Package.Platform,
				Message: fmt.Sprintf("the package of %s %s for %s in the %s (%s) is not that of its registry (%s)", addr, v, h.Package.Platform, h.Mirror, h.H1, own),
				Hint:    "ask the mirror's operator why before you trust it",
			}
		}
	}
	return nil
}

func accepted(releases []provider.ReleasePattern, addr provider.Addr, v provider.Version) bool {
	return slices.ContainsFunc(releases, func(r provider.ReleasePattern) bool { return r.Match(addr, v) })
}

// prior are the old hashes that a same-version entry keeps. init throws hashes
// of unknown schemes away and providers lock keeps them; they are kept here
// too unless the bytes must be init's, since a newer tool may know the scheme.
func (c *choice) prior(opts Options) []provider.Hash {
	if !c.isLock || c.From != c.To {
		return nil
	}
	if !opts.behaviour().keepsUnknown {
		return slices.DeleteFunc(slices.Clone(c.old.Hashes), func(h provider.Hash) bool { return !h.Known() })
	}
	return slices.Clone(c.old.Hashes)
}

// collect gathers the evidence of every wanted package, in order of wanting. A
// platform that the release does not serve is noted and left out, or fails the
// provider under Exact and Strict and where it was demanded, as it does in the
// tools.
func (d *draft) collect(c *choice, answers map[packageKey]evidence, opts Options) ([]provider.Hashes, error) {
	b := opts.behaviour()
	var found []provider.Hashes
	missing := map[provider.Platform]bool{}
	for _, k := range c.packages {
		e := answers[k]
		switch {
		case provider.Coded(e.err, provider.CodeNoPackage) && b.skipsPlatforms:
			missing[k.want.Platform] = true
		case e.err != nil:
			return nil, e.err
		case b.provenOnly && e.hashes.Mirror != "":
			return nil, mirrored(k.want, e.hashes.Mirror)
		case b.provenOnly && e.hashes.Signer.KeyID == "":
			return nil, unsigned(k.want)
		case !opts.maySign(k.want.Addr, e.hashes.Signer):
			return nil, unpinned(k.want, e.hashes)
		default:
			found = append(found, e.hashes)
		}
	}
	for _, h := range found {
		delete(missing, h.Package.Platform) // one source of two has it
	}
	c.Missing = slices.SortedFunc(maps.Keys(missing), provider.Platform.Compare)
	if len(c.Missing) > 0 {
		c.Serving = c.serving(c.named)
	}
	if len(c.Missing) > 0 && opts.Platforms.demands() {
		return nil, c.unserved()
	}
	if len(found) == 0 {
		return nil, &provider.Error{
			Code: provider.CodeNoPackage, Host: c.Requirement.Addr.Host, Addr: c.Requirement.Addr, Version: c.To,
			Message: fmt.Sprintf("%s %s is published for none of the wanted platforms", c.Requirement.Addr, c.To),
			Hint:    "name a platform that it is published for with --platform",
		}
	}
	return found, nil
}

// unserved is the error of a release that lacks a platform which somebody asked
// for. It does not depend on how the sources word it.
func (c *choice) unserved() error {
	names := make([]string, len(c.Missing))
	for i, p := range c.Missing {
		names[i] = p.String()
	}
	addr := c.Requirement.Addr
	err := &provider.Error{
		Code: provider.CodeNoPackage, Host: addr.Host, Addr: addr, Version: c.To, Platform: c.Missing[0],
		Message: fmt.Sprintf("%s %s is not released for %s", addr, c.To, strings.Join(names, ", ")),
		Hint:    "leave these out of --platform, or name them in the configuration file: there what is not released is told and left out",
	}
	if !c.Serving.IsZero() {
		err.Hint = fmt.Sprintf("%s is released for all of them; else %s", c.Serving, err.Hint)
	}
	return err
}

func unsigned(want provider.Want) error {
	return &provider.Error{
		Code: provider.CodeBadSignature, Host: want.Addr.Host, Addr: want.Addr, Version: want.Version, Platform: want.Platform,
		Message: fmt.Sprintf("the checksum list of %s %s is not signed by an announced key", want.Addr, want.Version),
		Hint:    "without --strict it is accepted where the tool accepts it",
	}
}

func mirrored(want provider.Want, mirror string) error {
	return &provider.Error{
		Code: provider.CodeBadSignature, Host: want.Addr.Host, Addr: want.Addr, Version: want.Version, Platform: want.Platform,
		Message: fmt.Sprintf("the package of %s %s for %s is from the %s, which no signature covers", want.Addr, want.Version, want.Platform, mirror),
		Hint:    "take hashes from the provider's own registry, or leave --strict out",
	}
}

// verify refuses a release whose bytes changed under the same version. init
// -upgrade demands that the package of its own platform matches one old hash,
// and providers lock demands nothing. Here every package must match, if the
// entry holds zh hashes to match (an entry of h1 alone cannot know other
// platforms), unless all of those are still in the checksum lists: then the
// release grew and was not replaced.
func (c *choice) verify(prior []provider.Hash, found []provider.Hashes, opts Options) error {
	zips := slices.DeleteFunc(slices.Clone(prior), func(h provider.Hash) bool { return h.Scheme() != provider.SchemeZH })
	switch opts.behaviour().refuses {
	case refuseNone:
		c.noteReReleased(zips, found)
		return nil
	case refuseFirst:
		known := len(applicable(found[0], prior)) > 0
		if known && !found[0].Matches(prior) {
			return c.reReleased(found[0])
		}
		return nil
	}
	if h, ok := replaced(prior, zips, found); ok {
		return c.reReleased(h)
	}
	return c.verifyUnpacked(prior, found)
}

// replaced finds a package that took the place of a recorded one: some recorded
// zip is in no checksum list any more, and the package matches nothing.
func replaced(prior, zips []provider.Hash, found []provider.Hashes) (provider.Hashes, bool) {
	if len(zips) == 0 || stillListed(zips, found) {
		return provider.Hashes{}, false
	}
	i := slices.IndexFunc(found, func(h provider.Hashes) bool { return !h.Unpacked() && !h.Matches(prior) })
	if i < 0 {
		return provider.Hashes{}, false
	}
	return found[i], true
}

// noteReReleased remembers that new hashes stand beside old ones that belong to
// other bytes: providers lock adds them without a word, which exact bytes must
// repeat, but people should know.
func (c *choice) noteReReleased(zips []provider.Hash, found []provider.Hashes) {
	if h, ok := replaced(c.old.Hashes, zips, found); ok {
		c.notices, c.Replaced = append(c.notices, c.reReleased(h)), true
	}
}

// verifyUnpacked holds packages that were never zips here, those of a mirror,
// against what the entry says of content. Nobody knows which platform an h1
// belongs to, so that one of them must match, unless the entry has none.
func (c *choice) verifyUnpacked(prior []provider.Hash, found []provider.Hashes) error {
	packed := slices.ContainsFunc(found, func(h provider.Hashes) bool { return !h.Unpacked() })
	matching := slices.ContainsFunc(found, func(h provider.Hashes) bool { return h.Matches(prior) })
	if packed || matching || len(h1(prior)) == 0 {
		return nil
	}
	return c.reReleased(found[0])
}

// applicable are the recorded hashes that a package can be held against: zh
// hashes say nothing about an unpacked one.
func applicable(h provider.Hashes, prior []provider.Hash) []provider.Hash {
	return slices.DeleteFunc(slices.Clone(prior), func(p provider.Hash) bool {
		return !p.Known() || h.Unpacked() && p.Scheme() == provider.SchemeZH
	})
}

func stillListed(zips []provider.Hash, found []provider.Hashes) bool {
	listed := map[provider.Hash]bool{}
	for _, h := range found {
		for _, z := range h.Listed {
			listed[z] = true
		}
	}
	return !slices.ContainsFunc(zips, func(z provider.Hash) bool { return !listed[z] })
}

func (c *choice) reReleased(h provider.Hashes) error {
	addr := c.Requirement.Addr
	return &provider.Error{
		Code: provider.CodeReReleased, Host: addr.Host, Addr: addr, Version: c.To, Platform: h.Package.Platform,
		Message: fmt.Sprintf("the package of %s %s for %s (%s) matches none of the recorded hashes", addr, c.To, h.Package.Platform, cmp.Or(h.Package.ZH, h.H1)),
		Hint: fmt.Sprintf("the release was replaced after it was locked: ask its publisher why; if you trust it, use --accept-re-released %s/%s@%s",
			addr.Namespace, addr.Type, c.To),
	}
}

// recorded are the hashes of packages that the tool writes: of each the h1, every
// line of the signed list, and what the source finds verified or reported, which
// it leaves empty where the tool does not record it. Under Strict nothing is
// recorded on a source's word alone.
func recorded(found []provider.Hashes, provenOnly bool) []provider.Hash {
	var hashes []provider.Hash
	for _, h := range found {
		hashes = slices.Concat(hashes, []provider.Hash{h.H1}, h.Listed, h.Verified)
		if provenOnly {
			continue
		}
		for _, reported := range h.Reported {
			hashes = append(hashes, reported...)
		}
	}
	return hashes
}

// attribute notes which platforms the entry's h1 hashes belong to.
func (c *choice) attribute(found []provider.Hashes, merged []provider.Hash) {
	c.Hashes = map[provider.Hash]provider.Platform{}
	for _, h := range found {
		for platform, reported := range h.Reported {
			for _, r := range h1(reported) {
				if slices.Contains(merged, r) {
					c.Hashes[r] = platform
				}
			}
		}
	}
	for _, h := range found {
		c.Hashes[h.H1] = h.Package.Platform
		c.Platforms = append(c.Platforms, h.Package.Platform)
	}
	c.Platforms = append(c.Platforms, slices.Collect(maps.Values(c.Hashes))...)
	slices.SortFunc(c.Platforms, provider.Platform.Compare)
	c.Platforms = slices.Compact(c.Platforms)
}

// merge puts new entries beside old ones. An old entry whose provider failed
// or was not asked for keeps its bytes. One that nothing requires stays where
// providers lock keeps it, where it is named to be kept, or where the run is
// about other providers; otherwise it goes, as with init.
func (d *draft) merge(entries map[provider.Addr]lockfile.Lock, opts Options) []lockfile.Lock {
	required := map[provider.Addr]bool{}
	for _, r := range d.root.module.Tree.Requirements {
		required[r.Addr] = true
	}
	var locks []lockfile.Lock
	for _, old := range d.old {
		if _, renewed := entries[old.Addr]; renewed {
			continue
		}
		if required[old.Addr] || opts.behaviour().keepsUnreferenced || opts.KeepUnreferenced || matches(opts.Keep, old.Addr) || !selected(opts.Only, old.Addr) {
			locks = append(locks, old.Kept())
		}
	}
	locks = slices.AppendSeq(locks, maps.Values(entries))
	slices.SortFunc(locks, func(a, b lockfile.Lock) int { return a.Addr.Compare(b.Addr) })
	return locks
}

// dropped lists the old entries that the new lock file lacks.
func dropped(old, locks []lockfile.Lock) []Selection {
	var gone []Selection
	for _, l := range old {
		if !slices.ContainsFunc(locks, func(n lockfile.Lock) bool { return n.Addr == l.Addr }) {
			s := Selection{From: l.Version}
			s.Requirement.Addr = l.Addr
			gone = append(gone, s)
		}
	}
	return gone
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
	for _, r := range c.offered.releases {
		older := r.Version.Precedence(c.To) < 0 && r.Version.Precedence(best) > 0 && constraints.Allows(r.Version)
		if older && !slices.ContainsFunc(platforms, func(p provider.Platform) bool { return !slices.Contains(r.Platforms, p) }) {
			best = r.Version
		}
	}
	return best
}

// forgive lets a provider that the rules ignore stay as it is where it cannot be
// completed and covers what is wanted. It reports whether it does.
func (d *draft) forgive(c *choice, opts Options) bool {
	if !opts.behaviour().forgives || !c.mayStay || !c.complete {
		return false
	}
	c.notices = append(c.notices, c.Err)
	c.Err, c.kept = nil, true
	return true
}

// doubtful says which new entries have the platforms of others though only the
// number of their old hashes tells that they had the same.
func (d *draft) doubtful() []provider.Diagnostic {
	var names []string
	for _, w := range d.assumed {
		failed := slices.ContainsFunc(d.choices, func(c *choice) bool { return c.Err != nil && c.addr() == w.addr() })
		if !failed {
			names = append(names, fmt.Sprintf("%s %s", w.addr(), w.old.Version))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []provider.Diagnostic{{
		Severity: provider.SeverityWarning, Code: provider.CodeNoPackage, File: path.Join(d.root.module.Dir, lockfile.Name),
		Message: fmt.Sprintf("the old entries of %s are taken to cover the same platforms as the others, since they have as many hashes", strings.Join(names, ", ")),
		Hint:    "keep relock's hash cache between runs, or name the platforms with the setting platforms, and nothing is taken to be",
	}}
}
