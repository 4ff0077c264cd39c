package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/notes"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/upgrade"
)

// lockedModules is the key of the group of the first lock files of modules.
const lockedModules = "locked-modules"

// groupKeys lists the keys of all groups that may have changes: those of providers that are
// required or locked, and of modules.
func groupKeys(book policy.Rulebook, all []found) []string {
	keys := map[string]bool{}
	for _, f := range all {
		for _, key := range providerKeys(book, f) {
			keys[key] = true
		}
		switch locks := slices.ContainsFunc(f.module.Locked(), func(c scan.Fetched) bool { return c.Hash != "" }); {
		case f.module.ModuleLock != nil:
			for _, e := range f.module.ModuleLock.Entries {
				keys[book.GroupOfModule(f.module.Dir, e.Address)] = true
			}
			for _, c := range f.module.Locked() {
				keys[book.GroupOfModule(f.module.Dir, c.Locked.Address)] = true
			}
		case locks || len(f.module.Tests.Fetched) > 0:
			keys[lockedModules] = true
		}
	}
	for _, f := range all {
		for key := range f.apart {
			keys[key] = true
		}
	}
	delete(keys, "")
	return slices.Sorted(maps.Keys(keys))
}

// providerKeys lists the keys of the groups of a root module's providers.
func providerKeys(book policy.Rulebook, f found) []string {
	keys := map[string]bool{}
	for _, addr := range f.providers() {
		keys[book.GroupOf(f.module.Dir, addr)] = true
	}
	return slices.Sorted(maps.Keys(keys))
}

// proposing is what is known of pull requests before the plan.
type proposing struct {
	client     *github.Client
	repo       *github.Repository
	base, head string
	// survey is the state of the pull requests, with what people ignore.
	survey pr.Survey
}

// planPulls plans the proposals. If a list of repositories shows no branch of ours, it asks
// GitHub about pull requests only if there is something to propose. The ignores of people
// may then remove some of that.
func planPulls(ctx context.Context, j job, p planned) (planned, error) {
	var err error
	p.proposing, err = proposingTo(j)
	if err != nil {
		return p, err
	}
	var first planned
	unmarked := j.visit.unmarked(j.target.base, j.settings.PullRequest.BranchPrefix)
	if unmarked {
		p.proposing.survey = pr.Nothing()
		if sought := j.visit.board.search(); sought != nil {
			p.proposing.survey = pr.NothingBut(ctx, p.proposing.repo, *sought)
			j.visit.board.see(p.proposing.survey.Issues)
		}
		first = reportPlan(ctx, j, planEach(ctx, j, p.with(planOptions(j, p))))
		if !first.report.Pending() {
			return first, nil
		}
	}
	p.proposing.survey, err = look(ctx, j, p)
	if err != nil {
		return p, err
	}
	if unmarked && len(p.proposing.survey.Ignores) == 0 {
		first.proposing = p.proposing
		return first, nil
	}
	p = obeyComments(ctx, j, p)
	return reportPlan(ctx, j, planEach(ctx, j, p.with(planOptions(j, p)))), nil
}

// look asks GitHub for the pull requests of the groups, and for what people ignore by
// comments.
func look(ctx context.Context, j job, p planned) (pr.Survey, error) {
	sought := j.visit.board.search()
	opts := pr.Options{Base: p.proposing.base, Prefix: j.settings.PullRequest.BranchPrefix}
	survey, err := pr.LookWith(ctx, p.proposing.repo, opts, sought, groupKeys(j.plan.Policy, p.found)...)
	if sought != nil {
		j.visit.board.see(survey.Issues)
	}
	return survey, err
}

// proposingTo is the target of the proposals, as far as it is known without a request.
func proposingTo(j job) (p proposing, err error) {
	p.client, err = j.clients.of(j.access, j.target.repository)
	if err != nil {
		return p, err
	}
	p.repo, err = repositoryOf(p.client, j.target.repository)
	p.head, p.base = j.target.remote.Commit, j.target.base
	return p, err
}

// proposer brings what was planned to GitHub. It has the methods of this file and of
// share.go.
type proposer struct {
	job
	planned
	decide upgrade.Carrier   // what is carried over from current proposals
	shares map[string]*share // by group
	// moved has what matters to some root module of what the base has changed while the run
	// planned; nil: the base has not moved.
	moved *changed
	// readNotes reads release notes once for all pull requests, and only if one is written;
	// nil if nobody wants them.
	readNotes func() []notes.Notes
}

