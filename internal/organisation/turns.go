// Package organisation carries out an ask for the repositories of an owner, or of
// one shard of them. It lists and chooses them. It reads several at once, and gives
// one after the other its turn to be written. It remembers repositories without
// work, or without room for it. Package run does the work in one repository.
package organisation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
)

// VisitAll carries out an ask of run.ToProposeOf for the repositories of an
// owner. It reads several at once, and writes one after the other, in the order
// of turns. Errors in a repository are in the report.
func VisitAll(ctx context.Context, s *run.Session, a run.Ask, org Organisation) (report.Report, error) {
	return s.Whole(ctx, func(ctx context.Context) (report.Report, error) {
		asking, stop := s.Asking(ctx)
		defer stop()
		l, err := readList(asking, s, a, org)
		if err != nil {
			return report.Report{}, err
		}
		l.client.Share(ration(asking, org.Shard, l.client.Hour()))
		opens := portion(org.Shard, org.MaxNew)
		t := &turns{
			session: s, ask: a, org: org, list: l, readers: cmp.Or(org.Readers, mostReaders),
			budget: &budget{client: l.client, left: opens}, share: max(1, opens/max(1, len(l.picked.chosen))), lookup: &run.Lookup{},
			reports: make([]report.Report, len(l.picked.chosen)), profiles: make([]report.Profile, len(l.picked.chosen)),
		}
		for range l.picked.chosen {
			t.tallies = append(t.tallies, l.client.NewTally())
		}
		t.page = s.FindPage(asking, a)
		t.granted = t.page.Opens(asking, collect.Mapped(l.picked.chosen, func(one github.Listed) string { return one.Name }))
		trouble := t.open()
		t.order = longestWaitFirst(orderOf(l.picked.chosen, t.next(), s.Env().Now), t.waitingSince)
		if t.all(asking) {
			t.again(asking)
		}
		trouble = append(trouble, t.save()...)
		all := t.report(trouble)
		if t.page != nil {
			said, problems := t.page.Keep(ctx, asking, all.Fleet.Overview)
			if said != nil {
				all.Dashboards = append(all.Dashboards, *said)
			}
			all.Diagnostics, all.Stats = append(all.Diagnostics, problems...), s.Spent()
		}
		return all, nil
	})
}

// turns is an ask while it visits the repositories of an owner. Everything that a run
// decides is decided at the turns, in their order: so the number of readers changes no
// result.
type turns struct {
	session  *run.Session
	ask      run.Ask
	org      Organisation
	list     list
	readers  int // at once
	budget   *budget
	share    int // of the new pull requests, for one turn
	lookup   *run.Lookup
	memory   *memory        // nil for no memory
	known    []recollection // of earlier runs, for each repository
	order    []int
	done     int         // number of completed turns
	until    github.Wait // why the others have none, if it is a limit of GitHub
	waiting  []waiter    // the repositories in which something waits
	reports  []report.Report
	profiles []report.Profile // of the run, or of earlier ones
	page     *run.OwnerPage   // nil for none
	granted  map[string]bool  // the repositories in which a person has asked for all that waits
	tallies  []*github.Tally  // of requests
	rejected rejections
}

// waiter is a repository in which something waits: for the budget, or, if late,
// for GitHub's hourly limit of contents.
type waiter struct {
	index      int
	late, done bool
}

// oftenSaved is the number of turns between two writes of the memory, so that a
// killed run keeps most of its knowledge.
const oftenSaved = 100

// The cost of a turn. A repository with one change needs some twenty requests.
// One pull request counts as about half as many contents.
const (
	requestsOfTurn = 30
	contentsOfPull = 12
	// mostTurns is the highest number of turns of a repository that limits of
	// GitHub interrupt.
	mostTurns = 3
)

// all gives one repository after the other its turn, and reports whether all had
// it. It stops when the time is over, or when GitHub refuses all of them. It also
// stops when a limit of GitHub leaves too little and the wait for more is too
// long.
func (t *turns) all(ctx context.Context) bool {
	l := newLineup(t)
	reading, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	for range t.readers {
		readers.Go(func() { l.readAll(reading) })
	}
	defer readers.Wait()
	defer stop()
	defer l.end()
	for position, i := range t.order {
		if ctx.Err() != nil {
			t.until = github.Wait{}
			return false
		}
		t.until = t.list.client.Ready(requestsOfTurn, 0, l.ahead(position)...)
		if !t.await(ctx, t.until) || !t.turn(ctx, i, l.take(position)) {
			return false
		}
		t.done++
		if t.rejected.ends() && t.done < len(t.order) {
			return false
		}
		if t.done%oftenSaved == 0 {
			t.save() // an error is reported at the end
		}
	}
	return true
}

