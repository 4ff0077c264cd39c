package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/box"
	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/dashboard"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/settings"
)

// Ticked are the boxes on relock's issue that a person has checked, from an event. The zero
// value means no event.
type Ticked struct {
	Issue  int
	Opener string // login of the bot that has opened the issue; empty if a person has
	By     string // login of the person
	Boxes  []box.Box
}

// mostBoxes bounds how many boxes take effect in a run, unless the box for all is checked.
const mostBoxes = 10

// board is what the jobs of one repository share about its issue: what was found, and what
// the boxes ask for. The first job that needs it asks GitHub, once.
type board struct {
	ticked Ticked
	off    bool              // the settings say that there is none: an open one is closed
	found  *github.OwnIssues // nil until GitHub was asked
	// granted are the boxes that take effect, by branch without prefix, once that is
	// decided.
	granted []box.Box
	decided bool
	// refused is why boxes have no effect. unknown says that GitHub gave no answer about
	// the person's rights.
	refused string
	unknown error
}

// boardFor is the board of a repository whose settings say whether there is an issue. It is
// nil for a run over a part of the repository.
func boardFor(a Ask, c settings.Settings) *board {
	to, pulls := a.to.(Pulls)
	said := c.Values["dashboard.issue"].By != settings.ByDefault
	if !pulls || to.Only != "" || !c.Dashboard.Issue && !said {
		return nil
	}
	return &board{ticked: a.means.Ticked, off: !c.Dashboard.Issue}
}

// idleEdit is the report of a run that the edit of an issue has started, and that does
// nothing. A person may edit their own issue without any rights. Such an edit must cost one
// question at most. nil: the run continues.
func idleEdit(asking context.Context, j job) (*report.Report, error) {
	by := j.ask.means.Ticked
	if by.Issue == 0 {
		return nil, nil
	}
	idle := func(reason string) *report.Report {
		r := j.ask.report()
		r.Idle = true
		r.Dashboards = []report.Dashboard{{Operation: "none", Repository: j.target.repository, Number: by.Issue, Reason: reason}}
		return &r
	}
	if b := boardFor(j.ask, j.settings); b == nil || b.off {
		return idle("dashboard.issue is not set"), nil
	}
	repo, err := j.clients.reach(j.access, j.target.repository)
	if err != nil {
		return nil, err
	}
	may, err := rights(repo)(asking, by.By)
	if err == nil && !may {
		return idle(by.By + " may not write to this repository"), nil
	}
	return nil, err
}

// search selects the issues that are read together with the pull requests; nil: none.
func (b *board) search() *github.Sought {
	if b == nil || b.found != nil {
		return nil
	}
	return &github.Sought{Is: dashboard.OfRepository.Is, Opener: b.ticked.Opener}
}

// see stores the issues that were found.
func (b *board) see(found github.OwnIssues) {
	if b != nil && b.found == nil {
		b.found = &found
	}
}

// wishes are the proposals that checked boxes ask for.
func (b *board) wishes(ctx context.Context, repo *github.Repository, prefix string) (again, past pr.Digests) {
	again, past = pr.Digests{}, pr.Digests{}
	if b == nil || b.off {
		return again, past
	}
	b.decide(ctx, repo)
	for _, one := range b.granted {
		switch one.Act {
		case box.Again:
			again[prefix+one.Branch] = one.Digest
		case box.Past:
			past[prefix+one.Branch] = one.Digest
		}
	}
	return again, past
}

