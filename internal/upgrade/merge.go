package upgrade

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// key names a package in the answers.
func (d *draft) key(c *choice, v provider.Version, platform provider.Platform) packageKey {
	return packageKey{d.module.Tool, provider.Want{Addr: c.Requirement.Addr, Version: v, Platform: platform}}
}

// packages lists the packages that the new entry of a choice must cover.
func (d *draft) packages(c *choice, opts Options) []packageKey {
	if c.Err != nil {
		return nil
	}
	wanted := d.platforms.List
	if d.platforms.All {
		wanted = c.release.Platforms
	}
	keys := make([]packageKey, len(wanted))
	for i, platform := range wanted {
		keys[i] = d.key(c, c.To, platform)
	}
	return keys
}

// finish turns the draft into a result: it merges the hashes, builds the new
// entries and decides whether there is anything to write.
func (d *draft) finish(hashes map[packageKey]evidence, opts Options) Result {
	r := Result{Module: d.module, Old: d.old, New: d.old, Diagnostics: slices.Clone(d.module.Diagnostics)}
	if d.cancelled != nil {
		r.Diagnostics = append(r.Diagnostics, provider.Diagnostic{Code: provider.CodeCancelled, Message: "the run was interrupted", File: d.module.Dir})
		return r
	}
	r.Diagnostics = append(r.Diagnostics, d.unread()...)
	if failed(r.Diagnostics) {
		return r
	}
	entries := map[provider.Addr]lockfile.Lock{}
	for _, c := range d.choices {
		d.settle(c, entries, hashes, opts)
		r.Selections = append(r.Selections, c.Selection)
		r.Diagnostics = append(r.Diagnostics, c.explain()...)
	}
	if untouchable(r.Selections, opts) {
		return r
	}
	r.New = d.merge(entries, opts)
	r.Selections = append(r.Selections, dropped(d.old, r.New)...)
	slices.SortFunc(r.Selections, func(a, b Selection) int { return a.Requirement.Addr.Compare(b.Requirement.Addr) })
	r.File = d.print(r.New, opts)
	return r
}

// settle builds the entry of one choice, unless it failed before.
func (d *draft) settle(c *choice, entries map[provider.Addr]lockfile.Lock, answers map[packageKey]evidence, opts Options) {
	if c.Err != nil {
		return
	}
	l, err := d.entry(c, answers, opts)
	if err != nil {
		c.Err = err
		return
	}
	entries[c.Requirement.Addr] = l
}

// unread explains why a root module with unread module calls is left alone:
// nothing is known of what the missing modules require.
func (d *draft) unread() []provider.Diagnostic {
	var diagnostics []provider.Diagnostic
	for _, u := range d.module.Unread {
		diagnostics = append(diagnostics, provider.Diagnostic{
			Code: provider.CodeUnreadModule, File: u.File, Line: u.Line,
			Message: fmt.Sprintf("module.%s could not be read: %s", u.Module, u.Reason),
			Hint:    "the lock file stays as it is, because what this module requires is not known",
		})
	}
	return diagnostics
}

// untouchable reports whether a failed provider keeps the whole root module as
// it is: always when it has no old entry to fall back to, since a lock file
// that lacks a required provider would be worse than the old one; and under
// Exact and Strict, which promise all or nothing.
func untouchable(selections []Selection, opts Options) bool {
	return slices.ContainsFunc(selections, func(s Selection) bool {
		return s.Err != nil && (opts.Exact || opts.Strict || s.From.IsZero())
	})
}

// explain turns a failure into a diagnostic at the place that requires the
// provider. What is no failure (missing platforms, the registry's warnings) stays
// a fact of the selection.
func (c *choice) explain() []provider.Diagnostic {
	if c.Err == nil {
		return nil
	}
	d := provider.Diagnose(c.Err)
	d.Addr = c.Requirement.Addr
	if d.File == "" && len(c.Requirement.Terms) > 0 {
		d.File, d.Line = c.Requirement.Terms[0].File, c.Requirement.Terms[0].Line
	}
	return []provider.Diagnostic{d}
}

// entry merges what the packages prove with what the old entry holds.
func (d *draft) entry(c *choice, answers map[packageKey]evidence, opts Options) (lockfile.Lock, error) {
	prior := c.prior(opts)
	found, err := d.collect(c, answers, opts)
	if err != nil {
		return lockfile.Lock{}, err
	}
	if err := c.verify(prior, found, opts); err != nil {
		return lockfile.Lock{}, err
	}
	merged := prior
	if opts.Mode == Complete && opts.Prune {
		merged = nil
	}
	for _, h := range found {
		merged = append(merged, recorded(d.module.Tool, h, opts.Strict)...)
		c.Signer = h.Signer
	}
	c.attribute(found, merged)
	return lockfile.New(c.Requirement.Addr, c.To, c.Requirement.Constraints(), merged), nil
}

