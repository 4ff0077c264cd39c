package command

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/worktree"
)

// onRootModules are the verbs that take root modules, with what help says of them.
var onRootModules = []struct {
	verb        verbs.Verb
	short, long string
}{
	{verbs.Scan, "Show root modules and where each constraint comes from",
		`scan finds root modules and follows their local modules. For each provider it
shows the merged constraints and the place that decides them; with --why every
place.`},
	{verbs.Upgrade, "Write the newest allowed versions and complete hashes",
		`upgrade selects for each provider the newest version that the whole module tree
allows, as "terraform init -upgrade" does, and records the hashes of all wanted
platforms, as "terraform providers lock" does.`},
	{verbs.Lock, "Complete hashes, versions kept",
		`lock keeps the versions that are locked and completes the hashes for all wanted
platforms, as "terraform providers lock" does.`},
	{verbs.Check, "Say whether upgrade would change something; write nothing",
		`check writes nothing. It ends with status 4 if a lock file holds a hash that
belongs to no package of its release, and with status 3 if upgrade (with --lock:
lock) would change a lock file. With --touched it looks only at root modules that
differ from a revision.`},
	{verbs.Verify, "Prove or refute every hash of the lock files; write nothing",
		`verify says of every hash what proves it: the signed checksum list of its
release, a package that was hashed now or by an earlier run, a mirror, or a
registry's word. A hash that nothing proves is an error. It ends with status 4 if
a finding is as severe as --fail-on says.`},
	{verbs.PR, "Propose upgrades as a pull request",
		`pr upgrades the lock files of a checkout and proposes them as one pull request,
or updates the one that is open. The repository is GITHUB_REPOSITORY, else the one
on GitHub that the remotes of the clone name, and GITHUB_TOKEN must be allowed to
write contents and pull requests.

With --dry-run it writes nothing and shows what it would propose: with --format
markdown the texts, too. For a public repository that takes no token.`},
}

// whyCommand takes a provider before directories, as the comment does.
func whyCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why PROVIDER [DIR…]",
		Short: "Say what holds a provider, and what would let it go on",
		Long: `why says for a provider, such as aws, where each constraint on it is, which one
holds it below the newest release, which rule does, and the smallest change that
would help. It needs no lock file. It changes nothing. To know what another release of a module allows,
it reads that release and what this calls: two packages at most for each module
that holds the provider. For a module, such as terraform-aws-modules/vpc, locked or
not, it says which version each call selects.` + directories,
		RunE: func(cmd *cobra.Command, words []string) error {
			if len(words) == 0 {
				return errors.New("why needs a provider, such as aws or hashicorp/aws")
			}
			asked, err := provider.ParsePattern(moduleaddr.End(words[0]))
			if err != nil {
				return err
			}
			return runVerb(cmd, env, verbs.Why, words[1:], asked)
		},
	}
	addFlags(cmd, verbs.Why)
	return cmd
}

// directories explains the arguments of every verb that takes root modules.
const directories = `

A DIR that holds configuration is that root module, locked or not. Any other DIR
is searched for root modules with a lock file, and so is DIR/... always. A pattern
like 'prod/*' names those that match. Without a DIR the working directory is
searched.`

// verbCommand makes the command of a verb that takes root modules.
func verbCommand(env Env, verb verbs.Verb, short, long string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   string(verb) + " [DIR…]",
		Short: short,
		Long:  long + directories,
		RunE:  func(cmd *cobra.Command, dirs []string) error { return runVerb(cmd, env, verb, dirs) },
	}
	addFlags(cmd, verb)
	return cmd
}

// runVerb runs a verb for directories and prints the result. asked are the providers that
// why is about.
func runVerb(cmd *cobra.Command, env Env, verb verbs.Verb, dirs []string, asked ...provider.Pattern) error {
	from, s, err := settingsOfCommand(cmd, env, verb, dirs...)
	if err != nil {
		return err
	}
	s.Why = append(s.Why, asked...)
	r, err := carryOut(cmd.Context(), env, from, s, verb, dirs, event{})
	if err != nil {
		return err
	}
	if err := show(env, r, s); err != nil {
		return err
	}
	return status(r)
}

