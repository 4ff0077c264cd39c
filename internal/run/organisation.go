package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/relock-dev/relock/internal/fleet"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/settings"
)

// Organisation is an owner whose repositories a request is about. The one target of
// the request says which directories of each, and where the lock files go.
type Organisation struct {
	Owner  string
	Where  []settings.Condition
	MaxNew int // how many pull requests are opened in all
	// Shard is the part of a plan that the run is about, with the prefix of branches that
	// the plan tells of; nil: what a list has of the owner.
	Shard  *fleet.Shard
	Prefix string
	// Memory is the path of what earlier runs know of the repositories; empty: nothing
	// is remembered. Settings identifies those that hold for all repositories, by which
	// what is known was found.
	Memory, Settings string
}

// inOrganisation carries a request out for the repositories of an owner, one after
// the other. What goes wrong in one is in the report.
func inOrganisation(ctx context.Context, s *Session, req Request) (report.Report, error) {
	org := req.Organisation
	asking, stop := s.bounds.asking(ctx)
	defer stop()
	req.Hub.Owner = org.Owner
	f := fleetRun{Session: s, req: req, prefix: org.Prefix, lookup: &Lookup{}}
	var share github.Ration
	became := report.Fleet{Owner: org.Owner}
	var chosen []github.Listed
	var unlisted []fleet.Unlisted
	var err error
	if org.Shard == nil {
		var p picked
		p, err = pickRepositories(asking, s.hubs, req)
		f.prefix, f.client, chosen, became, unlisted = req.Pull.BranchPrefix, p.client, p.Chosen, p.became, p.Unlisted
	} else if f.client, err = s.hubs.ofOwner(req.Hub, false); err == nil {
		for _, r := range org.Shard.Repositories {
			chosen = append(chosen, r.Listed())
		}
		became.Listed = len(chosen)
		share = github.Ration{Requests: org.Shard.Requests, Contents: org.Shard.Contents}
	}
	if err != nil {
		return report.Report{}, err
	}
	if _, bounded := asking.Deadline(); bounded {
		share.Patience = time.Hour + time.Minute // whoever says how long a run may take has it waited for the next hour
	}
	f.client.Share(share)
	f.budget = &budget{client: f.client, left: org.MaxNew}
	forgotten := f.open()
	f.told, f.costs = make([]report.Report, len(chosen)), make([]int64, len(chosen))
	f.share = max(1, org.MaxNew/max(1, len(chosen)))
	f.order = fleet.Order(chosen, f.next(), s.env.Now)
	done, until := f.all(asking, chosen)
	forgotten = append(forgotten, f.save(f.rest(chosen, done))...)
	reached := make([]bool, len(chosen))
	for _, i := range f.order[:done] {
		reached[i] = true
	}
	var told []report.Report
	n := 0
	for i, l := range chosen {
		if reached[i] {
			told = slices.Insert(told, n, f.told[i])
			n++
			became.Repositories = append(became.Repositories, fateOf(l.Name, f.told[i], f.costs[i]))
		} else {
			became.Repositories = append(became.Repositories, report.Fate{Name: l.Name, State: report.NotReached})
			told = append(told, f.told[i]) // what was done when a limit of GitHub ended its turn
		}
	}
	all := report.Join(told...)
	all.Verb, all.DryRun, all.Fleet = req.Verb, req.Pull.DryRun, &became
	all = WithUnlisted(all, unlisted)
	all.Diagnostics, all.Stats = append(all.Diagnostics, forgotten...), s.spent()
	if done < len(chosen) {
		all.Diagnostics = append(all.Diagnostics, f.stopped(asking, until, chosen[f.order[done]].Name, len(chosen)-done))
	} else if late := f.late(); late > 0 {
		all.Diagnostics = append(all.Diagnostics, f.waits(late))
	}
	all.Diagnostics = append(all.Diagnostics, f.lookup.Problems()...)
	return all, nil
}

// picked is what a list of an owner's repositories says.
type picked struct {
	client hub // that has listed them
	fleet.Picked
	became report.Fleet
}

