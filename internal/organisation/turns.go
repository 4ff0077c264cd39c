// Package organisation carries an ask out for the repositories of an owner: it lists and
// chooses them, divides them into shards, gives one after the other its turn, and remembers
// those in which there is nothing to do. What happens in one repository is package run's.
package organisation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
)

// VisitAll carries an ask of run.ToProposeOf out for the repositories of an owner, one after the
// other. What goes wrong in one repository is in the report.
func VisitAll(ctx context.Context, s *run.Session, a run.Ask, org Organisation) (report.Report, error) {
	return s.Whole(ctx, func(ctx context.Context) (report.Report, error) {
		asking, stop := s.Asking(ctx)
		defer stop()
		l, err := readList(asking, s, a, org)
		if err != nil {
			return report.Report{}, err
		}
		l.client.Share(ration(asking, org.Shard))
		t := &turns{
			session: s, ask: a, org: org, list: l,
			budget: &budget{client: l.client, left: org.MaxNew}, share: max(1, org.MaxNew/max(1, len(l.picked.chosen))), lookup: &run.Lookup{},
			reports: make([]report.Report, len(l.picked.chosen)), costs: make([]int64, len(l.picked.chosen)),
		}
		trouble := t.open()
		t.order = orderOf(l.picked.chosen, t.next(), s.Env().Now)
		if t.all(asking) {
			t.again(asking)
		}
		trouble = append(trouble, t.save()...)
		return t.report(asking, trouble), nil
	})
}

// ration is what a run may take of GitHub's limits: that of its shard, if it has one.
func ration(asking context.Context, shard *Shard) (r github.Ration) {
	if shard != nil {
		r.Requests, r.Contents = shard.Requests, shard.Contents
	}
	if _, bounded := asking.Deadline(); bounded {
		r.Patience = time.Hour + time.Minute // a run whose time somebody has set waits for the next hour
	}
	return r
}

// turns is an ask on its way through the repositories of an owner.
type turns struct {
	session *run.Session
	ask     run.Ask
	org     Organisation
	list    list
	budget  *budget
	share   int // of the new pull requests that a repository may open at its turn
	lookup  *run.Lookup
	memory  *memory // nil: nothing is remembered
	order   []int
	done    int         // how many repositories have had their turn
	until   github.Wait // why the others have none, if a limit of GitHub is the reason
	waiting []waiter    // the repositories in which something waits
	reports []report.Report
	costs   []int64 // requests
}

// waiter is a repository in which something waits: for the budget, or late for what GitHub
// lets be made in an hour.
type waiter struct {
	index      int
	late, done bool
}

// oftenSaved is after how many turns the memory is written, so that a run that is killed
// has not learned for nothing.
const oftenSaved = 100

// What a turn may take. A repository that has one change asks some twenty times, and one
// pull request is about half as many contents.
const (
	requestsOfTurn = 30
	contentsOfPull = 12
	// mostTurns is how often a repository has its turn that limits of GitHub interrupt.
	mostTurns = 3
)

// all gives one repository after the other its turn, and reports whether all had it. None
// begins when the time is over, or when a limit of GitHub leaves too little and the wait
// for more is too long.
func (t *turns) all(ctx context.Context) bool {
	for _, i := range t.order {
		if ctx.Err() != nil {
			t.until = github.Wait{}
			return false
		}
		t.until = t.list.client.Ready(requestsOfTurn, 0)
		if !t.await(ctx, t.until) || !t.turn(ctx, i) {
			return false
		}
		t.done++
		if t.done%oftenSaved == 0 {
			t.save() // trouble is reported at the end
		}
	}
	return true
}

// turn is that of one repository, several times if GitHub refuses something for a while,
// which is no fault of the repository; false if GitHub does so for too long.
func (t *turns) turn(ctx context.Context, i int) bool {
	for n := 1; ; n++ {
		failed := t.visit(ctx, i, t.share)
		t.until = t.list.client.Ready(0, 0)
		if !t.until.Needed() || !failed {
			break
		}
		if n == mostTurns || !t.await(ctx, t.until) {
			t.reports[i] = report.Report{PullRequests: t.reports[i].PullRequests}
			return false
		}
	}
	if t.budget.waits {
		t.waiting = append(t.waiting, waiter{index: i, late: t.budget.late})
	}
	return true
}

// again gives those a second turn that could not write all that they have: what is left.
func (t *turns) again(ctx context.Context) {
	for n, w := range t.waiting {
		if t.budget.left == 0 && !w.late {
			continue
		}
		t.budget.scarce = t.list.client.Ready(requestsOfTurn, contentsOfPull)
		if ctx.Err() != nil || !t.await(ctx, t.budget.scarce) {
			return
		}
		t.visit(ctx, w.index, t.budget.left)
		t.waiting[n] = waiter{index: w.index, late: t.budget.late, done: !t.budget.waits}
	}
}

// await waits for a limit, if there is any; false if that takes too long.
func (t *turns) await(ctx context.Context, w github.Wait) bool {
	return !w.Needed() || t.list.client.Await(ctx, w)
}

