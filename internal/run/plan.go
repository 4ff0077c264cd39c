package run

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/diff"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// reportPlan completes the plan of planEach, and adds each root module to the report.
func reportPlan(ctx context.Context, j job, p planned) planned {
	p = accountAll(ctx, j, p)
	for i, f := range p.found {
		if len(j.ask.modules) > 0 {
			p.found[i].result = f.result.Forced(nil)
		}
	}
	if _, pulls := j.ask.to.(Pulls); pulls {
		p.found = planApart(ctx, j, p.found, p.options)
	}
	p.report.Diagnostics = slices.Concat(p.report.Diagnostics, outages(j), ageless(p.found))
	defer j.clock.stage(stageDiff)()
	_, onDisk := j.ask.to.(Disk)
	reported := j.ask.to == nil || onDisk // nothing goes to GitHub
	for i, f := range p.all() {
		p.report.Modules = append(p.report.Modules, describe(j, f))
		if reported && i < len(p.found) {
			p.found[i].result.Selections = nil // for thousands of root modules they need the most memory
		}
	}
	return p
}

// planEach asks the registries, plans for each root module by the options of the plan, and finds
// out who signed the present entries.
func planEach(ctx context.Context, j job, p planned) planned {
	done := j.clock.stage(stagePlan)
	all := withPlugins(j, p.found)
	sources, divided := bySource(j, all)
	for at, source := range sources {
		indices := divided[at]
		for n, r := range upgrade.Plan(ctx, source, modulesAt(all, indices), p.options) {
			all[indices[n]].result = r
		}
	}
	done()
	defer j.clock.stage(stageSigners)()
	upgrade.FormerSigners(ctx, j.source, resultsOf(all), j.settings.Jobs)
	p.found = all
	return p
}

// with is a plan that is made by options.
func (p planned) with(opts upgrade.Options) planned {
	p.options = opts
	return p
}

// planOptions are the job's options, with further facts of the run.
func planOptions(j job, p planned) upgrade.Options {
	opts := j.plan
	rules := policy.OfComments(p.proposing.survey.Ignores)
	opts.Policy.Rules, opts.Policy.Now = append(slices.Clip(opts.Policy.Rules), rules...), j.env.Now
	opts.Announce, opts.SizesFirst, opts.Stage = j.env.Announce, j.env.SizesFirst, j.clock.stage
	if hashSource(j.settings) == "" { // a hash source may save the downloads
		opts.Sizes = j.source
	}
	opts.Dates = dateSource(j, p.proposing.client)
	opts.Former = j.source
	opts.Overridden = map[provider.ToolName][]provider.Addr{}
	for name, config := range j.configs {
		opts.Overridden[name] = config.Overridden()
	}
	if len(j.ask.modules) > 0 {
		return onlyForced(opts, "")
	}
	return opts
}

// outages reports once for each host that does not answer why it does not. Other problems
// do not repeat it.
func outages(j job) []problem.Problem {
	var all []problem.Problem
	for _, o := range j.client.Outages() {
		all = append(all, problem.Problem{
			Code: problem.CodeUnreachable, Severity: problem.SeverityWarning,
			Message: fmt.Sprintf("%s does not answer: %s", o.Server, o.Reason), Outage: o,
			Hint: "run again when it answers: everything that needs it stays as it is",
		})
	}
	return all
}

// ageless names the locked modules that move though a rule demands an age, since nothing says
// how old they are, in one line.
func ageless(all []found) []problem.Problem {
	var modules collect.Set[string]
	for _, f := range all {
		for _, h := range f.result.Module.Tree.Held {
			if h.By.Reason == "" {
				modules.Add(moduleaddr.Shown(h.Address))
			}
		}
	}
	if len(modules.List) == 0 {
		return nil
	}
	return []problem.Problem{{
		Code: problem.CodePolicy, Severity: problem.SeverityWarning,
		Message: "minimum-age is not judged for " + collect.Count(len(modules.List), "locked module", "locked modules") +
			", since no registry states a date: " + collect.First(modules.List, mostNamed),
	}}
}

// describe makes the report of a root module's plan. Findings that the baseline accepts are
// left out.
func describe(j job, f found) report.Module {
	m := report.FromPlan(f.result, changesOf(f.result)).Named(j.names(f.tree))
	m.Findings, m.Accepted = j.ask.judged.Baseline.Accept(m.Findings)
	m.Forgiven, m.HashesOnly = f.forgiven, f.module.Alone
	return m
}

func changesOf(r upgrade.Result) []diff.Change {
	changes := diff.Locks(r.Old, r.New, platformsOf(r))
	if r.File != nil && len(changes) == 0 {
		changes = diff.Rewritten(r.New)
	}
	return changes
}

// bySource divides root modules by the source that they ask, so that nothing is asked twice.
// indices has those of each source. Each root module with its own providers has its own
// source. All others share one, which comes last.
func bySource(j job, all []found) (sources []*registry.Client, indices [][]int) {
	var common []int
	for i, f := range all {
		if f.plugins == nil {
			common = append(common, i)
		} else {
			sources, indices = append(sources, f.plugins), append(indices, []int{i})
		}
	}
	return append(sources, j.source), append(indices, common)
}

func modulesAt(all []found, indices []int) []scan.RootModule {
	return collect.Mapped(indices, func(i int) scan.RootModule { return all[i].module })
}

// withPlugins adds the source of each root module that keeps its own providers. In a pull
// request and on GitHub such providers are not used.
func withPlugins(j job, all []found) []found {
	all = slices.Clone(all)
	usable := j.target.remote == nil && j.ask.verb != verbs.PR && !j.env.OnGitHub
	for i, f := range all {
		dir := path.Join(f.module.Dir, scan.PluginDir)
		plugins, err := fs.Sub(f.tree.FS(), dir)
		if err == nil && hasPlugins(f.tree, f.module) {
			all[i].plugins = j.source.In(plugins, j.names(f.tree).Of(dir), usable)
		}
	}
	return all
}

// hasPlugins reports whether a root module keeps its own providers.
func hasPlugins(t tree, m scan.RootModule) bool {
	info, err := fs.Stat(t.FS(), path.Join(m.Dir, scan.PluginDir))
	return err == nil && info.IsDir()
}

func resultsOf(all []found) []upgrade.Result {
	return collect.Mapped(all, func(f found) upgrade.Result { return f.result })
}

// platformsOf is the known platform of each hash, from the selections.
func platformsOf(r upgrade.Result) map[provider.Hash]provider.Platform {
	known := map[provider.Hash]provider.Platform{}
	for _, s := range r.Selections {
		for h, p := range s.Hashes {
			known[h] = p
		}
	}
	return known
}
