package run

import (
	"context"

	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/upgrade"
)

// accountAll finds recorded hashes that belong to nothing. Whoever checks asks about
// what is committed now; the other verbs write nothing of an entry that they
// leave. A root module with providers of its own is held against its own source,
// which knows that no list covers these.
func accountAll(ctx context.Context, j job, all []found) {
	defer j.clock.stage(stageAccount)()
	var common []int
	for i, f := range all {
		if f.plugins != nil {
			judgeEach(ctx, j, f.plugins, all, []int{i})
			continue
		}
		common = append(common, i)
	}
	judgeEach(ctx, j, j.source, all, common)
}

// judgeEach accounts for the plans with the indices.
func judgeEach(ctx context.Context, j job, source *registry.Client, all []found, indices []int) {
	results := make([]upgrade.Result, len(indices))
	for n, i := range indices {
		results[n] = all[i].result
	}
	upgrade.Account(ctx, source, results, upgrade.AccountOptions{
		Whole: j.req.Verb == Check, Allowance: j.allowance, Jobs: j.req.Plan.Jobs,
	})
	for n, i := range indices {
		all[i].result = results[n]
	}
}
