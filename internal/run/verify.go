package run

import (
	"context"
	"maps"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
)

// proveAll proves or refutes every hash of the found lock files. A root module with its own
// providers is compared with its own source, since no checksum list covers these providers.
func proveAll(ctx context.Context, j job, p planned) planned {
	defer j.clock.stage(stageVerify)()
	all := withPlugins(j, p.all())
	by, _ := p.inForce() // in error, nothing is excused
	policy := policyOf(j, by)
	results := make([]verify.Verification, len(all))
	sources, divided := bySource(j, all)
	for at, source := range sources {
		indices := divided[at]
		proven, problems := verify.Prove(ctx, source, modulesAt(all, indices), policy)
		for n, i := range indices {
			results[i] = proven[n]
		}
		p.report.Diagnostics = append(p.report.Diagnostics, problems...)
	}
	p.report.Diagnostics = append(p.report.Diagnostics, outages(j)...)
	for i, v := range results {
		if policy.Ledger != nil {
			policy.Ledger.Note(v.Seen, j.env.Now)
		}
		m := report.FromVerification(v).Named(j.names(all[i].tree))
		m.HashesOnly = all[i].module.Alone
		p.report.Modules = append(p.report.Modules, m)
	}
	return p
}

// policyOf returns what the request requires of lock files that are judged by some settings.
func policyOf(j job, by settings.Settings) verify.Policy {
	plan, c := j.plan, j.settings
	return verify.Policy{
		Only: plan.Only, Strict: by.Strict, Platforms: plan.Platforms.List, Keep: plan.Keep, KeepUnreferenced: plan.KeepUnreferenced,
		Signers: by.Signers, Ledger: j.ask.judged.Ledger, Baseline: j.ask.judged.Baseline, Severities: by.Severities, Offline: c.Offline,
		Packages: c.Packages, Recheck: c.Recheck, Seed: j.env.Getenv("GITHUB_SHA"),
		Options: verify.Options{Allowance: verify.NewAllowance(c.MaxDownload), Jobs: plan.Jobs, Announce: j.env.Announce, AcceptReReleased: by.AcceptReReleased, Admits: j.contact()},
	}
}

// proofs counts the kinds of proof for the hashes of proposed lock files; nil if no
// question could be asked. The plan has proven the hashes that it wrote, so few questions
// are asked again.
func proofs(ctx context.Context, j job, plans []found) verify.Counts {
	policy := policyOf(j, j.settings)
	policy.Options.Allowance, policy.Options.Announce = j.allowance, nil
	policy.Recheck, policy.Packages = 0, false // only Verify does that
	var modules []scan.RootModule
	for _, f := range plans {
		m := f.module
		lock, problems := lockfile.Parse(f.result.File, path.Join(m.Dir, lockfile.Name))
		if len(problems) > 0 {
			continue // entries that stay as they are
		}
		m.Lock = lock
		modules = append(modules, m)
		for _, s := range f.result.Selections {
			policy.Platforms = append(slices.Clip(policy.Platforms), s.Coverage...)
		}
	}
	policy.Platforms = slices.Compact(slices.SortedFunc(slices.Values(policy.Platforms), provider.Platform.Compare))
	results, _ := verify.Prove(ctx, j.source, modules, policy)
	if ctx.Err() != nil {
		return nil
	}
	all := verify.Counts{}
	for _, r := range results {
		all.Add(r.Counts)
	}
	return all
}

