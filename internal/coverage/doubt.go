package coverage

import (
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// harmless reports whether the failed packages of an entry do not matter, because other
// entries cover their platforms:
//
//   - The witnesses before it cover all of them.
//   - The lock file covers all of them, and as many hashes are left.
//   - No new entry replaces it, platforms were selected, and at least as many of them are
//     covered as hashes are left.
func (r *recovered) harmless(p placed) bool {
	among := func(covered []provider.Platform) int {
		return collect.CountIf(p.unknown, func(q provider.Platform) bool { return slices.Contains(covered, q) })
	}
	both := among(r.covered)
	switch {
	case p.entry.side:
		return false
	case among(p.before) == len(p.unknown), p.left == both && both == len(p.unknown):
		return true
	}
	return r.selected && p.left <= both && !p.entry.moves
}

// doubts are the errors of entries that cannot be decided. If an entry's platforms are not
// known, it may cover a platform that no other does, and the new entries would lack it.
func (r *recovered) doubts(f LockFile) map[provider.Addr]error {
	doubts := map[provider.Addr]error{}
	for _, e := range f.Renewals {
		if e.untold() && !e.withdrawn() {
			r.doubt(r.unheard(f.witnessOf(e, e.Old), e), f, doubts)
		}
	}
	for _, p := range r.failed {
		if p.entry.moves || p.entry.side { // this entry fails, and an error says so; then any entry with as many hashes can answer instead
			p.before, p.gaps = r.covered, r.gaps.atLeast(len(p.entry.old.H1))
		}
		r.doubt(p, f, doubts)
	}
	return doubts
}

// untold reports whether an entry has h1 hashes that say nothing about platforms, because
// its release is not known.
func (e Renewal) untold() bool {
	return e.InLock && len(e.ByRule) == 0 && len(e.Old.H1) > 0 && e.Old.Release == nil
}

// withdrawn reports whether no later run can learn the platforms of an entry either: its
// release is withdrawn.
func (e Renewal) withdrawn() bool { return e.untold() && e.Unheard == nil && e.Withdrawn }

// unheard is an entry that would be a witness if its offered releases were known, or if its
// locked version were offered. It would come before entries with fewer hashes.
func (r *recovered) unheard(w witness, e Renewal) placed {
	atLeast, err := len(w.old.H1), e.Unheard
	if err == nil {
		err = e.NotOffered
		if len(r.covered) > 1 {
			// Such a version is still missing in the next run. So any entry may say which
			// platforms the lock file does not cover.
			atLeast = 1
		}
	}
	return placed{entry: w, unknown: provider.KnownPlatforms, before: r.covered, gaps: r.gaps.atLeast(atLeast), err: err}
}

// atLeast are the gaps of entries with at least count hashes.
func (g gaps) atLeast(count int) gaps {
	some := maps.Clone(g)
	maps.DeleteFunc(some, func(_ provider.Platform, most int) bool { return most < count })
	return some
}

// doubt adds an error for each entry that the failure of p makes uncertain. One is p's own
// entry, if it would lose hashes. Another is every entry whose new release serves a
// platform that p may cover.
func (r *recovered) doubt(p placed, f LockFile, doubts map[provider.Addr]error) {
	for _, e := range f.Renewals {
		if e.Failed || doubts[e.Addr] != nil || e.Gone || len(e.ByRule) > 0 {
			continue
		}
		loses := e.Addr == p.entry.addr && (p.entry.moves || p.entry.side)
		tells := func(q provider.Platform) bool { return !slices.Contains(r.shown[e.Addr], q) && r.opens(p, q) }
		if loses || slices.ContainsFunc(servedOf(e.New, provider.KnownPlatforms), tells) {
			doubts[e.Addr] = p.failure()
		}
	}
}

// opens reports whether the failure of an entry hides whether the lock file covers a
// platform. If a failure leaves fewer than two platforms known, the default list must not
// be added: there may be more. An entry with a single hash and no question about it is
// different: the hash is taken as that of the one known platform.
func (r *recovered) opens(p placed, q provider.Platform) bool {
	if slices.Contains(p.unknown, q) && p.gaps[q] == 0 && !slices.Contains(p.before, q) {
		return true
	}
	several := len(p.entry.old.H1) > 1 || p.left > 0 && len(r.covered) == 1
	cut := len(r.covered) < 2 && several && !problem.Coded(p.err, problem.CodeLockedVersion)
	return cut && !slices.Contains(r.covered, q) && slices.Contains(provider.DefaultPlatforms, q)
}

// mayPass are the codes of failures that may be over in the next run. A withdrawn release
// does not return.
var mayPass = []problem.Code{problem.CodeUnreachable, problem.CodeCancelled, problem.CodeGitHub}

// failure is the error that says why an entry's platforms are not known.
func (p placed) failure() error {
	addr, v, code := p.entry.addr, p.entry.old.Version, problem.Of(p.err).Code
	hint := "name the platforms with --platform or the setting platforms, and no old package is asked for"
	if slices.Contains(mayPass, code) {
		hint = "try again; or " + hint
	}
	return &problem.Error{
		Problem: problem.Problem{
			Code: code, Host: addr.Host, Subject: problem.Subject{Addr: addr, Version: v, Versioned: !v.IsZero()},
			Message: fmt.Sprintf("recovering the platforms of the lock file from %s %s", addr, v),
			Hint:    hint,
		},
		Err: p.err,
	}
}
