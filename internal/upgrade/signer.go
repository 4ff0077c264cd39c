package upgrade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// formerSigners is FormerSigners with what asks its questions.
func formerSigners(results []Result, ask asker) {
	var asked []packageKey
	for _, r := range results {
		for _, s := range r.Selections {
			asked = append(asked, s.former(r.Module.Tool)...)
		}
	}
	answers := ask.signers(asked)
	for _, r := range results {
		for i := range r.Selections {
			s := &r.Selections[i]
			for _, k := range s.former(r.Module.Tool) {
				s.SignerFrom = cmp.Or(s.SignerFrom, answers[k])
			}
		}
	}
}

// former names the package whose list tells who signed the release that the
// selection leaves; none if it stays, or if nobody is known to have signed the
// new one. The platform is one of the new entry's: releases rarely lose any.
func (s Selection) former(tool provider.Tool) []packageKey {
	if s.Err != nil || s.From.IsZero() || s.To.IsZero() || s.From == s.To || len(s.Platforms) == 0 || s.Signer == (provider.Signer{}) {
		return nil
	}
	return []packageKey{{tool, provider.Want{Addr: s.Requirement.Addr, Version: s.From, Platform: s.Platforms[0]}}}
}

// maySign reports whether a provider's releases may have this signer: any, unless
// Signers names the provider. What nobody signed, as in a mirror, has none of
// the keys.
func (o Options) maySign(addr provider.Addr, signer provider.Signer) bool {
	pinned := false
	for pattern, keys := range o.Signers {
		if !pattern.Match(addr) {
			continue
		}
		pinned = true
		if slices.ContainsFunc(keys, func(key string) bool { return names(key, signer.KeyID) }) {
			return true
		}
	}
	return !pinned
}

// names reports whether an ID, or the fingerprint that ends in it, is that of a
// key. People copy fingerprints in groups of digits.
func names(key, id string) bool {
	return id != "" && strings.HasSuffix(strings.ToUpper(strings.ReplaceAll(key, " ", "")), id)
}

func unpinned(want provider.Want, h provider.Hashes) error {
	subject, signer := fmt.Sprintf("the checksum list of %s %s", want.Addr, want.Version), "signed by no announced key"
	switch {
	case h.Mirror != "":
		subject, signer = fmt.Sprintf("the package of %s %s for %s", want.Addr, want.Version, want.Platform), "from the "+h.Mirror+", which no signature covers"
	case h.Signer.KeyID != "":
		signer = "signed by the key " + h.Signer.KeyID
	}
	return &provider.Error{
		Code: provider.CodeBadSignature, Host: want.Addr.Host, Addr: want.Addr, Version: want.Version, Platform: want.Platform,
		Message: fmt.Sprintf("%s is %s, and the configured signers of the provider are others", subject, signer),
		Hint:    "ask the provider's publisher; if the key is theirs, add it to the configured signers",
	}
}
