package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/filetree"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/worktree"
)

// atCommit replaces a checkout by the commit that it is at, for pull requests: other files
// on the disk are only for its owner. The target stays a checkout if there is no repository
// or no commit, or if the base branch on GitHub does not have that commit. Then the base
// branch must be read from GitHub. The notices say what is read.
func atCommit(ctx context.Context, j job, t target) (target, []problem.Problem, error) {
	root, err := oneRoot(j.env.WorkDir, t.dirs)
	if err != nil {
		return t, nil, err
	}
	clone, err := worktree.OpenClone(root)
	if err != nil && t.checkout.Commit != "" { // a runner without git makes no .git
		return t, readElsewhere("the checkout is no git repository", t.base), nil
	}
	if err != nil {
		return t, nil, err
	}
	if clone.Unborn() {
		return t, readElsewhere("the branch that is checked out has no commit", t.base), nil
	}
	head, err := clone.At("HEAD")
	if err != nil {
		return t, nil, err
	}
	on, err := isOnBase(ctx, j, t, head.Commit)
	if err != nil {
		return t, nil, err
	}
	if !on {
		return t, readElsewhere("the base branch does not have HEAD", t.base), nil
	}
	differ, _, err := clone.Changed(head, relevant)
	if err == nil && worktree.HasAll(clone, head, func(name string) bool { return name == j.settings.Own || reads(name) }) {
		return t.at(j.env.WorkDir, &Remote{FS: worktree.Committed(clone, head), Commit: head.Commit}), differing(j, differ), nil
	}
	repo, err := j.clients.reach(j.access, t.repository)
	if err != nil {
		return t, nil, err
	}
	remote, err := Snapshot(ctx, repo, head.Commit)
	if err != nil {
		return t, nil, fmt.Errorf("reading HEAD, which this clone does not have in whole: %w", err)
	}
	return t.at(j.env.WorkDir, remote), differing(j, differ), nil
}

// oneRoot is the repository of all directories. It is an error if there are several.
func oneRoot(workDir string, dirs []string) (root string, err error) {
	if len(dirs) == 0 {
		dirs = []string{everything}
	}
	for i, dir := range dirs {
		at := worktree.RootOf(file.Absolute(workDir, dir))
		if i > 0 && at != root {
			return "", errors.New("the directories are in different repositories; a pull request is about one")
		}
		root = at
	}
	return root, nil
}

// isOnBase reports whether the base branch on GitHub has a commit. GitHub is not asked if
// the event says that the branch is at this commit.
func isOnBase(ctx context.Context, j job, t target, commit string) (bool, error) {
	if t.checkout.Commit == commit && t.checkout.Branch == t.base && t.base != "" {
		return true, nil
	}
	repo, err := j.clients.reach(j.access, t.repository)
	if err != nil {
		return false, err
	}
	recent, err := repo.History(ctx, t.base)
	if err != nil || len(recent) == 0 {
		return false, err
	}
	if slices.ContainsFunc(recent, func(c github.Commit) bool { return c.SHA == commit }) {
		return true, nil
	}
	d, err := repo.Difference(ctx, recent[0].SHA, commit)
	if errors.Is(err, github.ErrNotFound) {
		return false, nil
	}
	return err == nil && d.MergeBase == commit, err
}

// readElsewhere says that the base branch is read from GitHub.
func readElsewhere(why, base string) []problem.Problem {
	return []problem.Problem{{
		Code: problem.CodeUnseen, Severity: problem.SeverityWarning,
		Message: why + ", so " + base + " is read from GitHub, and the files on disk are not", Hint: "push what the pull requests must know of",
	}}
}

// mostDiffering is how many files one line names.
const mostDiffering = 3

// differing says which files on disk differ from HEAD. For people who try settings in a dry
// run, the configuration file on disk counts.
func differing(j job, differ []filetree.ChangedPath) (notices []problem.Problem) {
	files := map[string]bool{}
	for _, d := range differ {
		own := d.Path == j.settings.Own || slices.Contains(settings.FileNames, d.Path)
		switch {
		case own && triesSettings(j.env, j.settings):
			notices = append(notices, problem.Problem{
				Code: problem.CodeSettings, Severity: problem.SeverityWarning, Place: problem.Place{Path: d.Path},
				Message: "this dry run goes by the configuration file on disk, which differs from that of HEAD", Hint: "commit it: other runs go by what is committed",
			})
		case own, reads(d.Path), scan.Notices(d.Path):
			files[d.Path] = true
		}
	}
	if len(files) == 0 {
		return notices
	}
	message := counted(len(files), "1 file differs from HEAD and is not read: ", "%d files differ from HEAD and are not read: ")
	return append(notices, problem.Problem{
		Code: problem.CodeUnseen, Severity: problem.SeverityWarning, Message: message + firstOf(slices.Sorted(maps.Keys(files)), mostDiffering),
		Hint: "commit and push them; relock check and relock upgrade read the disk",
	})
}

// triesSettings reports whether a person tries settings before they are committed: in a dry
// run on their own machine.
func triesSettings(env Env, c settings.Settings) bool { return c.DryRun && !env.OnGitHub }
