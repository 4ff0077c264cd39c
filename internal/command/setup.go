package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/setup"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/worktree"
)

func setupCommand(env Env) *cobra.Command {
	var o setupOptions
	cmd := &cobra.Command{
		Use: "setup", Short: "Write the workflow that opens pull requests",
		Long: `setup writes .github/workflows/relock.yml, which opens pull requests on a schedule
and by hand, with the least permissions. It pins the release of relock that runs.
Then it shows what check finds here, and ends with three lines: how to commit the
workflow, how to start it, and where to allow its pull requests.

It replaces no file: if one is there, it writes none. It asks registries, hosts of
modules, and the git repository of relock, and never GitHub's API.`,
		Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSetup(cmd.Context(), env, o) },
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&o.stdout, "stdout", false, "Print the workflows instead of writing them.")
	cmd.Flags().BoolVar(&o.check, "check", false, "Also write relock-check.yml, a check of pull requests that can be required.")
	cmd.Flags().BoolVar(&o.comments, "comments", false, "Also write relock-comments.yml, which answers /relock commands in comments.")
	return cmd
}

type setupOptions struct{ stdout, check, comments bool }

// runSetup decides what a repository gets, writes that, and says how to go on.
func runSetup(ctx context.Context, env Env, o setupOptions) error {
	top := worktree.RootOf(env.WorkDir)
	atTop := env
	atTop.WorkDir = top
	from, s, err := settingsOfRun(ctx, atTop, verbs.Check)
	if err != nil {
		return err
	}
	d, notices, err := discover(env, top)
	if err != nil {
		return err
	}
	d.Check, d.Comments = o.check, o.comments
	if !o.stdout {
		if err := writable(d, top); err != nil {
			return err
		}
	}
	warn(env, notices)
	d.Release = releaseOf(ctx, env, s)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if o.stdout {
		return printWorkflows(env, setup.Advise(d).Files)
	}
	d.Roots, err = run.Found(ctx, top)
	if err != nil {
		return err
	}
	advice := setup.Advise(d)
	if err := writeWorkflows(advice.Files, d, top); err != nil {
		return err
	}
	for _, line := range advice.Found {
		fmt.Fprintln(env.Stdout, safe.Plain(line))
	}
	for _, w := range advice.Files {
		fmt.Fprintln(env.Stdout, "wrote", d.Named(w.Path))
	}
	fmt.Fprintln(env.Stdout, "\nThe check downloads each package of a newer release that it does not know yet. An interrupt ends it: the workflow is written.")
	fmt.Fprintln(env.Stdout, "relock check --summary:")
	result := showCheck(ctx, atTop, from, s)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fmt.Fprintf(env.Stdout, "\nNext:\n  %s\n", strings.Join(advice.Next, "\n  "))
	return result
}

// discover returns what the disk says of the repository whose working tree is at top.
func discover(env Env, top string) (d setup.Discovered, notices []problem.Problem, err error) {
	d = setup.Discovered{Server: env.server(), Repository: env.runtime().Repository()}
	if err := setup.Serverless(env.runtime().ServerURL()); err != nil {
		return d, nil, err
	}
	d.Others = d.Repository != "" // the remotes may name another one
	if d.Others {
		err = setup.Nameless(d.Repository)
	} else {
		d.Repository, notices, err = worktree.Origin(top, d.Server)
		if problem.Coded(err, problem.CodeSettings) {
			err = setup.Elsewhere(problem.Of(err))
		}
	}
	if err != nil {
		return d, nil, err
	}
	d.Others = d.Others || len(notices) > 0
	d.Branches, err = worktree.BranchesOf(top, d.Server, d.Repository)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, worktree.ErrNoRepository) {
		return d, nil, err
	}
	b := &d.Branches
	b.Remote, b.Current, b.Default, b.From = safe.Plain(b.Remote), safe.Plain(b.Current), safe.Plain(b.Default), safe.Plain(b.From)
	up, err := filepath.Rel(env.WorkDir, top)
	if err != nil {
		return d, nil, err
	}
	if up != "." {
		d.Up = filepath.ToSlash(up)
	}
	d.Running = workflowsIn(top, setup.RunsRelock)
	if info, err := os.Lstat(filepath.Join(top, setup.AtlantisFile)); err == nil && info.Mode().IsRegular() {
		d.Atlantis = true
	}
	d.Bots, err = botsIn(top)
	return d, notices, err
}

// largestBotFile bounds a configuration file of another bot.
const largestBotFile = 1 << 20