// ahead collects the knowledge about a repository before its turn. Several
// readers call it at once.
func (t *turns) ahead(ctx context.Context, i int) (r beforehand) {
	if known, ok := t.recall(ctx, i); ok {
		r.recalled = &known
	}
	if k := t.known[i]; r.recalled == nil || k.waits && t.budget.room(k.opens) {
		return t.read(ctx, i, r)
	}
	return r
}

// read reads and plans for a repository.
func (t *turns) read(ctx context.Context, i int, r beforehand) beforehand {
	l := t.list.picked.chosen[i]
	visit := run.Visit{Known: &l, Prefix: t.list.prefix, Budget: t.budget, Lookup: &run.Lookup{}, All: t.granted[l.Name]}
	r.seen, r.lookup, r.at = t.recorder(l), visit.Lookup, t.list.client.Now()
	r.planned = t.session.Plan(t.tallies[i].In(ctx), t.ask, l.Name, visit)
	if b, ok := r.planned.Basis(); ok && r.seen != nil {
		r.seen.add(ctx, b)
	}
	r.limited = r.planned.Failed() && t.list.client.Ready(0, 0).Needed()
	return r
}

// turn is the turn of one repository. It is repeated if a temporary limit of
// GitHub interrupts it; false if the limit lasts too long. Plans that are too old
// are made again.
func (t *turns) turn(ctx context.Context, i int, r beforehand) bool {
	t.begin(i)
	if k := t.known[i]; k.waits && r.planned == nil {
		t.budget.wait(k.opens)
	}
	if r.planned != nil && t.list.client.Now().Sub(r.at) > longestAhead {
		r = t.read(ctx, i, r)
	}
	for n := 1; ; n++ {
		failed := t.deliver(ctx, i, r)
		t.until = t.list.client.Ready(0, 0)
		if !failed || !t.until.Needed() && !r.limited {
			break
		}
		if n == mostTurns || !t.await(ctx, t.until) {
			t.reports[i] = report.Report{PullRequests: t.reports[i].PullRequests}
			return false
		}
		t.begin(i)
		r = t.read(ctx, i, r)
	}
	if r.planned != nil { // else no request was about it
		t.rejected.judge(i, t.list.picked.chosen[i].Name, r.planned, t.tallies[i].Good())
	}
	if t.budget.waits {
		t.waiting = append(t.waiting, waiter{index: i, late: t.budget.late})
	}
	return true
}

// begin begins the turn of a repository with its share of the new pull requests. If a
// person has asked for all that waits there, it has all that are left.
func (t *turns) begin(i int) {
	name, share := t.list.picked.chosen[i].Name, t.share
	if t.granted[name] {
		share = t.budget.left
	}
	t.budget.begin(name, share)
}

// again gives a second turn to repositories that could not write everything: for
// the rest.
func (t *turns) again(ctx context.Context) {
	for n, w := range t.waiting {
		if t.budget.left == 0 && !w.late {
			continue
		}
		t.budget.scarce = t.list.client.Ready(requestsOfTurn, contentsOfPull)
		if ctx.Err() != nil || !t.await(ctx, t.budget.scarce) {
			return
		}
		t.budget.begin(t.list.picked.chosen[w.index].Name, t.budget.left)
		t.deliver(ctx, w.index, t.read(ctx, w.index, beforehand{}))
		t.waiting[n] = waiter{index: w.index, late: t.budget.late, done: !t.budget.waits}
	}
}

// await waits for a limit, if there is one; false if that takes too long.
func (t *turns) await(ctx context.Context, w github.Wait) bool {
	return !w.Needed() || t.list.client.Await(ctx, w)
}

// deliver writes the plan of a repository, and reports whether anything failed.
func (t *turns) deliver(ctx context.Context, i int, r beforehand) (failed bool) {
	found := report.Report{}
	if r.planned == nil {
		found = *r.recalled
	} else {
		defer t.session.Forget(r.planned)
		found, _ = r.planned.Deliver(t.tallies[i].In(ctx)) // errors are in the report
		found.Diagnostics = slices.DeleteFunc(found.Diagnostics, func(d problem.Problem) bool {
			return d.Code == problem.CodeNotRootModule && d.Severity == problem.SeverityWarning // most repositories have no root module
		})
		t.lookup.Add(r.lookup)
		t.profiles[i] = t.remember(t.list.picked.chosen[i], r.seen, found)
	}
	t.reports[i] = run.KeepDone(found, t.reports[i])
	return found.Failed()
}

// late counts the repositories in which something waits for another hour.
func (t *turns) late() int {
	return collect.CountIf(t.waiting, func(w waiter) bool { return w.late && !w.done })
}

// rest is the repository for the beginning of the next run; empty if it does not
// matter.
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

