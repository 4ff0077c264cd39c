package run

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// Visit is what a run over many repositories passes on for one of them.
type Visit struct {
	// Known is the entry of the repository in a list, and Prefix is that of the branches in
	// Known.Heads. Without it, relock asks GitHub.
	Known  *github.Listed
	Prefix string
	// Budget bounds what is opened and written; nil: only the settings do.
	Budget pr.Budget
	// Lookup collects names in the request that the repository lacks. Repositories that are
	// planned at the same time have one each.
	Lookup *Lookup
	// All says that everything that waits is opened, past the limit of the repository.
	All bool
	// board is the board of the repository's issue; nil: it has none.
	board *board
}

// unmarked reports whether a list shows that the repository has no branch of ours, with the
// prefix of its settings.
func (v Visit) unmarked(base, prefix string) bool {
	return v.Known != nil && v.Known.Heads != nil && len(v.Known.Heads) == 0 && v.Prefix == prefix && base == v.Known.Branch
}

// KeepDone copies what was done to pull requests from an earlier report of the same run.
func KeepDone(r, before report.Report) report.Report {
	for _, done := range before.PullRequests {
		if done.Operation == string(pr.None) {
			continue
		}
		i := slices.IndexFunc(r.PullRequests, func(p report.PullRequest) bool { return p.Branch == done.Branch })
		switch {
		case i < 0:
			r.PullRequests = append(r.PullRequests, done)
		case r.PullRequests[i].Operation == string(pr.None) || done.Operation == string(pr.Created):
			r.PullRequests[i].Operation, r.PullRequests[i].Reason = done.Operation, ""
		}
	}
	return r
}

// Plan is what a run does in a repository for a base branch, and what people read about it.
// It is whole once it is made, and Deliver carries it out. Deliver also plans and delivers
// the further base branches of the repository, one after the other, since the limit of pull
// requests counts over all of them.
type Plan struct {
	session *Session
	ask     Ask
	visit   Visit
	planned
	job  job   // of the base branch
	err  error // why there is no plan, or why it was not delivered
	over bool  // the report says everything, and nothing is delivered
	// given is the repository as the ask names it. here has the files of a branch that were
	// read first, with that branch; empty if it is unknown.
	given, here target
	own         settings.Settings // of that branch
	branch      string
	bases       []string // the base branches; the plan is for the first one
}

// makePlan reads a repository, and plans for its first base branch.
func makePlan(ctx context.Context, s *Session, a Ask, t target, visit Visit) *Plan {
	p := &Plan{session: s, ask: a, visit: visit, given: t, here: t, own: a.means.Settings, planned: planned{report: a.report()}}
	p.err = p.open(ctx)
	if p.err != nil || p.over {
		return p
	}
	p.bases, p.visit.board = a.bases(p.here, p.own), boardFor(a, p.own)
	if len(p.bases) > 1 {
		visit.Lookup.several = true
	}
	p.planBase(ctx, p.bases[0])
	return p
}

// open reads what the ask gives of the repository: the files at hand, or those of the
// default branch with its settings.
func (p *Plan) open(ctx context.Context) (err error) {
	asking, stop := p.session.bounds.asking(ctx)
	defer stop()
	if p.given.atHand() {
		p.branch = branchHere(p.ask, p.given)
		idle, err := idleEdit(asking, newJob(p.session, p.ask, p.own, p.given, p.visit))
		if idle != nil {
			p.report, p.over = *idle, true
		}
		return err
	}
	remote, branch, err := defaultFiles(asking, p.session, p.ask, p.given.repository, p.visit.Known)
	if err != nil {
		return err
	}
	p.here.remote, p.here.base, p.branch = remote, branch, branch
	p.own, err = p.ask.means.Of(remote.FS)
	return err
}