// botsIn returns the other bots for which a repository has a configuration file.
func botsIn(top string) ([]setup.Bot, error) {
	var bots []setup.Bot
	for _, name := range []string{"Dependabot", "Renovate"} {
		files := setup.BotFiles[name]
		i := slices.IndexFunc(files, func(name string) bool {
			_, err := os.Lstat(filepath.Join(top, filepath.FromSlash(name)))
			return err == nil
		})
		if i < 0 {
			continue
		}
		bot := setup.Bot{Name: name, File: files[i]}
		if name == "Dependabot" {
			content, err := file.ReadAtMost(filepath.Join(top, filepath.FromSlash(files[i])), largestBotFile)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", files[i], file.Cause(err))
			}
			bot.Providers = setup.UpdatesProviders(content)
		}
		bots = append(bots, bot)
	}
	return bots, nil
}

// writable returns an error if anything has the name of a workflow already, or if .github or
// its directory of workflows is a link or a file.
func writable(d setup.Discovered, top string) error {
	for _, dir := range []string{path.Dir(workflowsDir), workflowsDir} {
		info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(dir)))
		if err == nil && !info.IsDir() {
			return setup.InTheWay(d.Named(dir))
		}
	}
	var taken []string
	for _, w := range setup.Advise(d).Files {
		if _, err := os.Lstat(filepath.Join(top, filepath.FromSlash(w.Path))); err == nil {
			taken = append(taken, d.Named(w.Path))
		}
	}
	if len(taken) > 0 {
		return setup.Taken(taken)
	}
	return nil
}

// writeWorkflows writes all workflows or none, even if somebody creates one of them meanwhile.
func writeWorkflows(workflows []setup.Workflow, d setup.Discovered, top string) error {
	var files []file.New
	for _, w := range workflows {
		files = append(files, file.New{Name: filepath.Join(top, filepath.FromSlash(w.Path)), Content: []byte(w.Content)})
	}
	err := file.CreateAll(files, file.Options{Mode: 0o644, Parents: 0o755})
	if errors.Is(err, fs.ErrExist) {
		if taken := writable(d, top); taken != nil {
			return taken
		}
	}
	if err != nil {
		return fmt.Errorf("writing the workflows: %w; none was written", file.Cause(err))
	}
	return nil
}

// printWorkflows prints workflows, with an empty line between two.
func printWorkflows(env Env, workflows []setup.Workflow) error {
	var texts []string
	for _, w := range workflows {
		texts = append(texts, w.Content)
	}
	_, err := fmt.Fprint(env.Stdout, strings.Join(texts, "\n"))
	return err
}

// showCheck shows what check finds in the working tree, after the size of what it downloads. A lock file that would change is no
// failure of setup; a question without an answer is one.
func showCheck(ctx context.Context, env Env, from settings.Sources, s settings.Settings) error {
	env.foretells = true
	r, err := carryOut(ctx, env, from, s, verbs.Check, nil, event{})
	if err == nil {
		err = render.Text(env.Stdout, r, render.TextOptions{Color: env.Color, Width: env.Width, Summary: new(true)})
	}
	if err != nil {
		complain(env.Stderr, err)
		return exit(ExitFailed)
	}
	if r.Failed() {
		return exit(ExitFailed)
	}
	return nil
}

// ownRepository is the repository whose tags are the releases of relock.
const ownRepository = "https://github.com/relock-dev/relock"

// releaseOf returns the release of this program. The program cannot know the commit of its
// tag, because that commit holds the program's checksum. So releaseOf asks the repository.
// If the repository does not answer, the workflows name the tag. A version without a tag is
// no release. Then the workflows name the commit of the build, or v1 if that is unknown.
func releaseOf(ctx context.Context, env Env, s settings.Settings) setup.OwnRelease {
	version, built := env.Build.Version, setup.OwnRelease{Commit: env.Build.commit()}
	if !env.Build.released() {
		if built.Commit == "" {
			warn(env, []problem.Problem{{
				Message: "nothing says which commit of relock this build is: the workflows name the newest release, v1",
				Hint:    "use a build whose commit relock version prints, or write relock-dev/relock@COMMIT into the workflows",
			}})
		}
		return built
	}
	commit, err := tagOf(ctx, env, s, "v"+version)
	switch {
	case err != nil:
		warn(env, []problem.Problem{{
			Message: fmt.Sprintf("the workflows name relock by the tag v%s and not by its commit: %v", version, err),
			Hint:    "let Dependabot or Renovate replace the tag by its commit, since a tag can be moved",
		}})
	case commit == "":
		named := "the newest one, v1"
		if built.Commit != "" {
			named = "the commit of this build"
		}
		warn(env, []problem.Problem{{
			Message: fmt.Sprintf("relock has no release v%s: the workflows name %s", version, named),
		}})
		return built
	}
	return setup.OwnRelease{Version: version, Commit: commit}
}

// tagOf asks the repository of relock for the commit of a tag.
func tagOf(ctx context.Context, env Env, s settings.Settings, tag string) (string, error) {
	session, err := run.Open(env.ofRun(s), run.ToScan(run.Means{Settings: s}, run.Checkout{}, nil))
	if err != nil {
		return "", err
	}
	defer session.Close()
	return run.CommitOfTag(ctx, session, ownRepository, tag)
}