// report is the report of the run, with the errors of the memory.
func (t *turns) report(trouble []problem.Problem) report.Report {
	reached := make([]bool, len(t.order))
	for _, i := range t.order[:t.done] {
		reached[i] = true
	}
	fleet := t.list.fleet(t.org.Owner)
	var reports, begun []report.Report
	for i, l := range t.list.picked.chosen {
		if reached[i] {
			reports = append(reports, t.rejected.without(i, t.reports[i]))
			fleet.Repositories = append(fleet.Repositories, outcomeOf(l.Name, t.reports[i], int64(t.tallies[i].Requests())))
		} else {
			begun = append(begun, t.reports[i]) // its work until a limit of GitHub ended its turn
			fleet.Repositories = append(fleet.Repositories, report.Outcome{Name: l.Name, State: report.NotReached})
		}
	}
	all := report.Join(append(reports, begun...)...)
	all.Verb, all.DryRun, all.Fleet = t.ask.Verb(), t.ask.Settings().DryRun, &fleet
	fleet.Overview = t.overview(fleet.Repositories)
	all = withUnlisted(all, t.list.picked.unlisted)
	all.Diagnostics, all.Stats = slices.Concat(all.Diagnostics, t.rejected.lines(t.done < len(t.order)), trouble), t.session.Spent()
	if t.done < len(t.order) {
		all.Diagnostics = append(all.Diagnostics, t.stopped())
	} else if late := t.late(); late > 0 {
		all.Diagnostics = append(all.Diagnostics, t.waits(late))
	}
	all.Diagnostics = append(all.Diagnostics, t.lookup.Problems()...)
	return all
}

// overview sums up the repositories of the run. outcomes are those of the chosen ones.
func (t *turns) overview(outcomes []report.Outcome) *report.Overview {
	var members []outline.Member
	visibility := "public"
	for i, l := range t.list.picked.chosen {
		m := outline.Member{Outcome: outcomes[i], Pulls: t.reports[i].PullRequests, Opened: l.Opened, Profile: t.profiles[i]}
		if said, ok := t.rejected.by[i]; ok { // in words that several may share
			m.Profile.Failing = []report.Remark{{Text: said.words}}
		}
		members = append(members, m)
		visibility = run.LeastOpen(visibility, l.Visibility)
	}
	for _, u := range t.list.picked.unlisted {
		if u.name != "" {
			members = append(members, outline.Member{Outcome: u.outcome(), Profile: report.Profile{Failing: []report.Remark{{Text: u.problem().Message}}}})
			visibility = run.LeastOpen(visibility, "")
		}
	}
	o := outline.OverviewOf(members, t.session.Env().Now)
	o.Owner, o.Visibility = t.org.Owner, visibility
	if server := t.session.Env().Server; server != "" {
		o.Server = "https://" + server
	}
	if t.org.Shard.Of > 0 {
		o.Shard = fmt.Sprint(t.org.Shard.Number, "/", t.org.Shard.Of)
	}
	return &o
}

// stopped says why a run has not reached all repositories.
func (t *turns) stopped() problem.Problem {
	d := problem.Problem{Code: problem.CodeCancelled, Hint: "run again, with more time or in shards (--shard): finished work stays, and costs little the next time"}
	why := "the time of the run is over"
	if t.until.Needed() {
		why, d.Hint = t.until.String(), "run again after that: finished work stays, and costs little the next time"
	}
	if t.rejected.ends() {
		why, d.Code, d.Hint = t.rejected.String(), problem.CodeGitHub, t.rejected.hint
	}
	if err := t.session.Interrupted(); err != nil {
		why = err.Error()
	}
	d.Message = fmt.Sprintf("%s: %s not been looked at, from %s on", why, collect.Count(len(t.order)-t.done, "repository has", "repositories have"), t.rest())
	return d
}

// waits says that pull requests wait because of GitHub's limit of contents.
func (t *turns) waits(late int) problem.Problem {
	return problem.Problem{
		Code: problem.CodeGitHub, Severity: problem.SeverityWarning,
		Message: fmt.Sprintf("%s: %s pull requests that wait", t.budget.scarce, collect.Count(late, "repository has", "repositories have")),
		Hint:    "run again after that; --timeout with more than an hour lets a run wait by itself",
	}
}

// outcomeOf is the outcome of a repository, by its report.
func outcomeOf(name string, r report.Report, requests int64) report.Outcome {
	f := report.Outcome{
		Name: name, State: report.UpToDate, Modules: len(r.Modules), Pending: len(r.PendingDirs()), Requests: requests,
		Left:         r.Left(),
		Waits:        collect.CountIf(r.PullRequests, func(p report.PullRequest) bool { return p.Waits }),
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