// decide finds out which boxes take effect. For a box of the event, the person who checked
// it must have write access. For the others, the last editor of the issue must have it.
func (b *board) decide(ctx context.Context, repo *github.Repository) {
	if b.decided || b.found == nil || len(b.found.List) == 0 || !b.found.List[0].Open {
		return
	}
	b.decided = true
	page := b.found.List[0]
	may := rights(repo)
	left := box.In(page.Body)
	if slices.ContainsFunc(b.found.List, func(i github.Issue) bool { return i.Open && i.Number == b.ticked.Issue }) {
		left = slices.DeleteFunc(left, func(one box.Box) bool { return slices.Contains(b.ticked.Boxes, one) })
		b.grant(ctx, may, "this repository", github.Actor{Login: b.ticked.By}, b.ticked.Boxes)
	}
	b.grant(ctx, may, "this repository", page.Editor, left)
	isAll := slices.Contains(b.granted, box.Box{Act: box.All})
	if len(b.granted) > mostBoxes && !isAll {
		b.refused = fmt.Sprintf("%s checked, and %d act in a run", collect.Count(len(b.granted), "box was", "boxes were"), mostBoxes)
		b.granted = b.granted[:mostBoxes]
	}
}

// grant makes boxes take effect if a person has write access to the repository, whose name
// is where.
func (b *board) grant(ctx context.Context, may func(context.Context, string) (bool, error), where string, who github.Actor, boxes []box.Box) {
	switch {
	case len(boxes) == 0:
		return
	case who.Login == "":
		b.refused = "it is not known who checked its boxes, and they were cleared"
		return
	case who.Bot:
		b.refused = fmt.Sprintf("%s, which is a bot, checked its boxes, and they were cleared", who.Login)
		return
	}
	ok, err := may(ctx, who.Login)
	switch {
	case err != nil:
		b.unknown = err
	case !ok:
		b.refused = fmt.Sprintf("%s, who may not write to %s, checked its boxes, and they were cleared", who.Login, where)
	default:
		b.granted = append(b.granted, boxes...)
	}
}

// rights returns a function that reports whether a person has write access. It asks once
// for each person.
func rights(repo *github.Repository) func(context.Context, string) (bool, error) {
	var known memo.Memo[string, bool]
	return func(ctx context.Context, login string) (bool, error) {
		return known.Do(ctx, login, func() (bool, error) {
			permission, _, err := repo.Permission(ctx, login)
			if errors.Is(err, github.ErrNotFound) {
				err = nil
			}
			return permission == "admin" || permission == "write", err
		})
	}
}

// leftUnsaid is the part of a plan that no open pull request says. Each pull request has
// its own held-back changes, and the failures of all root modules.
func leftUnsaid(p *proposer, outcomes []pr.Outcome) *report.Report {
	rest := &report.Report{}
	open := map[string]bool{}
	for _, o := range outcomes {
		if o.Operation != pr.Closed && (o.Number > 0 || o.Operation != pr.None) {
			open[o.Group] = true
		}
	}
	for _, f := range p.found {
		f.result = f.result.Only(func(addr provider.Addr) bool { return !open[p.plan.Policy.GroupOf(f.module.Dir, addr)] })
		f.result.File = nil
		if len(open) > 0 { // problems that belong to no provider are in each of them
			f.result.Diagnostics = collect.Those(f.result.Diagnostics, func(d problem.Problem) bool { return d.Subject.Addr != provider.Addr{} })
			f.result.Module.Tree.Unread = nil
		}
		rest.Modules = append(rest.Modules, describe(p.job, f))
	}
	if len(open) == 0 {
		rest.Diagnostics = collect.Those(p.report.Diagnostics, func(d problem.Problem) bool { return d.Code == problem.CodeUnseen })
	}
	return rest
}

