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

// accountAll looks for recorded hashes that belong to no package. It looks at the entries
// as they were read, and only at providers of the plan. A root module with its own
// providers is compared with its own source, since no checksum list covers these providers.
func accountAll(ctx context.Context, j job, all []found) {
	defer j.clock.stage(stageAccount)()
	eachSource(j, all, func(source *registry.Client, indices []int) { judgeEach(ctx, j, source, all, indices) })
}

// judgeEach does so for the plans with the indices.
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

// suspectsOf are the entries of a plan whose hashes must be judged. It leaves out the
// entries that the plan itself has judged: the provider failed, its release was replaced,
// its packages come from a mirror, or the sides of a merge differ. After a merge, only
// proven hashes are written.
//
// A check also judges an entry that matches no package of its release: it compares the
// hashes with the checksum lists only. The other verbs fail for such an entry, and leave
// it. They download nothing for it.
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
			e.Explained = slices.Collect(maps.Keys(s.Hashes)) // by this run
		}
		suspects = append(suspects, e)
	}
	return suspects
}
