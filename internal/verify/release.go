package verify

import (
	"cmp"
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
)

// release says what is wrong with the release of an entry, its list and who signed
// that. It returns true where that tells of every hash: none could be held against
// anything.
func (v *verifier) release(about scribe, c *accountCase, judged []Proof) (silent bool) {
	l := about.lock
	e, _ := c.err.(*provider.Error)
	switch {
	case c.gone:
		about.addOf(l.Hashes, provider.CodeReleaseGone, "%s %s is no longer published: the registry has neither the version nor a package of it", l.Addr, l.Version)
		return true
	case e != nil && e.Finding == provider.CodeListGone:
		about.addOf(l.Hashes, provider.CodeListGone, "the registry has %s %s, and its list of checksums or the signature of that is gone: %v", l.Addr, l.Version, e)
		return true
	case e != nil && e.Code == provider.CodeBadSignature:
		about.addOf(l.Hashes, provider.CodeSignatureBad, "%v", e)
		return true
	}
	if len(c.files) == 0 {
		return false
	}
	v.signer(about, c)
	v.replaced(about, c, judged)
	return false
}

// signer says what there is to say of the key that has signed.
func (v *verifier) signer(about scribe, c *accountCase) {
	l, key := about.lock, c.signer
	if c.unsigned {
		about.add(provider.CodeUnsigned, "the checksum list of %s %s is signed by nobody: the registry announces no key", l.Addr, l.Version)
	}
	if !v.Signers.Admits(l.Addr, key) {
		by := "nobody"
		if key.Fingerprint != "" {
			by = "the key " + key.Fingerprint
		}
		about.add(provider.CodeSignerRefused, "the checksum list of %s %s is signed by %s, whom verify.signers does not admit", l.Addr, l.Version, by).About = key.Fingerprint
	}
	if key.Expired {
		about.add(provider.CodeKeyExpired, "the key %s of %s %s, or its signature, has expired; the tool accepts it still", key.Fingerprint, l.Addr, l.Version).About = key.Fingerprint
	}
	for pattern, keys := range v.Signers {
		if !pattern.Match(l.Addr) {
			continue
		}
		for _, k := range keys {
			if len(k) == len(key.KeyID) && key.Is(k) {
				about.add(provider.CodeKeyShortID, "verify.signers names the key of %s by %s; its fingerprint is %s", l.Addr, k, key.Fingerprint).About = k
			}
		}
	}
	v.ledgerSigner(about, c)
}

// replaced says that packages of the release were replaced under its version: by
// the hashes of the entry, or by what the ledger has seen.
func (v *verifier) replaced(about scribe, c *accountCase, judged []Proof) {
	l := about.lock
	if v.acceptsReReleased(l) {
		return
	}
	gone := v.vanished(c, l, judged)
	lost := v.Ledger.lost(l.Addr, l.Version, c.files)
	switch {
	case len(gone) > 0:
		about.addHash(provider.CodeReReleased, gone[0], "packages of %s %s were replaced after the lock file was written: recorded hashes are in no checksum list any more (%d)", l.Addr, l.Version, len(gone)).About = digestOf(gone)
	case len(lost) > 0:
		about.addOf(lost, provider.CodeReReleased, "packages of %s %s were replaced since the ledger has seen them (%d)", l.Addr, l.Version, len(lost))
	}
}

// vanished are the zh of an entry whose packages seem to have been replaced. They are
// one finding, and not one more for each hash; where the replacement is accepted
// there is none, and each of them is in no list.
func (v *verifier) vanished(c *accountCase, l lockfile.Lock, judged []Proof) []provider.Hash {
	if v.acceptsReReleased(l) || !c.account.replaced(l) {
		return nil
	}
	var gone []provider.Hash
	for _, p := range judged {
		_, other := v.elsewhere[p.Hash]
		if p.Verdict == Disproven && p.Hash.Scheme() == provider.SchemeZH && p.Hash.WellFormed() && !other {
			gone = append(gone, p.Hash)
		}
	}
	return gone
}

