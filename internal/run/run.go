package run

import (
	"context"

	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// Run carries out an ask: for one repository after the other, and in each for one base
// branch after the other. Whatever goes wrong with one root module, provider, pull request
// or repository is in the report. An error means that the ask itself cannot be carried
// out: it is for the person who made it.
//
// An interrupt, the end of ctx, ends what is asked of others at once, and what is written to
// GitHub after writingTime. The report then says how far the run has come.
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

// opened is a repository of which a branch is at hand, and the settings that hold for it.
type opened struct {
	target   target
	settings settings.Settings
	branch   string // empty: nobody says which it is
}

// runBases carries an ask out for each base branch. One that fails does not stop the
// others; where there is but one, its error is returned.
func runBases(ctx context.Context, s *Session, a Ask, at opened, visit Visit) (report.Report, error) {
	return beginBases(ctx, s, a, at, visit).finish(ctx)
}

// basesBegun is a repository of which the first base branch was planned for.
type basesBegun struct {
	session *Session
	ask     Ask
	at      opened
	visit   Visit
	bases   []string
	first   plannedBase
}

// beginBases plans for the first base branch.
func beginBases(ctx context.Context, s *Session, a Ask, at opened, visit Visit) basesBegun {
	visit.board = boardFor(a, at)
	b := basesBegun{session: s, ask: a, at: at, visit: visit, bases: a.bases(at)}
	if len(b.bases) > 1 {
		visit.Lookup.several = true
	}
	b.first = readBase(ctx, s, a, at, b.bases[0], visit)
	return b
}

// finish delivers what was planned for the first base branch. Then it plans and delivers for
// one after the other of the others: how many pull requests a repository may have counts over
// all of them.
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

// plannedBase is a base branch that was planned for.
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

// deliver brings the plan where the ask wants it. Where the base has moved meanwhile, all is
// planned again for that commit.
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

// runJob finds, plans, checks and delivers. When the time for asking is over, or an
// interrupt comes, what is known is carried through to the end. moved is the commit that
// the base was found at, for which all must be planned again; empty if there is nothing
// to do again.
func runJob(ctx context.Context, j job) (p planned, moved string, err error) {
	b := planJob(ctx, j)
	if b.late || b.err != nil {
		return b.planned, "", b.err
	}
	return deliverJob(ctx, b)
}

// withUnits is the job with the files that its settings have units read.
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
		return plannedBase{job: j, planned: p, late: true} // the report says so, and nothing is known that could be written
	}
	if err == nil {
		recordPlan(asking, j, p)
	}
	return plannedBase{job: j, planned: p, err: err}
}

// deliverJob delivers what was planned. moved is as in runJob.
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
	return judgeRules(ctx, j, judgeHashes(ctx, j, p)), nil
}

// deliver brings the planned lock files where the ask wants them, and adds to the report
// what happened to that. moved is as in runJob.
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
