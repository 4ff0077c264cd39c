package upgrade

import (
	"cmp"
	"context"
	"runtime"

	"github.com/relock-dev/relock/internal/provider"
)

// SignerSource says who signed the checksum list of a release. It is no part of
// Source: a lock file is planned without this answer, so that whoever only
// plans need not be able to give it.
type SignerSource interface {
	// Signer verifies the checksum list that names the package, without the
	// package. The signer is zero where there is no list, as in a mirror.
	Signer(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Signer, error)
}

// FormerSigners notes in each selection that leaves one release for another who
// signed the one it leaves, so that a change of signer can be shown. A lock
// file does not say that, so the registry is asked for the old list, once for
// each distinct release. Nobody is asked of a release that was replaced under
// its version: its old list is gone, and only the new one is offered.
//
// What cannot be learned stays unknown: an old release may have been withdrawn,
// or its key may have been revoked since. That is no reason to stop an upgrade.
// jobs bounds the questions that are open at once; 0 means a default.
func FormerSigners(ctx context.Context, src SignerSource, results []Result, jobs int) {
	var asked []packageKey
	for _, r := range results {
		for _, s := range r.Selections {
			asked = append(asked, s.former(r.Module.Tool)...)
		}
	}
	answers := ask(cmp.Or(jobs, 4*runtime.GOMAXPROCS(0)), asked, func(k packageKey) provider.Signer {
		signer, err := src.Signer(ctx, k.tool, k.want)
		if err != nil {
			return provider.Signer{}
		}
		return signer
	})
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