// accountAll looks for recorded hashes that belong to no package, in the lock files as they
// were read. The plan's proofs save questions. A root module with its own providers is
// compared with its own source, since no checksum list covers these providers.
func accountAll(ctx context.Context, j job, p planned) planned {
	defer j.clock.stage(stageAccount)()
	all, proven := p.all(), provenBy(p.found)
	opts := verify.Options{
		Allowance: j.allowance, Jobs: j.settings.Jobs, Announce: j.env.Announce, AcceptReReleased: j.plan.AcceptReReleased, Admits: j.contact(),
	}
	if j.ask.verb == verbs.Check {
		by, _ := p.inForce() // in error, no release is accepted
		opts.Allowance, opts.AcceptReReleased = verify.NewAllowance(j.settings.MaxDownload), by.AcceptReReleased
	}
	sources, divided := bySource(j, all)
	for at, source := range sources {
		indices := divided[at]
		var suspects []verify.Suspect
		var of []int
		for _, i := range indices {
			some := suspectsOf(j, all[i], proven, opts.AcceptReReleased)
			suspects, of = append(suspects, some...), append(of, slices.Repeat([]int{i}, len(some))...)
		}
		for n, found := range verify.Judge(ctx, source, suspects, opts) {
			r, l := &all[of[n]].result, suspects[n].Lock
			r.Findings, r.Undecided = append(r.Findings, found.Found...), append(r.Undecided, found.Undecided...)
			for _, h := range found.Refuted {
				r.Refuted = append(r.Refuted, problem.Subject{Addr: l.Addr, Version: l.Version, Versioned: true, Hash: h})
			}
			if len(found.Found) > 0 && j.ask.verb == verbs.Check {
				*r = r.Accounted(l.Addr)
			}
		}
	}
	for i := range all {
		slices.SortStableFunc(all[i].result.Findings, verify.ByEntry)
		slices.SortStableFunc(all[i].result.Undecided, verify.ByEntry)
	}
	p.found, p.alone = all[:len(p.found)], all[len(p.found):]
	if j.ask.verb == verbs.Check {
		return blameChange(ctx, j, p)
	}
	return p
}

// provenBy are the hashes that a plan has proven, by release.
func provenBy(plans []found) map[lockfile.Pinned]map[provider.Hash]provider.Platform {
	all := map[lockfile.Pinned]map[provider.Hash]provider.Platform{}
	for _, f := range plans {
		for _, s := range f.result.Selections {
			of := lockfile.Pinned{Addr: s.Requirement.Addr, Version: s.To}
			if all[of] == nil {
				all[of] = map[provider.Hash]provider.Platform{}
			}
			maps.Copy(all[of], s.Hashes)
		}
	}
	return all
}

// suspectsOf are the entries of a lock file whose hashes must be judged. If the change may
// have added any, these are all entries, whether the configuration requires them or not.
//
// In other lock files they are the entries that the plan is about. Those that it has judged
// itself are left out: the provider failed, its release was replaced, its packages come from
// a mirror. A check compares those that match no package with lists all the same. An entry
// whose release the plan leaves is compared with lists alone. The sides of a merge are never
// judged: only proven hashes are written.
func suspectsOf(j job, f found, proven map[lockfile.Pinned]map[provider.Hash]provider.Platform, mayDiffer []provider.ReleasePattern) []verify.Suspect {
	lock, only := f.module.Lock, unseenLocks{only: j.plan.Only}
	if lock == nil {
		return nil
	}
	var suspects []verify.Suspect
	for _, l := range lock.Locks {
		i := slices.IndexFunc(f.result.Selections, func(s upgrade.Selection) bool { return s.Requirement.Addr == l.Addr })
		var s upgrade.Selection
		if i >= 0 {
			s = f.result.Selections[i]
		}
		accepted := slices.ContainsFunc(mayDiffer, func(some provider.ReleasePattern) bool { return some.Match(l.Addr, l.Version) })
		settled := s.Err == nil && !s.To.IsZero() && !s.Replaced && !slices.Contains(s.Marks, provider.MarkMirror)
		contradicted := j.ask.verb == verbs.Check && problem.Coded(s.Err, problem.CodeReReleased)
		if !only.isAbout(l.Addr) || accepted || lock.Disputed[l.Addr] != nil || !settled && !contradicted && !f.added {
			continue
		}
		e := verify.Suspect{
			Tool: f.module.Tool, Lock: l, Path: lock.Path, Covered: s.Coverage, Left: i >= 0 && s.From != s.To || contradicted,
			Explained: slices.Collect(maps.Keys(proven[lockfile.Pinned{Addr: l.Addr, Version: l.Version}])),
		}
		switch {
		case f.added:
			e.Depth = verify.Everything
		case !contradicted && (!e.Left || j.ask.verb == verbs.Check):
			e.Depth = verify.WithPackages
		}
		suspects = append(suspects, e)
	}
	return suspects
}