// prior are the old hashes that a same-version entry keeps. init throws hashes
// of unknown schemes away and providers lock keeps them; they are kept here
// too unless the bytes must be init's, since a newer tool may know the scheme.
func (c *choice) prior(opts Options) []provider.Hash {
	if !c.isLock || c.From != c.To {
		return nil
	}
	if opts.Mode == Upgrade && opts.Exact {
		return slices.DeleteFunc(slices.Clone(c.locked.Hashes), func(h provider.Hash) bool { return !h.Known() })
	}
	return slices.Clone(c.locked.Hashes)
}

// collect gathers the evidence of every wanted package, in order of wanting. A
// platform that the release does not serve is noted and left out, or fails the
// provider under Exact and Strict, as it does in the tools.
func (d *draft) collect(c *choice, answers map[packageKey]evidence, opts Options) ([]provider.Hashes, error) {
	var found []provider.Hashes
	for _, k := range d.packages(c, opts) {
		e := answers[k]
		switch {
		case provider.Coded(e.err, provider.CodeNoPackage) && !opts.Exact && !opts.Strict:
			c.Missing = append(c.Missing, k.want.Platform)
		case e.err != nil:
			return nil, e.err
		case opts.Strict && e.hashes.Signer.KeyID == "":
			return nil, unsigned(k.want)
		default:
			found = append(found, e.hashes)
		}
	}
	slices.SortFunc(c.Missing, provider.Platform.Compare)
	if len(found) == 0 {
		return nil, &provider.Error{
			Code: provider.CodeNoPackage, Host: c.Requirement.Addr.Host, Addr: c.Requirement.Addr, Version: c.To,
			Message: fmt.Sprintf("%s %s is published for none of the wanted platforms", c.Requirement.Addr, c.To),
			Hint:    "name a platform that it is published for with --platform",
		}
	}
	return found, nil
}

func unsigned(want provider.Want) error {
	return &provider.Error{
		Code: provider.CodeBadSignature, Host: want.Addr.Host, Addr: want.Addr, Version: want.Version, Platform: want.Platform,
		Message: fmt.Sprintf("the checksum list of %s %s is not signed by an announced key", want.Addr, want.Version),
		Hint:    "without --strict it is accepted where the tool accepts it",
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
	switch {
	case opts.Exact && opts.Mode == Complete:
		return nil
	case opts.Exact:
		known := slices.ContainsFunc(prior, provider.Hash.Known)
		if known && !found[0].Matches(prior) {
			return c.reReleased(found[0])
		}
		return nil
	case len(zips) == 0 || stillListed(zips, found):
		return nil
	}
	for _, h := range found {
		if !h.Matches(prior) {
			return c.reReleased(h)
		}
	}
	return nil
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
		Message: fmt.Sprintf("the package of %s %s for %s (%s) matches none of the recorded hashes", addr, c.To, h.Package.Platform, h.Package.ZH),
		Hint:    "the release was replaced after it was locked: ask its publisher why before you trust it",
	}
}

// recorded are the hashes of one package that the tool writes. Terraform
// records the h1 and every line of the signed list. OpenTofu also records the
// verified zh itself and, on its own registry, what that reports of all
// platforms (the source leaves Reported empty where the tool would not use it).
// Under Strict nothing is recorded on a registry's word alone.
func recorded(tool provider.Tool, h provider.Hashes, strict bool) []provider.Hash {
	hashes := append([]provider.Hash{h.H1}, h.Listed...)
	if tool.Name == provider.Terraform {
		return hashes
	}
	hashes = append(hashes, h.Package.ZH)
	if strict {
		return hashes
	}
	for _, reported := range h.Reported {
		hashes = append(hashes, reported...)
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
	for _, r := range d.module.Requirements {
		required[r.Addr] = true
	}
	var locks []lockfile.Lock
	for _, old := range d.old {
		if _, renewed := entries[old.Addr]; renewed {
			continue
		}
		if required[old.Addr] || opts.Mode == Complete || matches(opts.Keep, old.Addr) || !selected(opts.Only, old.Addr) {
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

// print returns the new bytes of the lock file, or nil if it is to stay as it
// is. Without Exact only facts count: a file in another order or with comments
// is left alone, and an empty one is not created.
func (d *draft) print(locks []lockfile.Lock, opts Options) []byte {
	if !opts.Exact {
		if slices.EqualFunc(d.old, locks, lockfile.Lock.Equal) {
			return nil
		}
		return lockfile.Print(d.module.Tool.Name, locks)
	}
	printed := lockfile.Print(d.module.Tool.Name, locks)
	if d.module.Lock != nil && bytes.Equal(printed, d.module.Lock.Source) {
		return nil
	}
	return printed
}