// pickRepositories lists the repositories of an owner and picks among them.
func pickRepositories(ctx context.Context, on *hubs, req Request) (picked, error) {
	org := req.Organisation
	asks := fleet.Asks(org.Where, req.Pull.BranchPrefix)
	client, err := on.ofOwner(req.Hub, asks.Properties)
	if err != nil {
		return picked{client: client}, err
	}
	listed, err := client.List(ctx, org.Owner, asks)
	p := picked{client: client, Picked: fleet.Pick(listed, org.Where)}
	p.became = report.Fleet{Owner: org.Owner, Listed: len(listed), LeftOut: p.Left}
	return p, err
}

// WithUnlisted adds to the report of an organisation the repositories that GitHub did not
// give: each has failed, or is not reached.
func WithUnlisted(all report.Report, unlisted []fleet.Unlisted) report.Report {
	for _, u := range unlisted {
		if d := u.Problem(); !slices.Contains(all.Diagnostics, d) { // a joined report may be joined again
			all.Diagnostics = append(all.Diagnostics, d)
		}
		state := report.FleetFailed
		if u.Unseen {
			state = report.NotReached
		}
		if u.Name != "" {
			all.Fleet.Repositories = append(all.Fleet.Repositories, report.Fate{Name: u.Name, State: state})
		}
	}
	slices.SortStableFunc(all.Fleet.Repositories, func(a, b report.Fate) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// fleetRun is a request on its way through the repositories of an owner.
type fleetRun struct {
	*Session
	req    Request
	client hub    // that lists them
	prefix string // of the branches that are listed
	budget *budget
	lookup *Lookup
	memory *fleet.Memory // nil: nothing is remembered
	share  int           // of the new pull requests that a repository may open at its turn
	order  []int         // of the turns
	// waiting are the repositories in which something waits.
	waiting []waiter
	// told and costs are the reports of the repositories and their requests.
	told  []report.Report
	costs []int64
}

// waiter is a repository in which something waits: for room, or late for what GitHub lets
// be made in an hour.
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

// all carries the request out for one repository after the other, and returns how
// many had their turn: none begins when the time is over, or when a limit of GitHub leaves
// too little and the wait for more is too long. Those that could not write all that they
// have get what is left at the end.
func (f *fleetRun) all(ctx context.Context, chosen []github.Listed) (done int, until github.Wait) {
	for n, i := range f.order {
		if ctx.Err() != nil {
			return n, github.Wait{}
		}
		if until = f.client.Ready(requestsOfTurn, 0); !f.await(ctx, until) {
			return n, until
		}
		for turns := 1; ; turns++ {
			told, cost := f.one(ctx, chosen[i], f.share)
			f.told[i], f.costs[i] = keep(told, f.told[i]), f.costs[i]+cost
			if until = f.client.Ready(0, 0); !until.Needed() || !told.Failed() {
				break
			}
			// GitHub has refused something, which is no fault of the repository.
			if turns == mostTurns || !f.await(ctx, until) {
				f.told[i] = report.Report{PullRequests: f.told[i].PullRequests}
				return n, until
			}
		}
		if f.budget.waits {
			f.waiting = append(f.waiting, waiter{index: i, late: f.budget.late})
		}
		if n%oftenSaved == oftenSaved-1 {
			f.save(f.rest(chosen, n+1)) // trouble is told at the end
		}
	}
	for n, w := range f.waiting {
		if f.budget.left == 0 && !w.late {
			continue
		}
		if f.budget.scarce = f.client.Ready(requestsOfTurn, contentsOfPull); ctx.Err() != nil || !f.await(ctx, f.budget.scarce) {
			break
		}
		again, cost := f.one(ctx, chosen[w.index], f.budget.left)
		f.told[w.index], f.costs[w.index] = keep(again, f.told[w.index]), f.costs[w.index]+cost
		f.waiting[n] = waiter{index: w.index, late: f.budget.late, done: !f.budget.waits}
	}
	return len(chosen), until
}

// await waits for a limit, if there is any; false if that takes too long.
func (f *fleetRun) await(ctx context.Context, w github.Wait) bool {
	return !w.Needed() || f.client.Await(ctx, w)
}

// late is in how many repositories something waits for another hour.
func (f *fleetRun) late() (n int) {
	for _, w := range f.waiting {
		if w.late && !w.done {
			n++
		}
	}
	return n
}

// rest is the repository with which the next run begins; empty if it does not matter.
func (f *fleetRun) rest(chosen []github.Listed, done int) string {
	if done < len(chosen) {
		return chosen[f.order[done]].Name
	}
	for _, w := range f.waiting {
		if !w.done {
			return chosen[w.index].Name
		}
	}
	return ""
}

// one carries the request out for a repository, which may open so many pull requests. What
// is known of it is forgotten then: there may be thousands.
func (f *fleetRun) one(ctx context.Context, l github.Listed, opens int) (told report.Report, requests int64) {
	f.budget.begin(l.Name, opens)
	if told, ok := f.recall(ctx, l); ok {
		return told, 0
	}
	visit := Visit{Known: &l, Prefix: f.prefix, Budget: f.budget, Lookup: f.lookup}
	seen := f.recorder(l)
	if seen != nil {
		visit.Recorder = seen
	}
	before := f.Session.client.Stats().Requests
	told = f.Visit(ctx, f.req, l.Name, visit)
	told.Diagnostics = slices.DeleteFunc(told.Diagnostics, func(d problem.Problem) bool {
		return d.Code == problem.CodeNotRootModule && d.Severity == problem.SeverityWarning // as most repositories are
	})
	f.remember(l, seen, told)
	return told, f.Session.client.Stats().Requests - before
}

// stopped says that a run has not come to all repositories, and why.
func (f *fleetRun) stopped(ctx context.Context, until github.Wait, next string, left int) problem.Problem {
	d := problem.Problem{Code: problem.CodeCancelled, Hint: "run again, with more time or in shards: what is done stays, and costs little the next time"}
	why := "the time of the run is over"
	if until.Needed() {
		why, d.Hint = until.String(), "run again after that: what is done stays, and costs little the next time"
	}
	if f.bounds.isInterrupted() {
		why = errInterrupted.Error()
	}
	d.Message = fmt.Sprintf("%s: %d repositories have not been looked at, from %s on", why, left, next)
	return d
}

// waits says that pull requests wait, since GitHub lets no more be made now.
func (f *fleetRun) waits(late int) problem.Problem {
	return problem.Problem{
		Code: problem.CodeGitHub, Severity: problem.SeverityWarning,
		Message: fmt.Sprintf("%s: %d repositories have pull requests that wait", f.budget.scarce, late),
		Hint:    "run again after that; --timeout with more than an hour lets a run wait by itself",
	}
}

// fateOf is what became of a repository, by its report.
func fateOf(name string, r report.Report, requests int64) report.Fate {
	f := report.Fate{Name: name, State: report.UpToDate, Modules: len(r.Modules), Requests: requests}
	for _, m := range r.Modules {
		if m.Pending {
			f.Pending++
		}
		if m.Left {
			f.Left++
		}
	}
	for _, p := range r.PullRequests {
		if p.Operation != string(pr.None) {
			f.PullRequests++
		}
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

// budget is what the repositories of a run may still open and write. It is a pr.Budget of
// the one whose turn it is.
type budget struct {
	client     hub
	left, turn int // new pull requests: in all, and in the turn
	repository string
	granted    []string
	waits      bool        // something in the turn does
	late       bool        // for what GitHub lets be made in an hour
	scarce     github.Wait // why, in the last turn in which something did
}

// begin begins the turn of a repository, which may open so many pull requests.
func (b *budget) begin(repository string, opens int) {
	b.repository, b.turn, b.waits, b.late = repository, opens, false, false
}

// TryOpen implements pr.Budget. A second attempt to open one is no second pull request.
func (b *budget) TryOpen(branch string) bool {
	name := b.repository + " " + branch
	if slices.Contains(b.granted, name) {
		return true
	}
	if b.left == 0 || b.turn == 0 {
		b.waits = true
		return false
	}
	b.left, b.turn = b.left-1, b.turn-1
	b.granted = append(b.granted, name)
	return true
}

// MayWrite implements pr.Budget. What may not be written waits.
func (b *budget) MayWrite() bool {
	w := b.client.Ready(0, contentsOfPull)
	if w.Needed() {
		b.scarce, b.late, b.waits = w, true, true
	}
	return !w.Needed()
}
