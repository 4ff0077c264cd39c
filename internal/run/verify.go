package run

import (
	"context"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/verify"
)

// proveAll proves or refutes every hash of the found lock files. A root module with its own
// providers is compared with its own source, since no checksum list covers these providers.
func proveAll(ctx context.Context, j job, p planned) planned {
	defer j.clock.stage(stageVerify)()
	all := withPlugins(j, p.all())
	policy := policyOf(j)
	by, _ := p.inForce() // in error, nothing is excused
	policy.Signers, policy.Severities, policy.Strict, policy.Options.AcceptReReleased = by.Signers, by.Severities, by.Strict, by.AcceptReReleased
	results := make([]verify.Verification, len(all))
	for source, indices := range bySource(j, all) {
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

// policyOf returns what the request requires of lock files.
func policyOf(j job) verify.Policy {
	plan, c := j.plan, j.settings
	return verify.Policy{
		Only: plan.Only, Strict: plan.Strict, Platforms: plan.Platforms.List, Keep: plan.Keep, KeepUnreferenced: plan.KeepUnreferenced,
		Signers: plan.Signers, Ledger: j.ask.judged.Ledger, Baseline: j.ask.judged.Baseline, Severities: c.Severities, Offline: c.Offline,
		Packages: c.Packages, Recheck: c.Recheck, Seed: j.env.Getenv("GITHUB_SHA"),
		Options: verify.Options{Allowance: verify.NewAllowance(c.MaxDownload), Jobs: plan.Jobs, Announce: j.env.Announce, AcceptReReleased: plan.AcceptReReleased, Admits: admits(j)},
	}
}

// admits reports which providers' registries the run may ask; nil: all.
func admits(j job) func(provider.Addr) bool {
	admitted := j.contact()
	if admitted == nil {
		return nil
	}
	return func(addr provider.Addr) bool { return admitted(string(addr.Host)) }
}

// proofs counts the kinds of proof for the hashes of proposed lock files; nil if no
// question could be asked. The plan has proven the hashes that it wrote, so few questions
// are asked again.
func proofs(ctx context.Context, j job, plans []found) verify.Counts {
	policy := policyOf(j)
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
			policy.Platforms = append(slices.Clip(policy.Platforms), s.Platforms...)
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
