package conversation

import (
	"context"
	"slices"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/pr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
)

// premises are what the decision about a command rests on. The decision asks for them one by
// one (comment.Source). What they say is kept here for the request that is carried out.
type premises struct {
	*reply
	means   run.Means // with the settings of the base branch, once the ownership is known
	pull    github.PullRequest
	base    string            // the commit that the base branch is at
	owned   *pr.Owned         // nil if the pull request is not ours
	notices []problem.Problem // of the configuration file of the base branch
}

// Permission implements comment.Source.
func (p *premises) Permission(ctx context.Context) (string, error) {
	permission, role, err := p.repo.Permission(ctx, p.event.Author)
	if err != nil {
		return "", err
	}
	p.log.Info("a command was given", "by", p.event.Author, "permission", permission, "role", role)
	return permission, nil
}

// Pull implements comment.Source.
func (p *premises) Pull(ctx context.Context) (comment.Pull, error) {
	pull, err := p.repo.PullRequest(ctx, p.event.Number)
	if err != nil {
		return comment.Pull{}, err
	}
	p.pull = pull
	return comment.Pull{
		Open: pull.Open, Merged: pull.Merged, Head: pull.Head,
		Writable: !pull.Fork || pull.MaintainerCanModify && pull.HeadRepository != "" && !p.byWorkflow(ctx),
	}, nil
}

// Ownership implements comment.Source. It reads the settings of the base branch, which say how
// branches of ours are named.
func (p *premises) Ownership(ctx context.Context) (comment.Ownership, error) {
	base, err := p.repo.Head(ctx, p.pull.Base)
	if err != nil {
		return comment.Ownership{}, err
	}
	own, err := p.settingsAt(ctx, base)
	if err != nil {
		return comment.Ownership{}, err
	}
	p.base, p.means.Settings, p.notices = base, own, own.Notices
	owned, ours, err := pr.Find(ctx, p.repo, p.pull, own.PullRequest.BranchPrefix)
	if err != nil || !ours {
		return comment.Ownership{}, err
	}
	p.owned = &owned
	return comment.Ownership{Ours: true, Touched: owned.Touched}, nil
}

// settingsAt are the settings for a commit of the base branch.
func (p *premises) settingsAt(ctx context.Context, commit string) (settings.Settings, error) {
	files, err := p.repo.Snapshot(ctx, commit, func(name string) bool {
		return name == p.event.Config || slices.Contains(settings.FileNames, name)
	})
	if err != nil {
		return settings.Settings{}, err
	}
	own, err := p.means.Of(files)
	if err != nil {
		err = comment.Refuse(safe.Format("the configuration on the branch %s cannot be used: %s", safe.Code(p.pull.Base), safe.Text(err.Error())))
	}
	return own, err
}

// request is a command about the pull request, once all is asked for.
func (p *premises) request(c comment.Command) request {
	return request{
		repo: p.repo, repository: p.event.Repository, pull: p.pull, command: c, base: p.base, means: p.means, log: p.log,
	}
}