// proposeAll brings the planned lock files to GitHub, one pull request for each group of
// changes. Further facts for its text are asked for before the first write, while the run
// may ask questions. If the base has moved meanwhile, root modules for which that matters
// are left out; nothing was written before that is known.
func proposeAll(ctx, asking context.Context, j job, known planned, to Pulls) planned {
	defer j.clock.stage(stagePropose)()
	p := &proposer{job: j, planned: known}
	proposals, outcomes := p.propose(ctx, asking, to)
	if hasMoved(outcomes) {
		p.leaveOutMoved()
		proposals, outcomes = p.propose(ctx, asking, to)
	}
	carried := map[string]report.CarriedOver{} // by branch
	for _, key := range slices.Sorted(maps.Keys(p.shares)) {
		s := p.shares[key]
		p.report.Diagnostics = append(p.report.Diagnostics, s.notices...)
		carried[pr.New(key, p.proposing.base, p.settings.PullRequest.BranchPrefix, nil).Branch] = s.carriedOver()
	}
	for _, o := range outcomes {
		if o.Unbegun {
			j.bounds.skip(report.Unbegun{PullRequests: 1})
			p.report.Diagnostics = append(p.report.Diagnostics, report.Interruption) // nobody must take this text for complete
			continue
		}
		p.record(o, proposals, carried[o.Branch])
	}
	p.unsaid = leftUnsaid(p, outcomes)
	return p.planned
}

// propose makes the proposals, and lets GitHub hold them.
func (p *proposer) propose(ctx, asking context.Context, to Pulls) ([]pr.Proposal, []pr.Outcome) {
	at, pulls := p.proposing, p.settings.PullRequest
	facts, stop := context.WithCancel(asking) // until the first write
	defer stop()
	if pulls.ReleaseNotes && !at.client.Anonymous() {
		p.readNotes = sync.OnceValue(func() []notes.Notes { return readNotes(facts, p.job, at.client, p.found) })
	}
	p.decide = upgrade.NewCarrier(resultsOf(p.found), p.options, p.trees[0].FS(), p.missed)
	proposals := p.proposals(facts, to.Only != "")
	var spare func(string, []pr.File) bool
	if !p.sawAll() {
		spare = p.mustStay
	}
	if p.settings.DryRun {
		for _, one := range proposals {
			if one.Alone == "" {
				one.Write() // nobody else wants the text
			}
		}
	}
	holds := p.holds
	if p.moved != nil { // what matters is left out, and more is for the next run
		holds = func(context.Context, string) (bool, error) { return true, nil }
	}
	again, past := p.visit.board.wishes(ctx, at.repo, pulls.BranchPrefix)
	if p.visit.All {
		for _, one := range proposals {
			past[one.Branch] = one.Digest
		}
	}
	return proposals, pr.Propose(ctx, at.repo, proposals, pr.Options{
		Base: at.base, Bases: pulls.Base, SHA: at.head, Holds: holds, Survey: at.survey, Prefix: pulls.BranchPrefix, Limit: pulls.Limit,
		Budget: p.visit.Budget, Only: to.Only, Head: to.Seen, Rebase: to.Rebase, Recreate: to.Recreate, RebaseWhen: pr.RebaseWhen(pulls.RebaseWhen), Ready: to.Ready,
		Again: again, Past: past, Spare: spare, DryRun: p.settings.DryRun, Log: p.env.Log, Begins: p.bounds.begins(), Written: stop, Done: func(o pr.Outcome) { did(p.job, o) },
	})
}

// holds reports whether the base still has everything that was read, at the commit to which
// it has moved. It stores what the base has changed.
func (p *proposer) holds(ctx context.Context, sha string) (bool, error) {
	at := p.proposing
	d, err := at.repo.Difference(ctx, sha, at.head)
	if err == nil && d.MergeBase != at.head || errors.Is(err, github.ErrNotFound) {
		return false, &problem.Error{Problem: problem.Problem{
			Code: problem.CodeGitHub, Message: fmt.Sprintf("somebody has replaced branch %s, and the commit %.7s, from which relock has planned, is not on it any more", at.base, at.head),
			Hint: "run again",
		}}
	}
	if err != nil {
		return false, err
	}
	paths, err := at.repo.ChangedPaths(ctx, at.head, sha)
	if err != nil {
		return false, err
	}
	noticed := noticedBy(p.found)
	p.moved = newChanged(slices.DeleteFunc(paths, func(c filetree.ChangedPath) bool { return !noticed(c) }))
	return !slices.ContainsFunc(p.found, p.movedFor), nil
}