// keepDashboard updates the issue of a repository by the results of each base branch. What
// the run did not see changes nothing.
func (p *Plan) keepDashboard(ctx context.Context, r report.Report, parts []planned) report.Report {
	board, repo := p.visit.board, p.proposing.repo
	if board == nil || board.found == nil || repo == nil {
		return r
	}
	asking, stop := p.session.bounds.asking(ctx)
	defer stop()
	acting, stop := p.session.bounds.finishing(ctx, asking)
	defer stop()
	var out dashboard.Outcome
	text, partial := p.glance(r, parts)
	switch {
	case board.off:
		out = dashboard.Close(acting, repo, *board.found, p.own.DryRun)
		if out.Number == 0 {
			return r
		}
	case partial, asking.Err() != nil:
		out = dashboard.Left(*board.found, sawPart, nil)
	case board.unknown != nil:
		out = dashboard.Left(*board.found, mayNotAct, board.unknown)
		out.Unsettled = true
	default:
		out = keepIssue(acting, repo, *board.found, text, p.own)
	}
	if out.Err != nil {
		r.Diagnostics = append(r.Diagnostics, problem.Of(out.Err))
	}
	said := issueKept(p.session.env, out, p.given.repository, p.own.DryRun)
	if p.own.DryRun && !board.off {
		said.Body = text.Text().String()
	}
	r.Dashboards, r.Stats = append(r.Dashboards, said), spent(p.job)
	return r
}

// Why an issue is left as it is.
const (
	sawPart   = "this run did not look at everything that the issue lists"
	mayNotAct = "it is not known whether its boxes may act"
)

// keepIssue gives an issue its text, and says in its outcome why checked boxes did nothing.
func keepIssue(ctx context.Context, repo *github.Repository, found github.OwnIssues, page dashboard.Page, c settings.Settings) dashboard.Outcome {
	out := dashboard.Keep(ctx, repo, found, page, dashboard.Options{Labels: c.Dashboard.Labels, DryRun: c.DryRun})
	if out.Operation == "updated" {
		out.Reason = page.Notice
	}
	return out
}

// issueKept announces what has happened to an issue, and puts it in the form of the report.
func issueKept(env Env, out dashboard.Outcome, repository string, dryRun bool) report.Dashboard {
	if !dryRun && env.Did != nil && out.Operation != "none" {
		env.Did(fmt.Sprintf("%s issue %d of %s", out.Operation, out.Number, repository))
	}
	return report.Dashboard{
		Operation: out.Operation, Repository: repository, Number: out.Number, URL: out.URL, Reason: out.Reason, Unsettled: out.Unsettled,
	}
}

// notice says why checked boxes did nothing; empty if all did what they are for.
func (b *board) notice(pulls []report.PullRequest, prefix string) string {
	if b.refused != "" {
		return b.refused
	}
	idle := collect.CountIf(b.granted, func(one box.Box) bool {
		proposed := slices.ContainsFunc(pulls, func(p report.PullRequest) bool {
			return p.Branch == prefix+one.Branch && (p.Waiting == nil || strings.HasPrefix(p.Waiting.Digest, one.Digest))
		})
		return one.Act != box.All && !proposed
	})
	if idle == 0 {
		return ""
	}
	return collect.Count(idle, "checked box did nothing, since it is", "checked boxes did nothing, since they are") + " about something that is not proposed any more"
}

// glance is the new content of the issue. partial reports whether the run saw only a part.
func (p *Plan) glance(r report.Report, parts []planned) (text dashboard.Page, partial bool) {
	rest := report.Report{Verb: r.Verb, PullRequests: r.PullRequests, Summarised: r.Summarised}
	for _, part := range parts {
		if part.unsaid == nil {
			return text, true
		}
		rest.Modules, rest.Diagnostics = append(rest.Modules, part.unsaid.Modules...), append(rest.Diagnostics, part.unsaid.Diagnostics...)
		partial = partial || part.unseen.asksForPart()
	}
	prefix := p.own.PullRequest.BranchPrefix
	text.Silent = outline.SilentIn(rest)
	text.Body, text.Empty = p.ask.means.Dashboard(rest, prefix)
	text.Notice = p.visit.board.notice(r.PullRequests, prefix)
	for _, pull := range r.PullRequests {
		if pull.Number > 0 && pull.Operation != string(pr.Closed) {
			text.Open++
			at, _, _ := strings.Cut(pull.URL, "/pull/")
			text.OpenAt = at + "/pulls"
		}
	}
	return text, partial
}
