package run

import (
	"context"

	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/upgrade"
)

// account finds recorded hashes that belong to nothing. Whoever checks asks about
// what is committed now; the other verbs write nothing of an entry that they
// leave. A root module with providers of its own is held against its own source,
// which knows that no list covers these.
func (c *corridor) account(ctx context.Context, results []upgrade.Result) {
	defer c.stage(stageAccount)()
	judge := func(source *registry.Client, results []upgrade.Result) {
		upgrade.Account(ctx, source, results, upgrade.AccountOptions{
			Whole: c.req.Verb == Check, Allowance: c.allowance, Jobs: c.req.Plan.Jobs,
		})
	}
	var indexes []int
	var common []upgrade.Result
	for i, f := range c.found {
		if f.plugins != nil {
			judge(f.plugins, results[i:i+1])
			continue
		}
		indexes, common = append(indexes, i), append(common, results[i])
	}
	judge(c.source, common)
	for i, r := range common {
		results[indexes[i]] = r
	}
}
