package run

import (
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/module"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/registry"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// job is a request for one target, and whoever is asked about it. What a run learns
// is in the values that its steps return, each made from those before.
type job struct {
	*Session
	req     Request
	target  Target
	visit   Visit
	source  *registry.Client
	modules *module.Client
	clock   *clock
	plans   int // how often the target was planned, this time included
}

// jobFor begins the way of one target.
func jobFor(s *Session, req Request, t Target, visit Visit) job {
	req.Targets = []Target{t}
	client := clientFor(s, req)
	j := job{Session: s, req: req, target: t, visit: visit, clock: &clock{}, plans: 1, source: s.registries(req, client), modules: s.modules}
	if req.Hub.Owner != "" && j.modules != nil {
		return j // which repositories call them makes no difference to whoever has a token for all
	}
	j.modules = module.New(client, s.configs, module.Options{
		Log: s.env.Log, Env: s.cliEnv(), AllowLocal: !s.env.OnGitHub && t.remote() == nil,
		Token: moduleToken(s, req), TokenHost: s.env.Server, Contact: contact(s, req), Ambient: ambient(req), Head: req.Head != NoHead,
		Cache: moduleCache(s.env, req), Jobs: req.Plan.Jobs, Documents: s.documentsFor(req),
	})
	if req.Hub.Owner != "" {
		s.modules = j.modules
	}
	return j
}

// names say how output names the files of a tree. In a pull request nobody knows the
// directory that relock ran in: there the repository is the base.
func (j job) names(t tree) problem.Naming {
	if j.req.Verb == verbs.PR {
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
}

// work learns what there is to know and brings it to its destination. When the
// time for asking is over, or an interrupt comes, what is known is carried through to
// the end. moved is the commit that the base was found at, for which all is to be
// planned again; empty if there is nothing to do again.
func work(ctx context.Context, j job) (p planned, moved string, err error) {
	defer func() { p.report.Stats = spent(j) }()
	asking, stop := j.bounds.asking(ctx)
	defer stop()
	p, err = learn(asking, j)
	p.report.Diagnostics = append(p.report.Diagnostics, j.bounds.ended(asking)...)
	if err != nil && asking.Err() != nil {
		return p, "", nil // it is told, and nothing is known that could be written
	}
	if err != nil {
		return p, "", err
	}
	recordPlan(asking, j, p)
	acting, stop := j.bounds.finishing(ctx, asking)
	defer stop()
	switch to := j.target.Destination.(type) {
	case Disk:
		p.report = write(j, p)
	case *Push:
		p.report, err = push(acting, j, p, to)
	case Pulls:
		p.report, moved = proposeAll(acting, asking, j, p, to)
	}
	return p, moved, err
}

// learn finds the root modules and plans them.
func learn(ctx context.Context, j job) (planned, error) {
	p, err := observe(ctx, j)
	if err != nil {
		return p, err
	}
	told, err := honour(j, p.inventory)
	p.report.Diagnostics = append(p.report.Diagnostics, told...)
	if err != nil {
		return p, err
	}
	if j.req.Verb == verbs.Scan {
		p.report.Diagnostics = append(p.report.Diagnostics, outages(j)...)
		for _, f := range p.found {
			p.report.Modules = append(p.report.Modules, report.FromScan(f.module).Named(j.names(f.tree)))
		}
		return p, nil
	}
	if j.req.Verb == verbs.Verify {
		return proveAll(ctx, j, p), nil
	}
	if _, pulls := j.target.Destination.(Pulls); !pulls {
		p = planAll(ctx, j, p)
	} else if p, err = planPulls(ctx, j, p); err != nil {
		return p, err
	}
	p.report.Diagnostics = append(p.report.Diagnostics, forgive(ctx, j, p)...)
	return judgeHashes(ctx, j, p), nil
}

// observe finds the root modules, and begins the report with what is told of that.
func observe(ctx context.Context, j job) (planned, error) {
	there, err := findAll(ctx, j)
	p := planned{inventory: there, report: report.Report{Verb: j.req.Verb, DryRun: j.req.Pull.DryRun, Asked: restriction(j.req)}}
	p.report.Summarised = j.env.Summary
	p.report.Diagnostics = slices.Concat(j.warnings, there.diagnostics)
	p.report.Unlocked, p.report.PassedOver, p.report.Touched = there.unlocked, there.passedOver, there.extent.changed != nil
	p.report.Excluded = there.excluded
	return p, err
}

// spent says what the run cost.
func spent(j job) report.Stats {
	all := j.Session.Spent()
	all.Stages = j.clock.times()
	return all
}
