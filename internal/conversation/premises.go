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

// premises are the facts for the decision about a command. The decision asks for them one
// by one (comment.Source). premises keep them for the request that is carried out.
type premises struct {
	*reply
	means   run.Means // with the settings of the base branch, once base is known
	right   *right
	pull    github.PullRequest // its zero value before it was read
	branch  string             // the base branch: the default branch, or that of the pull request once it is read
	base    string             // the commit that it is at; empty before it was read
	owned   *pr.Owned          // nil if the pull request is not ours
	notices []problem.Problem  // of the configuration file of the base branch
}

// Permission implements comment.Source.
func (p *premises) Permission(ctx context.Context) (string, error) {
	return p.right.now(ctx)
}

// commands are those of the comment. Of a person without the right to give any it is the
// first alone, which gets the refusal.
func (p *premises) commands(ctx context.Context) ([]string, error) {
	lines := comment.Commands(p.event.Body)
	permission, err := p.Permission(ctx)
	switch {
	case err != nil:
		return nil, err
	case !comment.MayCommand(permission):
		return lines[:1], nil
	}
	return lines, nil
}

// isOurPage reports whether a bot or our account opened the issue. Anybody may write our marker, so
// nothing is done before this is known. Under a pull request it is always true.
func (p *premises) isOurPage(ctx context.Context) (bool, error) {
	if p.event.Under == comment.UnderPull {
		return true, nil
	}
	ours, err := p.repo.MayBeOurs(ctx, p.event.Opener)
	if err == nil && !ours {
		p.log.Info("the comment does nothing: the issue has a marker of relock's, and another person has opened it", "opened by", p.event.Opener.Login)
	}
	return ours, err
}

// heard reports whether the comment counts. If an App wrote it, the settings of the base
// branch decide.
func (p *premises) heard(ctx context.Context) (bool, error) {
	if !p.event.ViaApp {
		return true, nil
	}
	if err := p.readPull(ctx); err != nil {
		return false, err
	}
	err := p.readBase(ctx)
	return p.means.Settings.CommandsViaApps, err
}

// readPull reads the pull request, once. Under relock's issue there is none.
func (p *premises) readPull(ctx context.Context) error {
	if p.pull.Number != 0 || p.event.Under == comment.UnderPage {
		return nil
	}
	pull, err := p.repo.PullRequest(ctx, p.event.Number)
	if err == nil {
		p.pull, p.branch = pull, pull.Base
	}
	return err
}

// readBase reads the settings of the base branch, once.
func (p *premises) readBase(ctx context.Context) error {
	if p.base != "" {
		return nil
	}
	base, err := p.repo.Head(ctx, p.branch)
	if err != nil {
		return err
	}
	own, err := p.settingsAt(ctx, base)
	if err == nil {
		p.base, p.means.Settings, p.notices = base, own, own.Notices
	}
	return err
}

// Pull implements comment.Source.
func (p *premises) Pull(ctx context.Context) (comment.Pull, error) {
	if err := p.readPull(ctx); err != nil {
		return comment.Pull{}, err
	}
	pull := p.pull
	return comment.Pull{
		Open: pull.Open, Merged: pull.Merged, Head: pull.Head,
		Writable: !pull.Fork || pull.MaintainerCanModify && pull.HeadRepository != "" && !p.byWorkflow(ctx),
	}, nil
}

// Ownership implements comment.Source. It reads the settings of the base branch, which say how
// branches of ours are named.
func (p *premises) Ownership(ctx context.Context) (comment.Ownership, error) {
	if err := p.readBase(ctx); err != nil {
		return comment.Ownership{}, err
	}
	owned, ours, err := pr.Find(ctx, p.repo, p.pull, p.means.Settings.PullRequest.BranchPrefix)
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
		err = comment.Refuse(safe.Format("the configuration on the branch %s cannot be used: %s", safe.Code(p.branch), safe.Text(err.Error())))
	}
	return own, err
}
