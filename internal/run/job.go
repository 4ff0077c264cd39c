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

// job is an ask for one file tree, with the settings and clients for it. Each step of a run
// returns new values, and changes none.
type job struct {
	*Session
	ask      Ask
	settings settings.Settings
	target   target
	visit    Visit
	// scan, plan and access follow the settings.
	scan    scan.Options
	plan    upgrade.Options
	access  access
	source  *registry.Client
	modules *module.Client
	dates   *memo.Memo[ask.Question, time.Time] // of releases; rules ask for them
	clock   *clock
}

// newJob makes the job for one file tree.
func newJob(s *Session, a Ask, c settings.Settings, t target, visit Visit) job {
	j := job{
		Session: s, ask: a, settings: c, target: t, visit: visit, scan: a.searching(c), plan: a.planning(c), access: accessFor(s.env, a, c),
		dates: &memo.Memo[ask.Question, time.Time]{}, clock: &clock{},
	}
	client := s.clientFor(a)
	j.source, j.modules = s.registries(a.head, c, client), s.modulesFor(j, client)
	return j
}

// names are how output names the files of a tree. Readers of a pull request do not know
// relock's working directory, so there names are relative to the repository.
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
	options   upgrade.Options // of the plan
	report    report.Report
	unsaid    *report.Report    // what no open pull request says; nil until it was delivered
	notices   []problem.Problem // about what is read; they are in no pull request
}

// findRoots finds the root modules, and begins the report.
func findRoots(ctx context.Context, j job) (planned, error) {
	there, err := findAll(ctx, j)
	p := planned{inventory: there, report: j.ask.report()}
	p.report.DryRun, p.report.Asked, p.report.Summarised = j.settings.DryRun, report.Asked{Providers: j.plan.Only}, j.env.Summary
	if j.plan.Platforms.Demanded {
		p.report.Asked.Platforms = j.plan.Platforms.List
	}
	p.report.Diagnostics = append(slices.Clip(j.warnings), there.diagnostics...)
	p.report.Unlocked, p.report.PassedOver, p.report.Touched = there.unlocked, there.passedOver, j.ask.change != nil && there.extent.differs != nil
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

// withUnits is the job with the files that its settings let units read.
func withUnits(ctx context.Context, j job) (job, error) {
	r := j.target.remote
	if r == nil || len(j.settings.Environments) == 0 {
		return j, nil
	}
	files, err := r.withUnits(ctx, environments(j.settings))
	if err != nil {
		return j, err
	}
	j.target.remote = files
	return j, nil
}

func spent(j job) report.Stats {
	all := j.Session.Spent()
	all.Stages = j.clock.ended
	return all
}

// The stages of a run in its statistics. upgrade names those within a plan.
const (
	stageScan    = "scan"
	stagePlan    = "plan"
	stageSigners = "signers"
	stageAccount = "account"
	stageVerify  = "verify"
	stageRules   = "rules"
	stageDiff    = "diff"
	stageWrite   = "write"
	stagePropose = "propose"
)

// clock is how long the stages of a run took.
type clock struct {
	ended []report.Stage
	// counted is the time of all stages that have ended.
	counted time.Duration
}

// stage begins a stage. The function that it returns ends it. The time of a stage does not
// include that of stages within it.
func (c *clock) stage(name string) (end func()) {
	began, before := time.Now(), c.counted
	return func() {
		took := time.Since(began)
		own := report.Elapsed(took - (c.counted - before))
		c.counted = before + took
		i := slices.IndexFunc(c.ended, func(s report.Stage) bool { return s.Name == name })
		if i < 0 {
			c.ended = append(c.ended, report.Stage{Name: name, Took: own})
		} else {
			c.ended[i].Took += own
		}
	}
}