// movedFor reports whether the base has changed what matters to a root module. Settings may
// matter to each.
func (p *proposer) movedFor(f found) bool {
	return p.moved.touches(f.module) || slices.ContainsFunc(settings.FileNames, func(name string) bool { return p.moved.files[name] })
}

// leaveOutMoved leaves out the root modules for which the base has moved, as if the run had
// not looked at them. A pull request keeps what it proposes for them, and the next run
// plans them.
func (p *proposer) leaveOutMoved() {
	var kept []found
	var modules []report.Module
	for i, f := range p.found {
		if p.movedFor(f) {
			p.unseen.add(baseMoved, p.names(f.tree).Of, path.Join(f.module.Dir, lockfile.Name))
		} else {
			kept, modules = append(kept, f), append(modules, p.report.Modules[i])
		}
	}
	p.found, p.report.Modules = kept, modules
	p.report.Diagnostics = append(slices.Clip(p.report.Diagnostics), p.unseen.notice(baseMoved)...)
}

// did announces a change of a pull request at once.
func did(j job, o pr.Outcome) {
	if j.env.Did != nil && o.Operation != pr.None && !j.settings.DryRun {
		j.env.Did(fmt.Sprintf("%s pull request %d of %s", o.Operation, o.Number, j.target.repository))
	}
}

// record adds the outcome of a proposal to the report.
func (p *proposer) record(o pr.Outcome, proposals []pr.Proposal, over report.CarriedOver) {
	if o.Err != nil {
		p.report.Diagnostics = append(p.report.Diagnostics, problem.Of(o.Err))
	}
	for _, err := range o.Warnings {
		d := problem.Of(err)
		d.Severity = problem.SeverityWarning
		p.report.Diagnostics = append(p.report.Diagnostics, d)
	}
	pull := report.PullRequest{
		Operation: string(o.Operation), Repository: p.target.repository, Number: o.Number, URL: o.URL,
		Branch: o.Branch, Base: p.proposing.base, HeadSHA: o.HeadSHA, Reason: o.Reason, Waits: o.Waits, CarriedOver: over, Unsettled: o.Unsettled,
	}
	for _, one := range proposals {
		if one.Branch != o.Branch {
			continue
		}
		pull.Title = one.Title
		if p.settings.DryRun && (o.Operation == pr.Created || o.Operation == pr.Updated) {
			pull.Body = one.Write().String()
		}
		for _, f := range one.Files {
			pull.Directories = append(pull.Directories, path.Dir(f.Path))
		}
		if o.Until != "" && o.Number == 0 {
			pull.Waiting = &report.Waiting{For: string(o.Until), Group: one.Group, Digest: one.Digest, Number: o.ClosedNumber, URL: o.ClosedURL}
		}
	}
	p.report.PullRequests = append(p.report.PullRequests, pull)
}

// hasMoved reports whether a group was not proposed because the base has moved.
func hasMoved(outcomes []pr.Outcome) bool {
	return slices.ContainsFunc(outcomes, func(o pr.Outcome) bool {
		var moved *pr.Moved
		return errors.As(o.Err, &moved)
	})
}

// noticedBy returns a function that reports whether a changed path may matter to a run with
// these root modules. If a configuration reads a directory, every file in it matters.
func noticedBy(found []found) func(filetree.ChangedPath) bool {
	read := map[string]bool{}
	for _, f := range found {
		for _, name := range f.module.Files {
			read[name] = true
		}
	}
	return func(p filetree.ChangedPath) bool { return matters(p) || read[p.Path] || read[path.Dir(p.Path)+"/"] }
}

// matters reports whether a changed path may matter to a run. A link or a submodule may
// replace any file, and a directory is a module.
func matters(p filetree.ChangedPath) bool {
	return !p.File || scan.Notices(p.Path) || slices.Contains(settings.FileNames, p.Path)
}
