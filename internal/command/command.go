// Package command is the command line: it turns words, settings and events into
// a run.Ask, prints the report, and sets the exit status. What a verb does
// is in package run; what a report looks like is in package report.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/action"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/github"
	"github.com/relock-dev/relock/internal/memo"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
)

// The exit statuses. They are a contract; where several apply, the first of
// usage, failed, finding and changes does.
const (
	ExitOK      = 0
	ExitFailed  = 1 // something failed, wholly or in part
	ExitUsage   = 2 // the command line, the configuration, or what they name
	ExitChanges = 3 // check found changes
	ExitFinding = 4 // verify has findings, or check found a hash that belongs to nothing or what a rule refuses

	// Git takes statuses up to 128 of a merge driver for a conflict that is left
	// in the file, and any above it for a failure: then it stops the merge and
	// leaves the file as it is [gitattributes, "Defining a custom merge driver"].
	ExitNoMerge = 129

	// ExitInterrupted is what shells make of an interrupt. It outranks the others.
	ExitInterrupted = 130
)

// Env is the world around the program. Nothing below main reads the process's
// own.
type Env struct {
	Args           []string // without the program's name
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Environ        []string // NAME=VALUE
	WorkDir        string   // absolute
	Home           string
	CacheDir       string // of the user; empty if there is none
	GOOS           string
	Build          Build
	Now            time.Time
	// Color and Width are those of the terminal on Stdout; zero if it is none.
	Color bool
	Width int

	// Found is as in run.Env.
	Found func(roots int)
	// Trail hears of what is done on GitHub; nil if no caller wants it.
	Trail *Trail
	// Dial is as in transport.Options.
	Dial func(ctx context.Context, network, hostport string) (net.Conn, error)
	// Clock is as in run.Env.
	Clock github.Clock

	// commits are commits on GitHub, each of which is asked for once.
	commits *memo.Memo[string, github.Commit]
	// readers is how many repositories of an organisation are read at once; 0: as many as
	// usual.
	readers int
	// mask keeps a secret out of a workflow's log; nil elsewhere.
	mask func(secret string) error
	// ticked are the boxes that the event of a workflow is about.
	ticked run.Ticked
	// summary says that the run writes a step summary.
	summary bool
}

// Main runs the program and returns its exit status.
func Main(ctx context.Context, env Env) int {
	if rt := action.New(env.Getenv, env.Stderr); rt.Enabled() {
		env.mask = rt.Mask // a verb may print its result to standard output
	}
	env.commits = &memo.Memo[string, github.Commit]{}
	cmd, err := rootCommand(env).ExecuteContextC(ctx)
	if err == nil {
		_, err = meantByHelp(cmd)
	}
	var status exit
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(env.Stderr, "relock: interrupted; what was finished is kept, and the rest is as it was")
		return ExitInterrupted
	case err == nil:
		return ExitOK
	case errors.As(err, &status):
		return int(status)
	}
	complain(env.Stderr, err)
	return ExitUsage
}

// exit is a status that a verb ends with after it has said everything itself.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func rootCommand(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "relock",
		Short: "Keep .terraform.lock.hcl files fresh and complete",
		Long: `relock keeps dependency lock files of Terraform and OpenTofu fresh and complete.
It never runs terraform, tofu, a provider, or code of the repository it reads.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, words []string) error { return valueApart(env, cmd, words) }
	root.SetArgs(env.Args)
	if len(env.Args) == 1 && slices.Contains([]string{"--version", "-version", "-v"}, env.Args[0]) {
		// All of them, as in terraform. cobra's own flag has words of its own, except for
		// a template: that brings text/template, with which the linker drops no method
		// of any type.
		root.SetArgs([]string{"version"})
	}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.AddCommand(
		scanCommand(env), whyCommand(env), upgradeCommand(env), lockCommand(env), checkCommand(env), verifyCommand(env), diffCommand(env),
		mergeDriverCommand(env), prCommand(env), commentCommand(env), setupCommand(env), configCommand(env),
		actionCommand(env), versionCommand(env),
	)
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultCompletionCmd()
	if cmd, _, err := root.Find([]string{"completion"}); err == nil { // cobra's
		cmd.Short = "Print a script that lets a shell complete relock's words"
	}
	root.SetFlagErrorFunc(unknownFlag)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if meant, err := meantByHelp(cmd); err == nil {
			printHelp(meant)
		}
	})
	refuseUnknown(root)
	offerCompletions(env, root)
	return root
}

// helpCommand is help, which refuses what it knows no help about.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about a command",
		RunE: func(_ *cobra.Command, words []string) error {
			cmd, rest, err := root.Find(words)
			if err == nil {
				err = noSuchCommand(cmd, rest)
			}
			if err != nil {
				return err
			}
			return cmd.Help()
		},
		ValidArgsFunction: func(_ *cobra.Command, words []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if cmd, rest, err := root.Find(words); err == nil && len(rest) == 0 {
				for _, sub := range cmd.Commands() {
					names = append(names, sub.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// complain says what is wrong with the request, where, and what to do next.
func complain(w io.Writer, err error) {
	for _, d := range diagnoses(err) {
		fmt.Fprintln(w, "relock:", safe.Plain(d.String()))
		if d.Hint != "" {
			fmt.Fprintln(w, "  next:", safe.Plain(d.Hint))
		}
	}
}

// diagnoses are what an error says, one for each problem in it.
func diagnoses(err error) []problem.Problem {
	var several problem.Several
	var missing run.NotFound
	switch {
	case errors.As(err, &missing):
		return missing
	case errors.As(err, &several):
		return several
	}
	return []problem.Problem{problem.Of(err)}
}

// ofRun is the world as package run sees it.
func (env Env) ofRun(s settings.Settings) run.Env {
	return run.Env{
		WorkDir: env.WorkDir, Getenv: env.Getenv, Environ: slices.Concat(env.Environ, s.RegistryTokens(env.Getenv)),
		Home: env.Home, GOOS: env.GOOS,
		UserAgent: "relock/" + env.Build.Version,
		OnGitHub:  env.Getenv("GITHUB_ACTIONS") == "true",
		Planned:   env.runtime().Planned(),
		Server:    env.server(), API: env.runtime().APIURL(), GraphQL: env.runtime().GraphQLURL(), ModuleCache: env.cached("modules"), HashCache: env.cached("hashes"), NotesCache: env.cached("notes"),
		Mask: env.mask, Now: env.Now, Clock: env.Clock, Summary: env.summary, Found: env.Found, Did: env.Trail.add, Dial: env.Dial,
		Log: logger(env.Stderr, s.Verbose),
	}
}

// logger logs without times, which keeps logs comparable between runs; a
// terminal's reader and a workflow's log have times of their own.
func logger(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutTime}))
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// server is the host name of the GitHub server that the runner belongs to.
func (env Env) server() string {
	u, err := url.Parse(env.runtime().ServerURL())
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// cached is the path of what is kept under a name from one run to the next;
// empty if the user has no cache directory.
func (env Env) cached(name string) string {
	if env.CacheDir == "" {
		return ""
	}
	return filepath.Join(env.CacheDir, "relock", name)
}

// runtime is the runner's side of this step, if it is one of a workflow.
func (env Env) runtime() *action.Runtime { return action.New(env.Getenv, env.Stdout) }

// path is the path of a file by the name that somebody gave it.
func (env Env) path(name string) string { return file.Absolute(env.WorkDir, name) }