// planBase plans for a base branch: it finds root modules, plans for them and checks them.
// If the time for questions is over, or after an interrupt, the report says so, and nothing
// is delivered.
func (p *Plan) planBase(ctx context.Context, base string) {
	asking, stop := p.session.bounds.asking(ctx)
	defer stop()
	p.planned = planned{report: p.ask.report()}
	t, own, notices, err := p.at(asking, base)
	if err != nil {
		p.err = err
		return
	}
	p.own, p.job = own, newJob(p.session, p.ask, own, t, p.visit)
	p.job, err = withUnits(asking, p.job)
	if err == nil {
		p.planned, err = findRoots(asking, p.job)
	}
	p.notices = notices
	var unknown []problem.Problem
	if err == nil {
		unknown, err = checkNamed(p.job, p.inventory)
		p.report.Diagnostics = append(p.report.Diagnostics, unknown...)
	}
	_, pulls := p.ask.to.(Pulls)
	switch verb := p.ask.verb; {
	case err != nil:
	case verb == verbs.Scan:
		p.planned = describeAll(p.job, p.planned)
	case verb == verbs.Why:
		p.planned = explainAll(asking, p.job, p.planned)
	case verb == verbs.Verify:
		p.planned = judgeModules(asking, p.job, judgeRules(asking, p.job, proveAll(asking, p.job, p.planned)))
	case pulls:
		p.planned, err = planPulls(asking, p.job, p.planned)
	default:
		p.planned = reportPlan(asking, p.job, planEach(asking, p.job, p.with(planOptions(p.job, p.planned))))
		p.report.Diagnostics = append(p.report.Diagnostics, downgradeKnown(asking, p.job, p.planned)...)
		p.planned = judgeModules(asking, p.job, judgeRules(asking, p.job, p.planned))
	}
	p.report.Diagnostics = append(p.report.Diagnostics, p.session.bounds.ended(asking)...)
	p.report.Stats = spent(p.job)
	p.over = err != nil && asking.Err() != nil // the report says so
	if !p.over {
		p.err = err
	}
}

// at is the target with the files of one base branch, and the settings for it. Files that
// are not at hand are read from GitHub. The settings are those that were read first. A
// checkout that does not have the base branch is the exception: then its settings are read
// from GitHub, too.
func (p *Plan) at(asking context.Context, base string) (t target, own settings.Settings, notices []problem.Problem, err error) {
	t, own = p.here, p.own
	t.base = base
	access := accessFor(p.session.env, p.ask, own)
	_, pulls := p.ask.to.(Pulls)
	ofCommit := t.checkout != nil && pulls
	if base == "" && (p.branch != "" || ofCommit) {
		t.base, err = p.session.clients.defaultBranch(asking, access, t.repository)
		if err != nil {
			return t, own, nil, err
		}
	}
	atHand := p.branch == t.base || p.branch == "" && ofCommit
	if atHand && ofCommit {
		t, notices, err = atCommit(asking, newJob(p.session, p.ask, own, t, p.visit), t)
	}
	if err != nil || atHand && (!ofCommit || t.remote != nil) {
		return t, own, notices, err
	}
	remote, name, err := p.session.clients.fetch(asking, access, t.repository, t.base)
	if err != nil {
		return t, own, notices, err
	}
	t.base = name
	t = t.at(p.session.env.WorkDir, remote)
	if len(notices) > 0 && !triesSettings(p.session.env, own) {
		own, err = p.ask.means.Of(remote.FS)
	}
	return t, own, notices, err
}

// Deliver brings the plan to the ask's destination, and returns the report. Failures of a
// repository that is not at hand are in the report, so that other repositories go on.
func (p *Plan) Deliver(ctx context.Context) (report.Report, error) {
	r, err := p.deliverAll(ctx)
	if !p.given.atHand() {
		return p.inRepository(r, err), nil
	}
	return r, err
}

// deliverAll delivers for each base branch. A failure does not stop the others, and an
// interrupt does. The error is returned if there is only one base branch.
func (p *Plan) deliverAll(ctx context.Context) (report.Report, error) {
	p.deliver(ctx)
	if len(p.bases) <= 1 {
		if p.err != nil {
			return p.report, p.err
		}
		return p.keepDashboard(ctx, p.report, []planned{p.planned}), nil
	}
	all, parts := p.ask.report(), []planned(nil)
	for i, base := range p.bases {
		next := *p
		if i > 0 && p.session.bounds.isInterrupted() {
			parts = append(parts, planned{})
			break
		}
		if i > 0 {
			next.err, next.over = nil, false
			next.planBase(ctx, base)
			next.deliver(ctx)
		}
		if next.err != nil {
			p.visit.Lookup.unread = true
			next.report.Diagnostics, next.unsaid = append(next.report.Diagnostics, about("branch "+base, problem.SeverityError, next.err)), nil
		}
		all, parts = report.Join(all, next.report), append(parts, planned{unsaid: next.unsaid, inventory: inventory{unseen: next.unseen}})
	}
	return p.keepDashboard(ctx, all, parts), nil
}

