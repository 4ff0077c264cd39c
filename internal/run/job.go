package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/relock-dev/relock/internal/ask"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/module"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
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

// of is the job with other files of the same commit.
func (j job) of(files *Remote) job {
	j.target.remote = files
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
	return j.of(files), nil
}

func spent(j job) report.Stats {
	all := j.Session.Spent()
	all.Stages = j.clock.times()
	return all
}

// The stages of a run in its statistics. The time for planning does not include the
// questions to registries.
const (
	stageScan     = "scan"
	stageVersions = "versions"
	stageHashes   = "hashes"
	stagePlan     = "plan"
	stageSigners  = "signers"
	stageAccount  = "account"
	stageVerify   = "verify"
	stageRules    = "rules"
	stageDiff     = "diff"
	stageWrite    = "write"
	stagePropose  = "propose"
)

// clock is how long the stages of a run took.
type clock struct {
	ended []report.Stage
	// versions and hashes are the questions to registries.
	versions, hashes span
}

// stage begins a stage. The function that it returns ends it.
func (c *clock) stage(name string) (end func()) {
	began := time.Now()
	return func() { c.ended = append(c.ended, report.Stage{Name: name, Took: report.Elapsed(time.Since(began))}) }
}

// times are the stages. The questions are taken out of planning.
func (c *clock) times() []report.Stage {
	var all []report.Stage
	for _, s := range c.ended {
		if s.Name == stagePlan {
			versions, hashes := report.Elapsed(c.versions.total), report.Elapsed(c.hashes.total)
			all = append(all, report.Stage{Name: stageVersions, Took: versions}, report.Stage{Name: stageHashes, Took: hashes})
			s.Took -= versions + hashes
		}
		all = append(all, s)
	}
	return all
}

// span is the time during which at least one question was open.
type span struct {
	mu    sync.Mutex
	open  int
	since time.Time
	total time.Duration
}

// begin opens a question. The function that it returns closes it.
func (s *span) begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	if s.open == 1 {
		s.since = time.Now()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
		if s.open == 0 {
			s.total += time.Since(s.since)
		}
	}
}

// timed is a source that measures the time of its answers.
type timed struct {
	upgrade.Source
	clock *clock
}

// Versions implements upgrade.Source.
func (t timed) Versions(ctx context.Context, tool provider.Tool, addr provider.Addr) (provider.Offer, error) {
	defer t.clock.versions.begin()()
	return t.Source.Versions(ctx, tool, addr)
}

// Hashes implements upgrade.Source.
func (t timed) Hashes(ctx context.Context, tool provider.Tool, want provider.Want) (provider.Hashes, error) {
	defer t.clock.hashes.begin()()
	return t.Source.Hashes(ctx, tool, want)
}