// carryOut runs a verb for directories, with settings and the event of a workflow.
func carryOut(ctx context.Context, env Env, from settings.Sources, s settings.Settings, verb verbs.Verb, dirs []string, e event) (report.Report, error) {
	switch verb {
	case verbs.PR:
		return propose(ctx, env, from, s, dirs)
	case verbs.Verify:
		return carryOutVerify(ctx, env, env.meansOf(from, s, footer), dirs, e)
	case verbs.Check:
		return carryOutCheck(ctx, env, env.meansOf(from, s, footer), dirs, e)
	}
	ask := asksOnDisk[verb](env.meansOf(from, s, footer), env.checkout(), dirs)
	r, err := during(env, ask, func(session *run.Session) (report.Report, error) { return run.Run(ctx, session, ask) })
	r.Diagnostics = append(r.Diagnostics, s.Notices...)
	return r, err
}

// writtenBy names the run that wrote a text, by its address; empty without one.
func writtenBy(run string) safe.Markdown {
	if !safe.Linkable(run) {
		return safe.Markdown{}
	}
	return safe.Format("Written by %s.\n\n", safe.Link(safe.Const("this run"), run))
}

// show writes the report to standard output, in the format of the settings.
func show(env Env, r report.Report, cfg settings.Settings) error {
	switch cfg.Format {
	case "json":
		return report.JSON(env.Stdout, r)
	case "markdown":
		_, err := io.WriteString(env.Stdout, render.Markdown(r, cfg.MaxBytes).String())
		return err
	case "html":
		return render.HTML(env.Stdout, r)
	case "sarif":
		return render.SARIF(env.Stdout, r, sarifOptions(env, cfg))
	}
	return render.Text(env.Stdout, r, render.TextOptions{
		Color: env.Color, Width: env.Width, Summary: cfg.Summary, Verbose: cfg.Verbose, Stats: cfg.Stats, Why: cfg.Why,
	})
}

// sarifOptions say how names in a report, which are relative to the working directory,
// become names in the repository. That is the repository of the first named directory.
func sarifOptions(env Env, cfg settings.Settings) render.SARIFOptions {
	root := worktree.RootOf(env.WorkDir)
	if len(cfg.Directories) > 0 {
		root = worktree.RootOf(env.path(strings.TrimSuffix(cfg.Directories[0], "/...")))
	}
	return render.SARIFOptions{Version: env.Build.Version, Category: cfg.SARIFCategory, Path: func(shown string) (string, bool) {
		name, err := filepath.Rel(root, env.path(filepath.FromSlash(shown)))
		name = filepath.ToSlash(name)
		return name, shown != "" && err == nil && fs.ValidPath(name)
	}}
}

func status(r report.Report) error {
	switch {
	case slices.ContainsFunc(r.Diagnostics, unmet):
		return exit(ExitUsage)
	case r.Failed(), r.Verb == verbs.Scan && len(r.UnreadDirs()) > 0:
		return exit(ExitFailed)
	case (r.Verb == verbs.Check || r.Verb == verbs.Verify) && r.Reaching(r.FailOn) > 0, writesLocks(r.Verb) && r.Moved():
		return exit(ExitFinding)
	case r.Verb == verbs.Check && r.Fails():
		return exit(ExitChanges)
	}
	return nil
}

// writesLocks reports whether a verb writes or proposes lock files.
func writesLocks(v verbs.Verb) bool { return v == verbs.Lock || v == verbs.Upgrade || v == verbs.PR }

// unmet reports whether a diagnostic is about a name that was not found.
func unmet(d problem.Problem) bool {
	return d.Code == problem.CodeNotFound && d.Severity == problem.SeverityError
}
