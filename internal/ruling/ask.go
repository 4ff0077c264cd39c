package ruling

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// Everything that waits for answers from outside is in this file.

// learned is the answer to a question, or the error instead. The zero value is for a
// question that was not asked.
type learned[T any] struct {
	value T
	asked bool
	err   error
}

// known reports whether there is an answer.
func (l learned[T]) known() bool { return l.asked && l.err == nil }

// askEach asks a question about the release of each binding entry for which it is wanted.
func askEach[T any](o Options, entries []ruled, wanted func(ruled) bool, answer func(ask.Question) (T, error)) map[ask.Question]learned[T] {
	var asked []ask.Question
	for _, e := range entries {
		if e.binding && wanted(e) {
			asked = append(asked, e.question())
		}
	}
	return ask.Each(o.Plan.Jobs, asked, func(q ask.Question) learned[T] {
		value, err := answer(q)
		return learned[T]{value, true, err}
	})
}

// askDates asks for the dates of releases for which a rule demands an age. The date is zero
// if no source knows it. It is an error if a source could not be asked.
func askDates(ctx context.Context, o Options, entries []ruled) map[ask.Question]learned[time.Time] {
	demands := func(e ruled) bool { return e.rules.NeedsDate(provider.Release{Version: e.lock.Version}) }
	return askEach(o, entries, demands, func(q ask.Question) (time.Time, error) {
		return o.Plan.Dates.Published(ctx, q.Tool, q.Want)
	})
}

// askListings asks for the checksum lists of releases to which a choice of signers applies,
// by the first package of each. A release that only mirrors have has no list, and no
// signer.
func askListings(ctx context.Context, src upgrade.Source, o Options, entries []ruled) map[ask.Question]learned[provider.Listing] {
	pinned := func(e ruled) bool { return o.Signers.Pins(e.lock.Addr) }
	return askEach(o, entries, pinned, func(q ask.Question) (provider.Listing, error) {
		offer, err := src.Versions(ctx, q.Tool, q.Want.Addr)
		if err != nil {
			return provider.Listing{}, err
		}
		for _, r := range offer.Releases {
			if r.Version == q.Want.Version && len(r.Platforms) > 0 {
				q.Want.Platform = r.Platforms[0]
				return src.Listing(ctx, q.Tool, q.Want)
			}
		}
		return provider.Listing{}, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeNoPackage, Host: q.Want.Addr.Host, Subject: problem.Subject{Addr: q.Want.Addr},
			Message: fmt.Sprintf("the registry lists no package of %s %s", q.Want.Addr, q.Want.Version),
		}}
	})
}

// cornered are the refused entries for which the rules leave no release that the
// constraints allow. relock itself would select a refused release for them. The constraints
// are those of the base, so that a change cannot excuse itself. It plans only root modules
// of the base in which a breach is an error, with the versions that they have there.
func cornered(ctx context.Context, src upgrade.Source, refused []refusedEntry, o Options) map[ruledAt]bool {
	versions := map[string][]lockfile.Lock{}
	plan := o.Plan
	plan.Mode, plan.Policy, plan.Only = upgrade.Upgrade, o.Rules, nil
	for _, r := range refused {
		if r.severity == problem.SeverityError && r.breach.Code != problem.CodeProviderRefused {
			l := r.entry.lock
			l.Version = r.entry.rules.From
			plan.Only = append(plan.Only, l.Addr.Pattern())
			versions[r.entry.former] = append(versions[r.entry.former], l)
		}
	}
	if len(versions) == 0 || o.Former == nil {
		return nil
	}
	roots := slices.DeleteFunc(o.Former(slices.Sorted(maps.Keys(versions))), func(m scan.RootModule) bool {
		return len(m.All().Unread) > 0 || problem.AnyError(m.All().Diagnostics)
	})
	for i, m := range roots {
		roots[i].Lock = &lockfile.File{Tool: m.Tool.Name, Locks: withVersion(versions[m.Dir])}
	}
	excused := map[ruledAt]bool{}
	for i, addrs := range upgrade.Cornered(ctx, src, roots, plan) {
		for _, addr := range addrs {
			excused[ruledAt{roots[i].Dir, addr}] = true
		}
	}
	return excused
}

// ruledAt is a provider in a directory of the base.
type ruledAt struct {
	dir  string
	addr provider.Addr
}

// withVersion are the entries that have a version, each once, since an entry may break two
// rules.
func withVersion(locks []lockfile.Lock) []lockfile.Lock {
	var kept []lockfile.Lock
	for _, l := range locks {
		if !l.Version.IsZero() && (len(kept) == 0 || kept[len(kept)-1].Addr != l.Addr) {
			kept = append(kept, l)
		}
	}
	return kept
}