// visit carries the ask out for a repository, which may open so many pull requests,
// and reports whether that failed.
func (t *turns) visit(ctx context.Context, i, opens int) (failed bool) {
	l := t.list.picked.chosen[i]
	t.budget.begin(l.Name, opens)
	r, known := t.recall(ctx, l)
	if !known {
		before := t.session.Spent().Requests
		r = t.read(ctx, l)
		t.costs[i] += t.session.Spent().Requests - before
	}
	t.reports[i] = run.KeepDone(r, t.reports[i])
	return r.Failed()
}

// read does so for one that must be read.
func (t *turns) read(ctx context.Context, l github.Listed) report.Report {
	visit := run.Visit{Known: &l, Prefix: t.list.prefix, Budget: t.budget, Lookup: &run.Lookup{}}
	seen := t.recorder(l)
	if seen != nil {
		visit.Recorder = seen
	}
	u := t.session.Plan(ctx, t.ask, l.Name, visit)
	defer t.session.Forget(u)
	r := t.session.Deliver(ctx, u)
	t.lookup.Add(visit.Lookup)
	r.Diagnostics = slices.DeleteFunc(r.Diagnostics, func(d problem.Problem) bool {
		return d.Code == problem.CodeNotRootModule && d.Severity == problem.SeverityWarning // as most repositories are
	})
	t.remember(l, seen, r)
	return r
}

// late is in how many repositories something waits for another hour.
func (t *turns) late() int {
	return collect.CountIf(t.waiting, func(w waiter) bool { return w.late && !w.done })
}

// rest is the repository with which the next run begins; empty if it does not matter.
func (t *turns) rest() string {
	if t.done < len(t.order) {
		return t.list.picked.chosen[t.order[t.done]].Name
	}
	for _, w := range t.waiting {
		if !w.done {
			return t.list.picked.chosen[w.index].Name
		}
	}
	return ""
}

// report is that of the run. Trouble with the memory is a part of it.
func (t *turns) report(asking context.Context, trouble []problem.Problem) report.Report {
	reached := make([]bool, len(t.order))
	for _, i := range t.order[:t.done] {
		reached[i] = true
	}
	fleet := t.list.fleet(t.org.Owner)
	var reports, begun []report.Report
	for i, l := range t.list.picked.chosen {
		if reached[i] {
			reports = append(reports, t.reports[i])
			fleet.Repositories = append(fleet.Repositories, outcomeOf(l.Name, t.reports[i], t.costs[i]))
		} else {
			begun = append(begun, t.reports[i]) // what was done when a limit of GitHub ended its turn
			fleet.Repositories = append(fleet.Repositories, report.Outcome{Name: l.Name, State: report.NotReached})
		}
	}
	all := report.Join(append(reports, begun...)...)
	all.Verb, all.DryRun, all.Fleet = t.ask.Verb(), t.ask.Settings().DryRun, &fleet
	all = WithUnlisted(all, t.list.picked.unlisted)
	all.Diagnostics, all.Stats = append(all.Diagnostics, trouble...), t.session.Spent()
	if t.done < len(t.order) {
		all.Diagnostics = append(all.Diagnostics, t.stopped(asking))
	} else if late := t.late(); late > 0 {
		all.Diagnostics = append(all.Diagnostics, t.waits(late))
	}
	all.Diagnostics = append(all.Diagnostics, t.lookup.Problems()...)
	return all
}

// stopped says that a run has not come to all repositories, and why.
func (t *turns) stopped(asking context.Context) problem.Problem {
	d := problem.Problem{Code: problem.CodeCancelled, Hint: "run again, with more time or in shards: what is done stays, and costs little the next time"}
	why := "the time of the run is over"
	if t.until.Needed() {
		why, d.Hint = t.until.String(), "run again after that: what is done stays, and costs little the next time"
	}
	if err := t.session.Interrupted(); err != nil {
		why = err.Error()
	}
	d.Message = fmt.Sprintf("%s: %d repositories have not been looked at, from %s on", why, len(t.order)-t.done, t.rest())
	return d
}

// waits says that pull requests wait, since GitHub lets no more be made now.
func (t *turns) waits(late int) problem.Problem {
	return problem.Problem{
		Code: problem.CodeGitHub, Severity: problem.SeverityWarning,
		Message: fmt.Sprintf("%s: %d repositories have pull requests that wait", t.budget.scarce, late),
		Hint:    "run again after that; --timeout with more than an hour lets a run wait by itself",
	}
}

// outcomeOf is what became of a repository, by its report.
func outcomeOf(name string, r report.Report, requests int64) report.Outcome {
	f := report.Outcome{
		Name: name, State: report.UpToDate, Modules: len(r.Modules), Pending: len(r.PendingDirs()), Requests: requests,
		Left:         r.Left(),
		PullRequests: collect.CountIf(r.PullRequests, func(p report.PullRequest) bool { return p.Operation != string(pr.None) }),
	}
	switch {
	case r.Failed():
		f.State = report.FleetFailed
	case f.PullRequests > 0 || f.Pending > 0:
		f.State = report.Outdated
	case f.Modules == 0:
		f.State = report.NoLockFile
	case f.Left > 0:
		f.State = report.NotExamined
	}
	return f
}
