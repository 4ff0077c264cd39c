package command

import (
	"context"

	"github.com/relock-dev/relock/internal/action"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
)

// changeOf is the change that the event is about; nil if it is about none.
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

// changeOfPull is what the test merge of a pull request changes. If another commit is checked
// out, it is what that one has since it left the base. Without a test merge the event says
// what was changed.
func changeOfPull(ctx context.Context, env Env, s settings.Settings, said run.Change) (run.Change, error) {
	root := scanned(env, s.Values)[0]
	base, tested, err := baseOf(ctx, env, s, root)
	if err != nil || !tested {
		return said, err
	}
	merge := env.runtime().SHA()
	at, err := revision(root, "HEAD")
	if err != nil || at.Commit == merge { // a runner without git makes a checkout that has none
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

// changeOfReplaced is what a push has changed that made a branch, or replaced it by force. The
// default branch is compared with the commit before, as long as GitHub has it. Any other
// branch is compared with the default branch.
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
