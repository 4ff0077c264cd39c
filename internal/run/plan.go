package run

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// plan asks the registries and adds each root module to the report.
func (c *corridor) plan(ctx context.Context) error {
	c.req.Plan.Rules = append(slices.Clip(c.req.Plan.Rules), c.ignores()...)
	c.req.Plan.Now = c.env.Now
	c.req.Plan.Dates = c.dateSource()
	results := c.results(ctx)
	c.formerSigners(ctx, results)
	c.account(ctx, results)
	c.tellOutages()
	defer c.stage(stageDiff)()
	for i, r := range results {
		c.found[i].result = r
		c.report.Modules = append(c.report.Modules, c.describe(c.found[i]))
	}
	return nil
}

// tellOutages says once of each host that does not answer why that is so. What was
// not asked for it says no more than that.
func (c *corridor) tellOutages() {
	for _, o := range c.client.Outages() {
		c.report.Diagnostics = append(c.report.Diagnostics, provider.Diagnostic{
			Code: provider.CodeUnreachable, Severity: provider.SeverityWarning,
			Message: fmt.Sprintf("%s does not answer: %v", o.Host, o.Reason),
			Hint:    "what needs it is left as it is; run again when it answers",
		})
	}
}

// describe makes the report of a root module's plan.
func (c *corridor) describe(f found) report.Module {
	return report.FromPlan(f.result, changesOf(f.result)).Shown(c.show(f.tree))
}

// changesOf are the changes of a plan.
func changesOf(r upgrade.Result) []diff.Change {
	changes := diff.Locks(r.Old, r.New, platformsOf(r))
	if r.File != nil && len(changes) == 0 {
		changes = diff.Rewritten(r.New)
	}
	return changes
}

// pluginDir is where both tools look for providers first: below the directory
// that they run in.
const pluginDir = "terraform.d/plugins"

// results plans all root modules at once, so that nothing is asked twice, but
// for those that keep providers of their own: what these would get nobody else
// does. In a pull request and on GitHub such providers are not used.
func (c *corridor) results(ctx context.Context) []upgrade.Result {
	defer c.stage(stagePlan)()
	results := make([]upgrade.Result, len(c.found))
	usable := c.target.remote() == nil && c.req.Verb != PR && !c.env.OnGitHub
	var indexes []int
	var modules []scan.RootModule
	for i, f := range c.found {
		dir := path.Join(f.module.Dir, pluginDir)
		plugins, err := fs.Sub(f.tree.FS(), dir)
		if info, statErr := fs.Stat(f.tree.FS(), dir); err != nil || statErr != nil || !info.IsDir() {
			indexes, modules = append(indexes, i), append(modules, f.module)
			continue
		}
		c.found[i].plugins = c.source.In(plugins, c.show(f.tree)(dir), usable)
		results[i] = upgrade.Plan(ctx, timed{c.found[i].plugins, &c.asked}, []scan.RootModule{f.module}, c.req.Plan)[0]
	}
	for i, r := range upgrade.Plan(ctx, timed{c.source, &c.asked}, modules, c.req.Plan) {
		results[indexes[i]] = r
	}
	return results
}

// formerSigners learns who signed what the lock files hold now.
func (c *corridor) formerSigners(ctx context.Context, results []upgrade.Result) {
	defer c.stage(stageSigners)()
	upgrade.FormerSigners(ctx, c.source, results, c.req.Plan.Jobs)
}

// platformsOf joins what the selections know of the platform of each hash.
func platformsOf(r upgrade.Result) map[provider.Hash]provider.Platform {
	known := map[provider.Hash]provider.Platform{}
	for _, s := range r.Selections {
		for h, p := range s.Hashes {
			known[h] = p
		}
	}
	return known
}
