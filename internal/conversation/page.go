package conversation

import (
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/upgrade"
	"github.com/relock-dev/relock/internal/verbs"
)

// page is one command under relock's issue. It applies to the base branches of the
// repository as they are now, with the settings of the default branch.
type page struct {
	*premises
	session *run.Session
	command comment.Command
}

// carryOut carries out the command, and returns its last answer.
func (p page) carryOut(ctx context.Context) (r report.Report, said safe.Markdown, err error) {
	if err := p.readBase(ctx); err != nil {
		return r, said, err
	}
	switch p.command.Verb {
	case comment.Why:
		return p.why(ctx)
	case comment.Show:
		said, err = p.show(ctx)
		return r, said, err
	case comment.Reopen:
		if err := p.say(ctx, safe.Const("On it.")); err != nil {
			return r, said, err
		}
		said, err = p.reopen(ctx)
		return r, said, err
	}
	panic("conversation: a command that is for the issue and not here: " + string(p.command.Verb))
}

// bases are the branches that pull requests are for.
func (p page) bases() []string {
	if named := p.means.Settings.PullRequest.Base; len(named) > 0 {
		return named
	}
	return []string{p.branch}
}

// files reads the files of a base branch. Of the default branch it reads the commit whose
// settings were read.
func (p page) files(ctx context.Context, branch string) (*run.Remote, error) {
	at := p.base
	if branch != p.branch {
		head, err := p.repo.Head(ctx, branch)
		if err != nil {
			return nil, err
		}
		at = head
	}
	return run.Snapshot(ctx, p.repo, at)
}

// why explains what holds a provider on the first base branch.
func (p page) why(ctx context.Context) (r report.Report, said safe.Markdown, err error) {
	branch := p.bases()[0]
	files, err := p.files(ctx, branch)
	if err != nil {
		return r, said, err
	}
	w := run.Wanted{Mode: upgrade.Upgrade, Dirs: p.command.Dirs, Providers: p.command.Providers}
	if len(w.Dirs) == 0 {
		w.Dirs = p.means.Settings.Directories
	}
	at := run.PullHead{Repository: p.event.Repository, Files: files}
	r, err = run.Run(ctx, p.session, run.ToLook(p.means, verbs.Why, at, w, run.JudgedBy{}))
	if err != nil {
		return r, said, refused(err)
	}
	if len(r.Modules) == 0 && !r.Failed() {
		return r, said, comment.Refuse(safe.Format("no root module on the branch %s has a lock file; name a directory to include one anyway", safe.Code(branch)))
	}
	text, err := whyText(r, p.command.Providers)
	return r, safe.Format("On the branch %s:\n\n%s", safe.Code(branch), text), err
}

// show lists the rules in force, and the ignores of the groups, which their pull requests
// have.
func (p page) show(ctx context.Context) (safe.Markdown, error) {
	all, err := p.groups(ctx)
	if err != nil {
		return safe.Markdown{}, err
	}
	all = slices.DeleteFunc(all, func(g group) bool { return len(g.ignores) == 0 })
	if len(all) == 0 {
		all = []group{{}}
	}
	return inForce(all, p.means.Settings.Policy), nil
}

// reopen opens the newest closed pull request of a group again.
func (p page) reopen(ctx context.Context) (safe.Markdown, error) {
	var newest github.PullRequest
	for _, base := range p.bases() {
		seen, err := p.look(ctx, base, p.command.Group)
		if err != nil {
			return safe.Markdown{}, err
		}
		if one := seen.Pulls[p.command.Group]; one.Number > newest.Number {
			newest = one
		}
	}
	if newest.Open {
		return safe.Markdown{}, comment.Refuse(safe.Format("pull request #%s of this group is open", safe.Int(newest.Number)))
	}
	if newest.Number == 0 || newest.Merged {
		return safe.Markdown{}, p.nothingClosed(ctx)
	}
	owned, ours, err := pr.Find(ctx, p.repo, newest, p.means.Settings.PullRequest.BranchPrefix)
	if err != nil {
		return safe.Markdown{}, err
	}
	if !ours {
		return safe.Markdown{}, p.nothingClosed(ctx)
	}
	if err := p.right.confirm(ctx); err != nil {
		return safe.Markdown{}, err
	}
	return safe.Format("Opened pull request #%s again.", safe.Int(newest.Number)), pr.Reopen(ctx, p.repo, owned)
}

// nothingClosed is the refusal to open a pull request if a person has closed none of the
// group. It names the groups that have one.
func (p page) nothingClosed(ctx context.Context) error {
	all, err := p.groups(ctx)
	if err != nil {
		return err
	}
	var names []safe.Markdown
	for _, g := range all {
		m, _ := pr.ParseMarker(g.pull.Body)
		if g.pull.Number > 0 && !g.pull.Open && !g.pull.Merged && m.Closed == "" && len(names) < mostClosed {
			names = append(names, safe.Code(g.name))
		}
	}
	why := safe.Format("the group %s has no closed pull request", safe.Code(p.command.Group))
	if len(names) == 0 {
		return comment.Refuse(why.And("; no group has one that a person closed"))
	}
	return comment.Refuse(why.And("; these have one that a person closed: %s", safe.Join(", ", names...)))
}

// mostClosed bounds the groups that an answer names.
const mostClosed = 100

// groups are the groups of the providers on the base branches.
func (p page) groups(ctx context.Context) ([]group, error) {
	var all []group
	for _, base := range p.bases() {
		files, err := p.files(ctx, base)
		if err != nil {
			return nil, err
		}
		names, err := run.GroupsIn(ctx, files, p.means.Settings)
		if err != nil {
			return nil, err
		}
		seen, err := p.look(ctx, base, names...)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			all = append(all, group{name, seen.Pulls[name], seen.Ignores[name]})
		}
	}
	return all, nil
}

// look asks for the pull requests of groups into a base branch.
func (p page) look(ctx context.Context, base string, groups ...string) (pr.Survey, error) {
	return pr.Look(ctx, p.repo, base, p.means.Settings.PullRequest.BranchPrefix, groups...)
}
