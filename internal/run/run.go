package run

import (
	"context"

	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// Run carries out an ask: one repository after the other, and in each one base branch after
// the other. Failures of one root module, provider, pull request or repository are in the
// report. An error means that the ask itself cannot be carried out, and is for the person
// who made it.
//
// After an interrupt, which is the end of ctx, Run asks no further questions. It stops
// writing to GitHub after writingTime. The report then says how far the run has come.
func Run(ctx context.Context, s *Session, a Ask) (report.Report, error) {
	return s.Whole(ctx, func(ctx context.Context) (report.Report, error) {
		visit := Visit{Lookup: &Lookup{several: len(a.targets) > 1}}
		if t := a.targets[0]; t.files != nil {
			at := opened{t, a.means.Settings, branchHere(a, t)}
			if idle, err := idleEdit(ctx, s, a, at); err != nil {
				return a.report(), err
			} else if idle != nil {
				return *idle, nil
			}
			r, err := runBases(ctx, s, a, at, visit)
			r.Diagnostics = append(r.Diagnostics, visit.Lookup.Problems()...)
			return r, err
		}
		all := a.report()
		for i, t := range a.targets {
			if s.bounds.isInterrupted() {
				s.bounds.skip(report.Unbegun{Repositories: len(a.targets) - i})
				break
			}
			all = report.Join(all, runRepository(ctx, s, a, t, visit))
		}
		all.Diagnostics = append(all.Diagnostics, visit.Lookup.Problems()...)
		return all, nil
	})
}

// opened is a repository with the files of one branch, and the settings for it.
type opened struct {
	target   target
	settings settings.Settings
	branch   string // empty: unknown
}

// runBases carries out an ask for each base branch. A failure does not stop the others. The
// error of a single base is returned.
func runBases(ctx context.Context, s *Session, a Ask, at opened, visit Visit) (report.Report, error) {
	return beginBases(ctx, s, a, at, visit).finish(ctx)
}

// basesBegun is a repository whose first base branch was planned.
type basesBegun struct {
	session *Session
	ask     Ask
	at      opened
	visit   Visit
	bases   []string
	first   plannedBase
}

// beginBases plans the first base branch.
func beginBases(ctx context.Context, s *Session, a Ask, at opened, visit Visit) basesBegun {
	visit.board = boardFor(a, at)
	b := basesBegun{session: s, ask: a, at: at, visit: visit, bases: a.bases(at)}
	if len(b.bases) > 1 {
		visit.Lookup.several = true
	}
	b.first = readBase(ctx, s, a, at, b.bases[0], visit)
	return b
}

// finish delivers the plan of the first base branch. Then it plans and delivers the other
// bases, one after the other, since the limit of pull requests counts over all of them.
func (b basesBegun) finish(ctx context.Context) (report.Report, error) {
	if len(b.bases) == 1 {
		p, err := b.first.deliver(ctx)
		if err != nil {
			return p.report, err
		}
		return b.keepDashboard(ctx, p.report, []*unsaid{p.unsaid}), nil
	}
	var parts []*unsaid
	all, next := b.ask.report(), b.first
	for i, base := range b.bases {
		if b.session.bounds.isInterrupted() && i > 0 {
			parts = append(parts, nil)
			break
		}
		if i > 0 {
			next = readBase(ctx, b.session, b.ask, b.at, base, b.visit)
		}
		p, err := next.deliver(ctx)
		if err != nil {
			b.visit.Lookup.unread = true
			p.report.Diagnostics, p.unsaid = append(p.report.Diagnostics, about("branch "+base, err)), nil
		}
		all, parts = report.Join(all, p.report), append(parts, p.unsaid)
	}
	return b.keepDashboard(ctx, all, parts), nil
}

// plannedBase is a base branch with its plan.
type plannedBase struct {
	job     job
	planned planned
	late    bool  // the time for asking ended before the plan: nothing is delivered
	err     error // why nothing was planned
}

// readBase reads a base branch and plans for it.
func readBase(ctx context.Context, s *Session, a Ask, at opened, base string, visit Visit) plannedBase {
	t, err := filesAtBase(ctx, s, a, at, base)
	if err != nil {
		return plannedBase{planned: planned{report: a.report()}, err: err}
	}
	return planJob(ctx, newJob(s, a, at.settings, t, visit))
}

// deliver brings the plan to the ask's destination. If the base has moved meanwhile,
// deliver plans again for the new commit.
func (b plannedBase) deliver(ctx context.Context) (planned, error) {
	if b.late || b.err != nil {
		return b.planned, b.err
	}
	j := b.job
	p, moved, err := deliverJob(ctx, b)
	for err == nil && moved != "" && !j.bounds.isInterrupted() {
		before := p
		j, err = replan(ctx, j, before.proposing, moved)
		if err != nil {
			return before, err
		}
		p, moved, err = runJob(ctx, j)
		p.report = KeepDone(p.report, before.report)
	}
	if err == nil && moved != "" {
		p.report.Diagnostics, p.unsaid = append(p.report.Diagnostics, report.Interruption), nil
	}
	return p, err
}

// runJob finds, plans, checks and delivers. After the time for questions, or an interrupt,
// it finishes with what is known. moved is the commit to which the base has moved and for
// which the job must be planned again; empty: no need.
func runJob(ctx context.Context, j job) (p planned, moved string, err error) {
	b := planJob(ctx, j)
	if b.late || b.err != nil {
		return b.planned, "", b.err
	}
	return deliverJob(ctx, b)
}

// withUnits is the job with the files that its settings let units read.
func withUnits(ctx context.Context, j job) (job, error) {
	r := j.target.remote()
	if r == nil {
		return j, nil
	}
	files, err := r.withUnits(ctx, environments(j.settings))
	if err != nil {
		return j, err
	}
	return j.of(files), nil
}

// planJob finds, plans and checks.
func planJob(ctx context.Context, j job) plannedBase {
	asking, stop := j.bounds.asking(ctx)
	defer stop()
	j, err := withUnits(asking, j)
	if err != nil {
		return plannedBase{job: j, err: err}
	}
	p, err := planRoots(asking, j)
	p.report.Diagnostics = append(p.report.Diagnostics, j.bounds.ended(asking)...)
	p.report.Stats = spent(j)
	if err != nil && asking.Err() != nil {
		return plannedBase{job: j, planned: p, late: true} // the report says so, and nothing complete could be written
	}
	if err == nil {
		recordPlan(asking, j, p)
	}
	return plannedBase{job: j, planned: p, err: err}
}

// deliverJob delivers the plan. moved is as in runJob.
func deliverJob(ctx context.Context, b plannedBase) (p planned, moved string, err error) {
	p = b.planned
	defer func() { p.report.Stats = spent(b.job) }()
	asking, stop := b.job.bounds.asking(ctx)
	defer stop()
	acting, stop := b.job.bounds.finishing(ctx, asking)
	defer stop()
	return deliver(acting, asking, b.job, p)
}

// planRoots finds the root modules and plans them.
func planRoots(ctx context.Context, j job) (planned, error) {
	p, err := findRoots(ctx, j)
	if err != nil {
		return p, err
	}
	notices, err := checkNamed(j, p.inventory)
	p.report.Diagnostics = append(p.report.Diagnostics, notices...)
	if err != nil {
		return p, err
	}
	switch j.ask.verb {
	case verbs.Scan:
		return describeAll(j, p), nil
	case verbs.Why:
		return explainAll(ctx, j, p), nil
	case verbs.Verify:
		return judgeRules(ctx, j, proveAll(ctx, j, p)), nil
	}
	if _, pulls := j.ask.to.(Pulls); pulls {
		p, err = planPulls(ctx, j, p)
	} else {
		p = planAll(ctx, j, p)
	}
	if err != nil {
		return p, err
	}
	p.report.Diagnostics = append(p.report.Diagnostics, downgradeKnown(ctx, j, p)...)
	return judgeRules(ctx, j, p), nil
}

// deliver brings the planned lock files to the ask's destination, and adds the results to
// the report. moved is as in runJob.
func deliver(acting, asking context.Context, j job, p planned) (_ planned, moved string, err error) {
	switch to := j.ask.to.(type) {
	case Disk:
		p.report = write(j, p)
	case *Push:
		p.report, err = push(acting, j, p, to)
	case Pulls:
		p, moved = proposeAll(acting, asking, j, p, to)
	}
	return p, moved, err
}
