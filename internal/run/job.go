package run

import (
	"context"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/module"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// job is an ask for one file tree, by the settings that hold for that, with the clients
// that it asks. What a run learns is in the values that its steps return, each made from
// those before.
type job struct {
	*Session
	ask      Ask
	settings settings.Settings
	target   target
	visit    Visit
	// scan, plan and access say how the settings have that done.
	scan    scan.Options
	plan    upgrade.Options
	access  access
	source  *registry.Client
	modules *module.Client
	dates   *memo.Memo[ask.Question, time.Time] // of releases, as far as rules have wanted them
	clock   *clock
	plans   int // how often the target was planned, this time included
}

// newJob begins the way of one file tree.
func newJob(s *Session, a Ask, c settings.Settings, t target, visit Visit) job {
	j := job{
		Session: s, ask: a, settings: c, target: t, visit: visit, scan: a.searching(c), plan: a.planning(c), access: accessFor(s.env, a, c),
		dates: &memo.Memo[ask.Question, time.Time]{}, clock: &clock{}, plans: 1,
	}
	client := s.clientFor(a)
	j.source, j.modules = s.registries(a.head, c, client), s.modulesFor(j, client)
	return j
}

// of is the job with these files of the same commit in place of those that it has.
func (j job) of(files *Remote) job {
	j.target.files = files
	return j
}

// names say how output names the files of a tree. In a pull request nobody knows the
// directory that relock ran in: there the repository is the base.
func (j job) names(t tree) problem.Naming {
	if j.ask.verb == verbs.PR {
		return problem.Naming{}
	}
	return t.names(j.env.WorkDir)
}

// planned is what a run knows before it writes anything.
type planned struct {
	inventory
	proposing proposing
	options   upgrade.Options // with which it was planned
	report    report.Report
	unsaid    *unsaid // nil before it was delivered
}

// inPlaceOf is what was planned with a part of the file tree in place of the whole.
func (b plannedBase) inPlaceOf(whole, part *Remote) plannedBase {
	swapped := func(t tree) tree {
		if t.remote == whole {
			t.remote = part
		}
		return t
	}
	if b.job.target.remote() == whole {
		b.job = b.job.of(part)
	}
	p := &b.planned
	p.trees, p.found, p.hashesOnly = slices.Clone(p.trees), slices.Clone(p.found), slices.Clone(p.hashesOnly)
	for i := range p.trees {
		p.trees[i] = swapped(p.trees[i])
	}
	for _, all := range [][]found{p.found, p.hashesOnly} {
		for i := range all {
			all[i].tree = swapped(all[i].tree)
		}
	}
	return b
}

// findRoots finds the root modules, and begins the report with what that says.
func findRoots(ctx context.Context, j job) (planned, error) {
	there, err := findAll(ctx, j)
	p := planned{inventory: there, report: j.ask.report()}
	p.report.DryRun, p.report.Asked, p.report.Summarised = j.settings.DryRun, restriction(j), j.env.Summary
	p.report.Diagnostics = append(slices.Clip(j.warnings), there.diagnostics...)
	p.report.Unlocked, p.report.PassedOver, p.report.Touched = there.unlocked, there.passedOver, there.extent.changed != nil
	p.report.Excluded = there.excluded
	return p, err
}

// describeAll makes the report of a scan.
func describeAll(j job, p planned) planned {
	p.report.Diagnostics = append(p.report.Diagnostics, outages(j)...)
	for _, f := range p.found {
		p.report.Modules = append(p.report.Modules, report.FromScan(f.module).Named(j.names(f.tree)))
	}
	return p
}

// spent says what the run cost.
func spent(j job) report.Stats {
	all := j.Session.Spent()
	all.Stages = j.clock.times()
	return all
}
