package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
	"github.com/relock-dev/relock/internal/verify"
	"github.com/relock-dev/relock/internal/worktree"
)

func configCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Write, check and show the configuration file"}
	cmd.AddCommand(configInitCommand(env), configValidateCommand(env), configSchemaCommand(env), configShowCommand(env))
	return cmd
}

func configInitCommand(env Env) *cobra.Command {
	var stdout bool
	cmd := &cobra.Command{
		Use: "init", Short: "Write a short configuration file with what is found",
		Long: `init writes a configuration file to start from. Its comments say what is found
here: tools, platforms, examples, and groups where there are many root modules.
Nothing changes before you take one of them into force. The file names the schema
for editors and the page that explains every setting. init reads files and lock
files alone, and replaces no file.`,
		Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root := worktree.RootOf(env.WorkDir)
			if there := configIn(root); there != "" && !stdout {
				return &problem.Error{Problem: problem.Problem{
					Code: problem.CodeSettings, Place: problem.Place{Path: there}, Message: "there is a configuration file already; nothing was written",
					Hint: "run `relock config init --stdout`, which prints what would be written",
				}}
			}
			found, err := run.Found(cmd.Context(), env.WorkDir)
			if err != nil {
				return err
			}
			content := settings.Init(found, env.Build.revision())
			if stdout {
				_, err := env.Stdout.Write(content)
				return err
			}
			name := filepath.Join(root, filepath.FromSlash(settings.FileNames[0]))
			err = file.Replace(name, content, file.Options{Mode: 0o644, Parents: 0o755, Was: &file.Was{Missing: true}})
			if err != nil {
				return fmt.Errorf("writing %s: %w", settings.FileNames[0], file.Cause(err))
			}
			_, err = fmt.Fprintf(env.Stdout, "wrote %s; it changes nothing before you edit it\n", settings.FileNames[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&stdout, "stdout", false, "Print the file instead of writing it.")
	return cmd
}

// configIn is the first usual name of a configuration file that exists in a repository,
// even as a broken link; empty if none does.
func configIn(root string) string {
	for _, name := range settings.FileNames {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err == nil {
			return name
		}
	}
	return ""
}

func configValidateCommand(env Env) *cobra.Command {
	var operators bool
	cmd := &cobra.Command{
		Use: "validate", Short: "Check the configuration file", Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if operators {
				return validateOperators(env, settings.Merge(given(cmd.Flags())).Text("config"))
			}
			_, s, err := settingsOfRun(cmd.Context(), env, verbs.ConfigValidate, given(cmd.Flags()))
			if err != nil {
				return err
			}
			warnings, err := run.Idle(cmd.Context(), env.WorkDir, s)
			if err != nil {
				return err
			}
			warn(env, warnings)
			said := "the configuration is valid"
			if s.File == "" && configIn(worktree.RootOf(env.WorkDir)) == "" {
				said = "there is no configuration file here; relock config init writes one"
			}
			_, err = fmt.Fprintln(env.Stdout, said)
			return err
		},
	}
	addFlags(cmd, verbs.ConfigValidate)
	cmd.Flags().BoolVar(&operators, "operator", false, "Check the file that --config names as one for many repositories, wherever it lies.")
	return cmd
}

// validateOperators checks an operator's file, which may be in a repository of its own. The
// variables for its credentials may be unset.
func validateOperators(env Env, name string) error {
	if name == "" {
		return errors.New("--operator is about a file for many repositories; name it with --config")
	}
	file, err := readOperators(env, name)
	if err != nil {
		return err
	}
	unset := func(string) string { return "" }
	from := settings.Sources{Operator: file, Getenv: unset, Sound: verify.Sound}
	if err := from.Check(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.Stdout, "the configuration is valid")
	return err
}

func configSchemaCommand(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON schema of the configuration file", Args: noWords,
		RunE: func(*cobra.Command, []string) error {
			_, err := env.Stdout.Write(settings.Schema())
			return err
		},
	}
}

func configShowCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "Print every setting, its value and where that comes from", Args: noWords,
		Long: `show prints every setting with its value and where that comes from: a flag, an
input, what the operator's file enforces, the repository's own file, the operator's
file, or the default. Behind it is the value that it overrides, if there is one. The
settings are those by which pr proposes.

With --repo they are those of a repository on GitHub, by the file on its default
branch.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := formatOf(cmd); err != nil {
				return err
			}
			from, s, of, err := settingsShown(cmd.Context(), env, given(cmd.Flags()))
			if err != nil {
				return err
			}
			if s.Format == "json" {
				of.All, of.Warnings = settings.Explain(s.Values), s.Notices
				return report.SettingsJSON(env.Stdout, of)
			}
			warn(env, s.Notices)
			_, err = fmt.Fprint(env.Stdout, filesShown(from.Operator.Name, s.Own, of)+s.Values.Show())
			return err
		},
	}
	addFlags(cmd, verbs.ConfigValidate)
	addFlags(cmd, verbs.ConfigShow)
	return cmd
}

// settingsShown are the settings of pr, for the checkout or for a named repository on
// GitHub.
func settingsShown(ctx context.Context, env Env, given ...settings.Values) (settings.Sources, settings.Settings, report.SettingsShown, error) {
	var of report.SettingsShown
	repositories := settings.Merge(given...).Texts("repo")
	if len(repositories) > 1 {
		return settings.Sources{}, settings.Settings{}, of, errors.New("config show is about one repository; name one with --repo")
	}
	from, s, err := settingsOfRun(ctx, env, verbs.ConfigShow, given...)
	if err != nil || len(repositories) == 0 {
		return from, s, of, err
	}
	of.Repository = repositories[0]
	ask := run.ToRead(run.Means{Settings: s, Head: env.head()}, of.Repository)
	session, err := run.Open(env.ofRun(s), ask)
	if err != nil {
		return from, s, of, err
	}
	defer session.Close()
	files, branch, err := session.AtDefault(ctx, ask, settings.FileNames)
	if err != nil {
		return from, s, of, err
	}
	of.Branch = branch
	s, err = from.In(files)
	return from, s, of, err
}

// filesShown is a comment with the names of the files in force. It is empty if that is only
// the file of the checkout.
func filesShown(operator, own string, of report.SettingsShown) string {
	switch {
	case of.Repository != "" && operator == "":
		return fmt.Sprintf("# %s, branch %s: %s\n", of.Repository, of.Branch, cmp.Or(own, "it has no file of its own"))
	case of.Repository != "":
		return fmt.Sprintf("# %s, branch %s: %s, over %s\n", of.Repository, of.Branch, cmp.Or(own, "no file of its own"), operator)
	case operator != "" && own != "":
		return fmt.Sprintf("# %s, over %s, as pr takes them; scan, upgrade, lock, check and verify take %[2]s alone\n", own, operator)
	}
	return ""
}
