package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/worktree"
)

func mergeDriverCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "merge-driver BASE OURS THEIRS PATH",
		Short: "Merge lock files for git",
		Long: `merge-driver merges two versions of a lock file that come from one, as git's merge
driver. The result takes the place of the file OURS; PATH is where the lock file
is in the repository. docs/command-line.md says how to set that up.

A change of one side alone needs no registry. If both have changed an entry
and a registry does not answer, that entry is left between conflict markers, and
the status is 1: relock lock repairs it later. The status 129 stops git.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return unmerged(env, merge(cmd.Context(), env, args))
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return unmerged(env, unknownFlag(cmd, err))
	})
	return cmd
}

// unmerged prints an error, and returns the status that stops git.
func unmerged(env Env, err error) error {
	if _, ended := errors.AsType[exit](err); ended || err == nil {
		return err
	}
	complain(env.Stderr, err)
	return exit(ExitNoMerge)
}

// merge is called by git with %O %A %B %P, at the top of the working tree.
func merge(ctx context.Context, env Env, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("merge-driver is for git, which gives BASE OURS THEIRS PATH; %s given", collect.Count(len(args), "word is", "words are"))
	}
	var versions [3][]byte
	for i, name := range args[:3] {
		src, err := read(env, name)
		if err != nil {
			return err
		}
		versions[i] = src
	}
	name := filepath.ToSlash(args[3])
	content, conflicted := merged(ctx, env, name, versions[0], versions[1], versions[2])
	if err := run.WriteLock(env.path(args[1]), content, nil); err != nil { // git waits, and nobody else knows the file
		return fmt.Errorf("writing %s: %w", args[1], file.Cause(err))
	}
	if conflicted {
		return exit(ExitFailed)
	}
	return nil
}

// merged returns the merged lock file, and whether it still has a conflict. Problems and
// decisions go to standard error, which git shows.
func merged(ctx context.Context, env Env, name string, base, ours, theirs []byte) (content []byte, conflicted bool) {
	if !fs.ValidPath(name) {
		complain(env.Stderr, fmt.Errorf("%s is no path in the repository", name))
		return lockfile.Marked(ours, theirs), true
	}
	merge := lockfile.Merge
	if modulelock.Is(name) {
		merge = modulelock.Merge
	}
	marked, disputed, wrong := merge(base, ours, theirs, name)
	if len(wrong) > 0 {
		complain(env.Stderr, problem.Several(wrong))
		return lockfile.Marked(ours, theirs), true
	}
	if !disputed {
		return marked, false
	}
	if modulelock.Is(name) { // relock lock asks what its packages are now
		fmt.Fprintf(env.Stderr, leftConflict+"\n", safe.Plain(name))
		return marked, true
	}
	settled, err := planDisputed(ctx, env, name, marked)
	if err != nil {
		complain(env.Stderr, err)
	}
	if settled == nil {
		fmt.Fprintf(env.Stderr, leftConflict+" when the reason above is gone\n", safe.Plain(name))
		return marked, true
	}
	return settled, false
}

// leftConflict says what to do about a file with conflict markers.
const leftConflict = "relock: %s is left with a merge conflict\n  next: run relock lock"

// planDisputed plans what both sides have changed; nil if that fails.
func planDisputed(ctx context.Context, env Env, name string, marked []byte) ([]byte, error) {
	from, s, err := settingsOfRun(ctx, env, verbs.MergeDriver)
	if err != nil {
		return nil, err
	}
	var settled []byte
	m := run.Means{Settings: s, Of: from.In}
	r, err := during(env, run.ToLock(m, run.Checkout{}, nil), func(session *run.Session) (r report.Report, err error) {
		settled, r, err = run.PlanDisputed(ctx, session, m, worktree.RootOf(env.WorkDir), name, marked)
		return r, err
	})
	if err != nil {
		return nil, err
	}
	said := problem.Several(r.Diagnostics)
	for _, m := range r.Modules {
		said = append(said, m.Diagnostics...)
	}
	if len(said) > 0 {
		complain(env.Stderr, said)
	}
	return settled, nil
}
