package upgrade

import (
	"cmp"

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
