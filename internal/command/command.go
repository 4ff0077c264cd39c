// Package command is the command line: it turns words, settings and events into a run.Ask,
// prints the report, and sets the exit status. Package run carries out the verbs, package
// report has the form of their results, and package render writes these as text.
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

// The exit statuses are a contract. If several apply, the first of usage, failed, finding
// and changes counts.
const (
	ExitOK      = 0
	ExitFailed  = 1 // something failed, wholly or in part
	ExitUsage   = 2 // the command line, the configuration, or what they name
	ExitChanges = 3 // check found changes
	// ExitFinding: verify has findings, check found a hash that belongs to nothing or what a
	// rule refuses, or a locked module has moved.
	ExitFinding = 4

	// ExitNoMerge is the status of a merge driver that failed. To git, a status up to 128
	// means a conflict that is left in the file. After a higher one it stops the merge, and
	// leaves the file as it is [gitattributes, "Defining a custom merge driver"].
	ExitNoMerge = 129

	// ExitInterrupted is the status that shells give an interrupted program. It outranks
	// the others.
	ExitInterrupted = 130
)

// Env is everything that the program reads from its process. Only main reads the process
// itself.
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
	// Trail notes what is done on GitHub; nil: no caller of Main asks for that.
	Trail *Trail
	// Dial is as in transport.Options.
	Dial func(ctx context.Context, network, hostport string) (net.Conn, error)
	// Clock is as in run.Env.
	Clock github.Clock

	// commits keeps commits on GitHub, so that it is asked for each only once.
	commits *memo.Memo[string, github.Commit]
	// readers is how many repositories of an organisation are read at once; 0: as many as
	// usual.
	readers int
	// mask keeps a secret out of a workflow's log; nil elsewhere.
	mask func(secret string) error
	// ticked are the boxes that the event of a workflow is about.
	ticked run.Ticked
	// foretells says that the run says how much it downloads before it does.
	foretells bool
	// summary says that the run writes a step summary.
	summary bool
}

// Main runs the program and returns its exit status.
func Main(ctx context.Context, env Env) int {
	if rt := action.New(env.Getenv, env.Stderr); rt.Enabled() {
		env.mask = rt.Mask // a verb may print its result to standard output
	}
	if env.Trail == nil {
		env.Trail = &Trail{}
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

// exit is the status of a verb that has printed its errors itself.
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
		// terraform has all three. cobra's own flag prints a text of its own, unless it
		// gets a template. A template needs text/template, and then the linker drops no
		// method of any type.
		root.SetArgs([]string{"version"})
	}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	for _, v := range onRootModules {
		root.AddCommand(verbCommand(env, v.verb, v.short, v.long))
	}
	root.AddCommand(
		whyCommand(env), getCommand(env), diffCommand(env), mergeDriverCommand(env), commentCommand(env), setupCommand(env), configCommand(env),
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

// helpCommand is the command help. It refuses commands that do not exist.
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

// refused is the error for words, settings or files that a command cannot take.
func refused(message, hint string) error {
	return &problem.Error{Problem: problem.Problem{Code: problem.CodeSettings, Message: message, Hint: hint}}
}

// complain prints the problems of an error with their places, and what to do next.
func complain(w io.Writer, err error) { list(w, "relock:", diagnoses(err)) }

// warn prints the warnings of a command that has no report.
func warn(env Env, warnings []problem.Problem) { list(env.Stderr, "relock: warning:", warnings) }

func list(w io.Writer, prefix string, problems []problem.Problem) {
	for _, d := range problems {
		fmt.Fprintln(w, prefix, safe.Plain(d.String()))
		if d.Hint != "" {
			fmt.Fprintln(w, "  next:", safe.Plain(d.Hint))
		}
	}
}

// diagnoses are the problems in an error that ends a command. An error without a code is
// about the command line or the environment, or about a file that they name.
func diagnoses(err error) []problem.Problem {
	var several problem.Several
	if errors.As(err, &several) {
		return several
	}
	d := problem.Of(err)
	if d.Code == problem.CodeInternal {
		d.Code = problem.CodeSettings
	}
	return []problem.Problem{d}
}

// ofRun is the environment for package run.
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

// logger returns a logger without times, so that the logs of two runs can be compared. The
// log of a workflow has times of its own.
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

// cached is the path of a cache; empty if the user has no cache directory.
func (env Env) cached(name string) string {
	if env.CacheDir == "" {
		return ""
	}
	return filepath.Join(env.CacheDir, "relock", name)
}

// runtime is the runner's side of this step, if it is one of a workflow.
func (env Env) runtime() *action.Runtime { return action.New(env.Getenv, env.Stdout) }

// path is the absolute path of a file that the command line or a setting names.
func (env Env) path(name string) string { return file.Absolute(env.WorkDir, name) }