// deliver brings the planned lock files of one base branch to the ask's destination, and
// adds the results to the report.
func (p *Plan) deliver(ctx context.Context) {
	if p.err != nil || p.over {
		return
	}
	asking, stop := p.session.bounds.asking(ctx)
	defer stop()
	acting, stop := p.session.bounds.finishing(ctx, asking)
	defer stop()
	switch to := p.ask.to.(type) {
	case Disk:
		p.report = write(p.job, p.planned)
	case *Push:
		p.report, p.err = push(acting, p.job, p.planned, to)
	case Pulls:
		p.planned = proposeAll(acting, asking, p.job, p.planned, to)
	}
	p.report.Diagnostics = append(p.report.Diagnostics, p.notices...)
	p.report.Stats = spent(p.job)
}

// inRepository is the report about a repository that is not at hand. Its files and problems
// get the name of the repository, and an error is in the report.
func (p *Plan) inRepository(r report.Report, err error) report.Report {
	name := p.given.repository
	if at := p.here.remote; at != nil {
		r.Diagnostics = append(r.Diagnostics, p.own.Notices...)
		for i, d := range r.Diagnostics {
			if _, missing := fs.Stat(at.FS, d.Place.File()); missing == nil {
				r.Diagnostics[i].Place.Package = name
			}
		}
	}
	for i, m := range r.Modules {
		r.Modules[i] = m.Named(problem.Naming{Repository: name})
	}
	r.Unlocked, r.Excluded = ofRepository(name, r.Unlocked), ofRepository(name, r.Excluded)
	for i, d := range r.Diagnostics {
		if d.Place == (problem.Place{}) && (d.Code == problem.CodeUnlocked || d.Code == problem.CodeUnseen) {
			r.Diagnostics[i].Place = problem.Place{Package: name}
		}
	}
	var wrong problem.Several
	switch {
	case errors.As(err, &wrong):
		for _, d := range wrong {
			if d.Place != (problem.Place{}) { // in its configuration file
				d.Place.Package = name
			}
			r.Diagnostics = append(r.Diagnostics, d)
		}
	case err != nil:
		r.Diagnostics = append(r.Diagnostics, about(name, problem.SeverityError, err))
	}
	p.visit.Lookup.unread = p.visit.Lookup.unread || err != nil
	return r
}

// Name is the repository, OWNER/NAME.
func (p *Plan) Name() string { return p.given.repository }

// Failed reports whether the repository could not be read or planned for as a whole.
func (p *Plan) Failed() bool { return p.err != nil || p.report.Failed() }

// Rejection is why GitHub refused to show the repository, and the line of the report about
// that. ok is false for other failures, and if there is none.
func (p *Plan) Rejection() (rejection github.Rejection, line problem.Problem, ok bool) {
	rejection, ok = github.RejectionOf(p.err)
	if !ok || p.here.atHand() {
		return rejection, line, false
	}
	return rejection, about(p.given.repository, problem.SeverityError, p.err), true
}

// Basis is what a plan depends on, apart from the files of the repository.
type Basis struct {
	Branch    string // branch of the plan; empty: there are several
	AutoMerge bool   // some pull requests use auto-merge
	Results   []upgrade.Result
	Releases  upgrade.Source // source of the answers in these results
}

// Basis returns what the plan depends on; ok is false if there is none.
func (p *Plan) Basis() (b Basis, ok bool) {
	if p.err != nil || p.over {
		return b, false
	}
	b = Basis{AutoMerge: p.job.settings.AutoMerges(), Releases: p.job.source, Results: resultsOf(p.found)}
	if len(p.bases) == 1 {
		b.Branch = p.job.target.base
	}
	return b, true
}

// ofRepository are the paths that belong to a repository.
func ofRepository(repository string, paths []string) []string {
	named := slices.Clone(paths)
	for i, name := range paths {
		named[i] = repository + "//" + name
	}
	return named
}

// about is the problem of an error, after what it is about or what it means for the run.
func about(which string, severity problem.Severity, err error) problem.Problem {
	d := problem.Of(err)
	d.Severity, d.Message = severity, which+": "+d.Message
	return d
}

// defaultFiles reads the files of the default branch, and its name. A list of repositories
// may answer some of that.
func defaultFiles(ctx context.Context, s *Session, a Ask, repository string, known *github.Listed) (*Remote, string, error) {
	access := accessFor(s.env, a, a.means.Settings)
	if known == nil {
		return s.clients.fetch(ctx, access, repository, "")
	}
	repo, err := s.clients.reach(access, repository)
	if err != nil {
		return nil, "", err
	}
	tree := ""
	if known.Compact {
		tree = known.Tree
	}
	remote, err := snapshotOf(ctx, repo, known.Head, tree)
	return remote, known.Branch, err
}
