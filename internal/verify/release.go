package verify

import (
	"cmp"
	"fmt"

	"github.com/relock-dev/relock/internal/ledger"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// release adds findings about the release of an entry, its list and the list's signer.
// silent means that one finding covers all hashes, because none could be compared.
func (e judgedEntry) release() (silent bool) {
	if e.unavailable() {
		return true
	}
	if len(e.of.files) > 0 {
		e.signer()
		e.replaced()
	}
	return false
}

// unavailable adds a finding if the release, its list or a good signature is gone, so that
// no hash of the entry could be compared.
func (e judgedEntry) unavailable() bool {
	l := e.lock
	err, _ := e.of.err.(*problem.Error)
	switch {
	case e.of.gone:
		e.addOf(l.Hashes, problem.CodeReleaseGone, "%s %s is no longer published: the registry has neither the version nor a package of it", l.Addr, l.Version)
		return true
	case err != nil && err.Finding == problem.CodeListGone:
		e.addOf(l.Hashes, problem.CodeListGone, "the registry has %s %s, and its list of checksums or the signature of that is gone: %v", l.Addr, l.Version, err)
		return true
	case err != nil && err.Problem.Code == problem.CodeBadSignature:
		e.addOf(l.Hashes, problem.CodeSignatureBad, "%v", err)
		return true
	}
	return false
}

// signer adds findings about the key that signed the list.
func (e judgedEntry) signer() {
	l, key := e.lock, e.of.signer
	if e.of.unsigned {
		e.add(problem.CodeUnsigned, "the checksum list of %s %s is signed by nobody: the registry announces no key", l.Addr, l.Version)
	}
	if !e.policy.Signers.Admits(l.Addr, key) {
		e.result.add(SignerRefused(l, e.path, key))
	}
	switch {
	case key.Ahead:
		f := e.add(problem.CodeKeyExpired, "the key %s of %s %s, or its signature, is from the future by the clock of this machine; the tool accepts it still", key.Fingerprint, l.Addr, l.Version)
		f.About, f.Hint = key.Fingerprint, "set the clock of this machine"
	case key.Expired:
		e.add(problem.CodeKeyExpired, "the key %s of %s %s, or its signature, has expired; the tool accepts it still", key.Fingerprint, l.Addr, l.Version).About = key.Fingerprint
	}
	for pattern, keys := range e.policy.Signers {
		if !pattern.Match(l.Addr) {
			continue
		}
		for _, k := range keys {
			if len(k) == len(key.KeyID) && key.Is(k) {
				f := e.add(problem.CodeKeyShortID, "verify.signers names the key of %s by %s; its fingerprint is %s", l.Addr, k, key.Fingerprint)
				f.About, f.Hint = k, fmt.Sprintf("write %s in place of %s in verify.signers", key.Fingerprint, k)
			}
		}
	}
	e.ledgerSigner()
}

// SignerRefused is the finding that the key which signed the release's list is not among
// the configured signers. path is the path of the lock file.
func SignerRefused(l lockfile.Lock, path string, key provider.Signer) problem.Problem {
	by := "nobody"
	if key.Fingerprint != "" {
		by = "the key " + key.Fingerprint
	}
	message := fmt.Sprintf("the checksum list of %s %s is signed by %s, whom verify.signers does not admit", l.Addr, l.Version, by)
	f := scribe{lock: l, path: path}.ofEntry(problem.CodeSignerRefused, message)
	f.About, f.Hint = key.Fingerprint, "ask the publisher why nobody signs the release any more, and do not use it until then"
	if key.Fingerprint != "" {
		f.Hint = fmt.Sprintf("ask the publisher; if the key is right, add %s to the keys of %s in verify.signers", key.Fingerprint, l.Addr.Short())
	}
	return f
}

// replaced adds a finding if packages of the release were replaced under its version. The
// entry's hashes or the ledger show it.
func (e judgedEntry) replaced() {
	l := e.lock
	if e.policy.acceptsReReleased(e.lock) {
		return
	}
	gone := e.vanished()
	lost := e.policy.Ledger.Lost(l.Addr, l.Version, e.of.files)
	switch {
	case len(gone) > 0:
		e.addHash(problem.CodeReReleased, gone[0], "packages of %s %s were replaced after the lock file was written: recorded hashes are in no checksum list any more (%d)", l.Addr, l.Version, len(gone)).About = digestOf(gone)
	case len(lost) > 0:
		e.addOf(lost, problem.CodeReReleased, "packages of %s %s were replaced since the ledger has seen them (%d)", l.Addr, l.Version, len(lost))
	}
}

// vanished are the zh of an entry whose packages were probably replaced. One finding covers
// them all. If the replacement is accepted, it is empty, and each of these zh is a finding
// of its own.
func (e judgedEntry) vanished() []provider.Hash {
	if e.policy.acceptsReReleased(e.lock) || !e.of.account.replaced(e.lock) {
		return nil
	}
	var gone []provider.Hash
	for _, p := range e.judged {
		_, other := e.known[p.Hash]
		if p.Verdict == Disproven && p.Hash.Scheme() == provider.SchemeZH && p.Hash.WellFormed() && !other {
			gone = append(gone, p.Hash)
		}
	}
	return gone
}

// ledgerSigner adds a finding if the ledger has another key for the release, or if it has
// only a part of the key's fingerprint.
func (e judgedEntry) ledgerSigner() {
	l, key := e.lock, e.of.signer
	before, changed := e.formerKey()
	switch {
	case changed:
		f := e.add(problem.CodeSignerChanged, "%s was signed by the key %s, and %s is signed by %s", l.Addr, before, l.Version, cmp.Or(key.Fingerprint, "nobody"))
		f.About = before + " " + key.Fingerprint
		if key.Fingerprint != "" {
			f.Hint = fmt.Sprintf("ask the publisher; if the new key is right, name both in the configuration file: `verify: {signers: {%s: [%q, %q]}}`", l.Addr.Short(), before, key.Fingerprint)
		}
	case before != "" && len(before) < len(key.Fingerprint) && key.Is(before):
		f := e.add(problem.CodeKeyShortID, "the ledger names the key of %s by %s; its fingerprint is %s", l.Addr, before, key.Fingerprint)
		f.About, f.Hint = before, fmt.Sprintf("write %s in place of %s in the ledger", key.Fingerprint, before)
	}
}

// formerKey is the signer of the release according to the ledger. changed says that the key
// is now another one, and that neither the ledger nor the configuration accepts both.
func (e judgedEntry) formerKey() (before string, changed bool) {
	addr, key := e.of.release.Want.Addr, e.of.signer
	before = e.policy.Ledger.Key(addr, e.of.release.Want.Version)
	switch {
	case before == "", key.Is(before), e.policy.Ledger.Rotated(addr, before, key.Fingerprint):
		return before, false
	case e.policy.pinned(addr) && e.policy.Signers.Admits(addr, key) && e.policy.Signers.Admits(addr, provider.Signer{KeyID: before, Fingerprint: before}):
		return before, false
	}
	return before, true
}

// seen notes the packages of the release for a ledger, unless another key has signed them.
// The ledger would then know the new key, and the next run would find no change.
func (e judgedEntry) seen() {
	if _, changed := e.formerKey(); changed || e.of.mirror != "" {
		return
	}
	for _, f := range e.of.files {
		e.result.Seen = append(e.result.Seen, ledger.Sighting{
			Addr: e.of.release.Want.Addr, Version: e.of.release.Want.Version, Platform: f.Platform, ZH: f.Sum.ZH, Fingerprint: e.of.signer.Fingerprint,
		})
	}
}
