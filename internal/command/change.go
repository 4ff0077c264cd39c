package command

import (
	"context"

	"github.com/relock-dev/relock/internal/action"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
)

// changeOf is the change of the event; nil if the event has none.
func changeOf(ctx context.Context, env Env, s settings.Settings) (*run.Change, error) {
	rt := env.runtime()
	c, ok := rt.Change()
	if !ok {
		return nil, nil
	}
	change := run.Change{Base: c.Base, Head: c.Head, Straight: c.Straight, Unknown: c.Unknown}
	var err error
	switch {
	case rt.Event() == "pull_request":
		change, err = changeOfPull(ctx, env, s, change)
	case c.Replaced && mayAsk(s.Values):
		asking := withRepository(env, s, func(repo *github.Repository) error {
			var err error
			change, err = changeOfReplaced(ctx, repo, rt, change)
			return err
		})
		if asking != nil {
			change.Unknown += ", and its base could not be read: " + asking.Error()
		}
	}
	return &change, err
}

// changeOfPull is the change of a pull request's test merge. If another commit is checked
// out, it is the change of that commit since it left the base. Without a test merge, it is
// the change in the event.
func changeOfPull(ctx context.Context, env Env, s settings.Settings, said run.Change) (run.Change, error) {
	root := rootsOf(env, s.Values.Texts("directories"))[0]
	base, tested, err := baseOf(ctx, env, s, root)
	if err != nil || !tested {
		return said, err
	}
	merge := env.runtime().SHA()
	at, err := revision(root, "HEAD")
	if err != nil || at.Commit == merge { // a runner without git makes a checkout without .git
		return run.Change{Base: base, Head: merge, Straight: true}, nil
	}
	var d github.Difference
	err = withRepository(env, s, func(repo *github.Repository) error {
		d, err = repo.Difference(ctx, base, at.Commit)
		return err
	})
	if err != nil { // a step may have made a commit that GitHub does not know
		return run.Change{Base: base, Head: merge, Straight: true}, nil
	}
	return run.Change{Base: d.MergeBase, Head: at.Commit, Straight: true}, nil
}

// changeOfReplaced is the change of a push that made a branch, or replaced it by force. The
// default branch is compared with its commit before the push, as long as GitHub has that.
// Any other branch is compared with the default branch.
func changeOfReplaced(ctx context.Context, repo *github.Repository, rt *action.Runtime, c run.Change) (run.Change, error) {
	byDefault := rt.DefaultBranch()
	if byDefault == "" || c.Base == "" && rt.Branch() == byDefault {
		return c, nil
	}
	if rt.Branch() != byDefault {
		tip, err := repo.Head(ctx, byDefault)
		if err != nil {
			return c, err
		}
		return run.Change{Base: tip, Head: c.Head}, nil
	}
	_, err := repo.Commit(ctx, c.Base)
	if err == nil {
		c.Unknown = ""
	}
	return c, err
}
