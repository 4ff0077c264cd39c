package coverage

import (
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// harmless reports whether it does not matter what a failure leaves open: witnesses
// before the entry cover those platforms anyway, or another one does and the number
// of hashes says that this one does, too: all of them or, where no entry is made
// anew, as many as are left.
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

// doubts say what cannot be decided where an entry does not say what it covers:
// it may be platforms that no other covers, and the new entries of others would
// lack them.
func (r *recovered) doubts(f LockFile) map[provider.Addr]error {
	doubts := map[provider.Addr]error{}
	for _, e := range f.Renewals {
		if e.InLock && len(e.ByRule) == 0 && len(e.Old.H1) > 0 && e.Old.Release == nil {
			r.doubt(r.unheard(f.witnessOf(e, e.Old), e), f, doubts)
		}
	}
	for _, p := range r.failed {
		if p.entry.moves || p.entry.side { // it fails, which tells: then any entry of as many hashes can tell instead
			p.before, p.gaps = r.covered, r.gaps.atLeast(len(p.entry.old.H1))
		}
		r.doubt(p, f, doubts)
	}
	return doubts
}

// unheard is an entry that would be a witness, if what its registry offers were known,
// or were what is locked: before others of fewer hashes.
func (r *recovered) unheard(w witness, e Renewal) placed {
	atLeast, err := len(w.old.H1), e.Unheard
	if err == nil {
		err = e.NotOffered
		if len(r.covered) > 1 {
			// A version that is gone is as gone in the next run. Then any entry
			// can say what the lock file does without.
			atLeast = 1
		}
	}
	return placed{entry: w, unknown: provider.KnownPlatforms, before: r.covered, gaps: r.gaps.atLeast(atLeast), err: err}
}

// atLeast is what entries of so many hashes do without.
func (g gaps) atLeast(count int) gaps {
	some := maps.Clone(g)
	maps.DeleteFunc(some, func(_ provider.Platform, most int) bool { return most < count })
	return some
}

// doubt notes what one entry leaves open, and itself where it would lose what
// it covers. If it covers a platform that is open, that joins the others' unless a
// witness before it does without it; if not, that stays with those that have it.
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

// opens reports whether an entry leaves open that the lock file covers a platform.
// Where no two platforms are known for a failure, the default list must not join
// them as if there were no more. Nobody knows that of a single hash of which nothing
// was asked: it is taken to be that of the one platform that is known.
func (r *recovered) opens(p placed, q provider.Platform) bool {
	if slices.Contains(p.unknown, q) && p.gaps[q] == 0 && !slices.Contains(p.before, q) {
		return true
	}
	several := len(p.entry.old.H1) > 1 || p.left > 0 && len(r.covered) == 1
	cut := len(r.covered) < 2 && several && !problem.Coded(p.err, problem.CodeLockedVersion)
	return cut && !slices.Contains(r.covered, q) && slices.Contains(provider.DefaultPlatforms, q)
}

// mayPass are the codes of failures that may pass by themselves. A release that is gone
// does not come back.
var mayPass = []problem.Code{problem.CodeUnreachable, problem.CodeCancelled, problem.CodeGitHub}

// failure is why it is not known what an entry covers.
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
