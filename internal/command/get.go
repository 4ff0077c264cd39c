package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/action"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/outline"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/render"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

func getCommand(env Env) *cobra.Command {
	var check bool
	var how run.Getting
	cmd := &cobra.Command{
		Use:   "get [DIR…]",
		Short: "Put the locked modules where init looks for them",
		Long: `get fetches the packages that .modules.lock.hcl names, proves them, and makes of them
.terraform/modules, so that "terraform init" and "tofu init" fetch no module. It
needs no provider and changes no file of the repository.

With --check it writes nothing and asks nobody. Run it after init: it ends with
status 4 unless each module is the locked one, file by file.` + directories,
		RunE: func(cmd *cobra.Command, dirs []string) error {
			from, s, err := settingsOfRun(cmd.Context(), env, verbs.Get, given(cmd.Flags()), settings.Arguments(dirs))
			if err != nil {
				return err
			}
			got, err := get(cmd.Context(), env, run.ToGet(env.meansOf(from, s, footer), env.checkout(), dirs, check), how)
			if err != nil {
				return err
			}
			return showGot(env, got)
		},
	}
	addFlags(cmd, verbs.Get)
	cmd.Flags().BoolVar(&check, "check", false, "Say whether the modules are the locked ones; write nothing.")
	cmd.Flags().BoolVar(&how.Require, "require", false, "End with status 4 if remote modules of a root module are not locked.")
	cmd.Flags().StringVar(&how.Set, "set", "", "The set of values of module-vars that counts, if other modules are called with another.")
	return cmd
}

// getting is how a step's command, such as get --check, gets the locked modules. It returns false
// for other commands.
func getting(command string) (how run.Getting, check, asked bool) {
	words := strings.Fields(command)
	if len(words) == 0 || verbs.Verb(words[0]) != verbs.Get {
		return how, false, false
	}
	return run.Getting{Require: slices.Contains(words, "--require")}, slices.Contains(words, "--check"), true
}

// getInStep gets the locked modules in a step of a workflow, and tells the runner.
func getInStep(ctx context.Context, env Env, rt *action.Runtime, inputs []settings.Values, how run.Getting, check bool) error {
	from, s, err := settingsOfRun(ctx, env, verbs.Get, inputs...)
	var got run.Got
	if err == nil {
		err = mask(rt, s)
	}
	if err == nil {
		got, err = get(ctx, env, run.ToGet(env.meansOf(from, s, footer), env.checkout(), s.Directories, check), how)
	}
	if err != nil {
		return said(ctx, env, errors.Join(err, annotateError(rt, err)))
	}
	errs := []error{rt.AddSummary(summaryOf(got), safe.Const("\n> The rest is left out.\n"))}
	for _, p := range got.Problems {
		errs = append(errs, rt.Annotate(annotation(p)))
	}
	if err := errors.Join(errs...); err != nil {
		return said(ctx, env, err)
	}
	return showGot(env, got)
}

// summaryOf is the step summary of what was done by root module, of each package, and of the
// problems.
func summaryOf(got run.Got) safe.Markdown {
	parts := []safe.Markdown{safe.Const("## relock\n\n")}
	for _, line := range got.Lines {
		parts = append(parts, safe.Format("- %s\n", safe.Text(line)))
	}
	if len(got.Packages) > 0 {
		parts = append(parts, safe.Format("\n%s:\n\n", safe.Count(len(got.Packages), "package", "packages")))
	}
	for _, e := range got.Packages {
		parts = append(parts, safe.Format("- %s %s\n", safe.Code(moduleaddr.Shown(e.Address)), outline.LockedAs(e.Version, e.Hash)))
	}
	return safe.Join("", append(parts, safe.Const("\n"), render.Problems(got.Problems))...)
}

// get puts the locked modules of an ask where init looks.
func get(ctx context.Context, env Env, ask run.Ask, how run.Getting) (got run.Got, err error) {
	_, err = during(env, ask, func(session *run.Session) (report.Report, error) {
		got, err = run.Get(ctx, session, ask, how)
		return report.Report{}, err
	})
	return got, err
}

// showGot prints what was done, and returns the exit status.
func showGot(env Env, got run.Got) error {
	for _, line := range got.Lines {
		fmt.Fprintln(env.Stdout, safe.Plain(line))
	}
	for _, p := range got.Problems {
		prefix := "relock:"
		if p.Severity == problem.SeverityWarning {
			prefix = "relock: warning:"
		}
		list(env.Stderr, prefix, []problem.Problem{p})
	}
	switch {
	case got.Failed:
		return exit(ExitFailed)
	case got.Unlocked:
		return exit(ExitFinding)
	}
	return nil
}
