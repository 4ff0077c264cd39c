package run

import (
	"context"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

// accountAll finds recorded hashes that belong to nothing, in the entries as they
// were read, of the providers that the plan is about. A root module with providers
// of its own is compared with its own source, which knows that no list covers
// these.
func accountAll(ctx context.Context, j job, all []found) {
	defer j.clock.stage(stageAccount)()
	eachSource(j, all, func(source *registry.Client, indices []int) { judgeEach(ctx, j, source, all, indices) })
}

// judgeEach accounts for the plans with the indices.
func judgeEach(ctx context.Context, j job, source *registry.Client, all []found, indices []int) {
	var suspects []verify.Suspect
	var of []int
	for _, i := range indices {
		some := suspectsOf(j, all[i].result)
		if all[i].hashesOnly {
			some = hashSuspects(j, all[i].module)
		}
		suspects, of = append(suspects, some...), append(of, slices.Repeat([]int{i}, len(some))...)
	}
	for n, found := range verify.Judge(ctx, source, suspects, verify.Options{
		Allowance: j.allowance, Jobs: j.settings.Jobs, Announce: j.env.Announce, AcceptReReleased: j.plan.AcceptReReleased,
	}) {
		r := &all[of[n]].result
		r.Findings, r.Undecided = append(r.Findings, found.Found...), append(r.Undecided, found.Undecided...)
		l := suspects[n].Lock
		for _, h := range found.Refuted {
			r.Refuted = append(r.Refuted, problem.Subject{Addr: l.Addr, Version: l.Version, Versioned: true, Hash: h})
		}
		if len(found.Found) > 0 && j.ask.verb == verbs.Check {
			*r = r.Accounted(l.Addr)
		}
	}
	for _, i := range indices {
		r := &all[i].result
		slices.SortStableFunc(r.Findings, verify.ByEntry)
		slices.SortStableFunc(r.Undecided, verify.ByEntry)
	}
}

// suspectsOf are the suspects of a plan that are judged. Left out are those of which
// the plan knows better: where the provider failed, where the release was found
// to be replaced, where the packages are those of a mirror, and where the sides
// of a merge differ: of their hashes only proven ones are written.
//
// A check asks about what is committed now: also of an entry that matches no
// package of its release, whose hashes are compared with the lists alone. The other verbs
// fail for that one. They write nothing of an entry that they leave, and download nothing
// for it.
func suspectsOf(j job, r upgrade.Result) []verify.Suspect {
	lock := r.Module.Lock
	if lock == nil {
		return nil
	}
	var suspects []verify.Suspect
	for _, s := range r.Selections {
		l, locked := lock.Lock(s.Requirement.Addr)
		contradicted := j.ask.verb == verbs.Check && problem.Coded(s.Err, problem.CodeReReleased)
		if !locked || lock.Disputed[l.Addr] != nil || s.Err != nil && !contradicted || s.To.IsZero() || s.Replaced || slices.Contains(s.Marks, provider.MarkMirror) {
			continue
		}
		e := verify.Suspect{Tool: r.Module.Tool, Lock: l, Path: lock.Path, Covered: s.Platforms, Left: s.From != s.To || contradicted}
		if !contradicted && (!e.Left || j.ask.verb == verbs.Check) {
			e.Depth = verify.WithPackages
		}
		if !e.Left {
			e.Explained = slices.Collect(maps.Keys(s.Hashes)) // by this very run
		}
		suspects = append(suspects, e)
	}
	return suspects
}
