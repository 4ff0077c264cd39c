package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/worktree"
)

// baseUnknown is the warning that the base of a pull request cannot be read.
var baseUnknown = problem.Problem{
	Code: problem.CodeSettings, Severity: problem.SeverityWarning,
	Message: "the configuration file is not read: that of a pull request's head decides nothing, and its base is not here",
	Hint:    "give the step a token that may read contents, or let actions/checkout fetch the base with fetch-depth: 0",
}

// unreadBase is the error for a file of a base that cannot be read.
func unreadBase(what, name string) error {
	return &problem.Error{Problem: problem.Problem{
		Code:    problem.CodeSettings,
		Message: fmt.Sprintf("the %s %s is not read: that of a pull request's head decides nothing, and its base is not here", what, name),
		Hint:    baseUnknown.Hint,
	}}
}

// notOfTheBase is the error for a file that is outside of the repository.
func notOfTheBase(what, name string) error {
	return fmt.Errorf("the %s %s is not in the repository of the pull request", what, name)
}

// baseKnown reports whether named files of a pull request's base can be read: by the
// checkout, if that has the commit, or with credentials from GitHub.
func baseKnown(env Env, root string, names []string, values settings.Values) bool {
	base, _ := baseHere(env, root)
	if base == "" {
		return false
	}
	_, cloned := filesOfCommit(root, base, names)
	return cloned || mayAsk(values)
}

// mayAsk reports whether there are credentials for GitHub.
func mayAsk(values settings.Values) bool {
	return values["token"].Items[0] != "" || values["app-id"].Items[0] != ""
}

// baseHere is the base of a pull request as far as the checkout and the event know it. tested
// is as in action.Runtime.Tested.
func baseHere(env Env, root string) (base string, tested bool) {
	rt := env.runtime()
	merge, err := revision(root, rt.SHA())
	if err != nil {
		return rt.Tested(nil)
	}
	return rt.Tested(merge.Parents())
}

// revision is a commit of the repository on disk. It is an error if a shallow clone lacks
// it.
func revision(root, name string) (worktree.Revision, error) {
	clone, err := worktree.OpenClone(root)
	if err != nil {
		return worktree.Revision{}, err
	}
	return clone.At(name)
}

// filesOfCommit are those of the named files that a commit on disk has. ok is false if the
// commit cannot be read there, or if a file is a link, which could lead elsewhere.
func filesOfCommit(root, commit string, names []string) (files fs.FS, ok bool) {
	at, err := revision(root, commit)
	if err != nil {
		return nil, false
	}
	return at.Files(names)
}

// baseOf is the base of a pull request. If the checkout lacks the test merge, GitHub is
// asked for it. If GitHub does not show it, the base in the event counts.
func baseOf(ctx context.Context, env Env, s settings.Settings, root string) (base string, tested bool, err error) {
	rt := env.runtime()
	base, tested = baseHere(env, root)
	if tested || rt.Event() == "merge_group" || rt.SHA() == "" || !mayAsk(s.Values) {
		return base, tested, nil
	}
	merge, err := env.commits.Do(ctx, rt.SHA(), func() (merge github.Commit, err error) {
		err = withRepository(env, s, func(repo *github.Repository) error {
			merge, err = repo.Commit(ctx, rt.SHA())
			return err
		})
		return merge, err
	})
	if errors.Is(err, github.ErrNotFound) || errors.Is(err, github.ErrForbidden) {
		return base, false, nil
	}
	base, tested = rt.Tested(merge.Parents)
	return base, tested, err
}

// withRepository calls act with the repository of the event on GitHub, in a session of its
// own.
func withRepository(env Env, s settings.Settings, act func(*github.Repository) error) error {
	ask := run.ToScan(run.Means{Settings: s, Head: env.head()}, env.checkout(), nil)
	session, err := run.Open(env.ofRun(s), ask)
	if err != nil {
		return err
	}
	defer session.Close()
	repo, err := session.Repository(ask)
	if err != nil {
		return err
	}
	return act(repo)
}

// baseFiles reads the named files at the base of a change. It fails if the base is not known.
func baseFiles(ctx context.Context, env Env, s settings.Settings, root string, names []string) (files fs.FS, err error) {
	base, _, err := baseOf(ctx, env, s, root)
	if err != nil {
		return nil, err
	}
	if files, ok := filesOfCommit(root, base, names); ok {
		return files, nil
	}
	err = withRepository(env, s, func(repo *github.Repository) error {
		files, err = repo.Snapshot(ctx, base, func(name string) bool { return slices.Contains(names, name) })
		return err
	})
	return files, err
}

// fileNames are the possible names of a configuration file: the given name, or else the
// usual ones.
func fileNames(named string) []string {
	if named != "" {
		return []string{named}
	}
	return settings.FileNames
}

// baseFile reads the configuration file of the base. If the named file is missing there,
// the pull request adds it, and the result is empty.
func baseFile(base fs.FS, name string) (settings.File, error) {
	file, err := settings.ReadFile(base, name)
	if name != "" && errors.Is(err, fs.ErrNotExist) {
		return settings.File{}, nil
	}
	return file, err
}