func (v *verifier) acceptsReReleased(l lockfile.Lock) bool {
	return slices.ContainsFunc(v.AcceptReReleased, func(p provider.ReleasePattern) bool { return p.Match(l.Addr, l.Version) })
}

// coverage says what the entry lacks: of the platforms that are demanded, and of
// what ties it to a signature.
func (v *verifier) coverage(about scribe, c *accountCase) {
	l := about.lock
	if len(l.Hashes) == 0 {
		about.add(provider.CodePlatformMissing, "%s %s has no hash at all, so that init takes whatever package it is served", l.Addr, l.Version)
		return
	}
	if len(c.files) == 0 {
		return
	}
	recorded := map[provider.Hash]bool{}
	signed := false
	for _, h := range l.Hashes {
		recorded[h] = true
		signed = signed || h.Scheme() == provider.SchemeZH
	}
	if !signed && !c.unsigned {
		about.add(provider.CodeZHMissing, "%s %s has no zh hash, so that no signature stands for it", l.Addr, l.Version)
	}
	for _, p := range v.Platforms {
		file, published := c.file(p)
		has := slices.ContainsFunc(file.Contents, func(h provider.Hash) bool { return recorded[h] })
		switch {
		case !published:
			f := about.add(provider.CodePlatformMissing, "%s %s is not published for %s", l.Addr, l.Version, p)
			f.Platform, f.Severity = p, asNote
		case !recorded[file.ZH] && !has && !c.mayHave(l, file):
			f := about.add(provider.CodePlatformMissing, "%s %s has no hash for %s, where init fails", l.Addr, l.Version, p)
			f.Platform = p
		case recorded[file.ZH] && !has && !c.mayHave(l, file):
			f := about.add(provider.CodeH1Missing, "%s %s has the zh for %s and not the h1, which a plugin cache is checked by", l.Addr, l.Version, p)
			f.Platform = p
		}
	}
}

// ledgerSigner says that another key has signed the release than the ledger knows,
// and that this is the same key by a part of its fingerprint.
func (v *verifier) ledgerSigner(about scribe, c *accountCase) {
	l, key := about.lock, c.signer
	before, changed := v.formerKey(c)
	switch {
	case changed:
		about.add(provider.CodeSignerChanged, "%s was signed by the key %s, and %s is signed by %s", l.Addr, before, l.Version, cmp.Or(key.Fingerprint, "nobody")).About = before + " " + key.Fingerprint
	case before != "" && len(before) < len(key.Fingerprint) && key.Is(before):
		about.add(provider.CodeKeyShortID, "the ledger names the key of %s by %s; its fingerprint is %s", l.Addr, before, key.Fingerprint).About = before
	}
}

// formerKey is who has signed the release by the ledger. It is changed if that is
// another key than now, and neither the ledger nor the configuration says that both
// are right.
func (v *verifier) formerKey(c *accountCase) (before string, changed bool) {
	addr, key := c.release.want.Addr, c.signer
	before = v.Ledger.key(addr, c.release.want.Version)
	switch {
	case before == "", key.Is(before), v.Ledger.rotated(addr, before, key.Fingerprint):
		return before, false
	case v.pinned(addr) && v.Signers.Admits(addr, key) && v.Signers.Admits(addr, provider.Signer{KeyID: before, Fingerprint: before}):
		return before, false
	}
	return before, true
}

// pinned reports whether the configuration says who may sign a provider.
func (v *verifier) pinned(addr provider.Addr) bool {
	for p := range v.Signers {
		if p.Match(addr) {
			return true
		}
	}
	return false
}

// seen notes the packages of the release for a ledger: but not where another key has
// signed them. What the next run finds would be known by then, and be no change.
func (v *verifier) seen(r *Verification, c *accountCase) {
	if _, changed := v.formerKey(c); changed || c.mirror != "" {
		return
	}
	for _, f := range c.files {
		r.Seen = append(r.Seen, Sighting{
			Addr: c.release.want.Addr, Version: c.release.want.Version, Platform: f.Platform, ZH: f.ZH, Fingerprint: c.signer.Fingerprint,
		})
	}
}
