package command

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
)

func configCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Write, check and show the configuration file"}
	cmd.AddCommand(configInitCommand(env), configValidateCommand(env), configSchemaCommand(env), configShowCommand(env))
	return cmd
}

func configInitCommand(env Env) *cobra.Command {
	var stdout bool
	cmd := &cobra.Command{
		Use: "init", Short: "Write a commented configuration file from what is found",
		Long: `init writes a configuration file to start from, with every setting in a comment:
nothing changes before one of them is taken into force. The comments tell what is
found here: tools, platforms, examples, and groups where there are many root
modules. It reads files and lock files alone, and replaces no file.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root := run.RepositoryOf(env.WorkDir)
			if there := configIn(root); there != "" && !stdout {
				return provider.Diagnostic{
					Code: provider.CodeSettings, File: there, Message: "there is a configuration file already; nothing was written",
					Hint: "relock config init --stdout prints what would be written",
				}
			}
			found, err := run.Found(cmd.Context(), env.WorkDir)
			if err != nil {
				return err
			}
			if stdout {
				_, err := env.Stdout.Write(config.Init(found))
				return err
			}
			name := filepath.Join(root, filepath.FromSlash(config.FileNames[0]))
			if err := file.Replace(name, config.Init(found), file.Options{Mode: 0o644, Parents: 0o755}); err != nil {
				return fmt.Errorf("writing %s: %w", config.FileNames[0], file.Cause(err))
			}
			_, err = fmt.Fprintf(env.Stdout, "wrote %s; it changes nothing before you edit it\n", config.FileNames[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&stdout, "stdout", false, "Print the file instead of writing it.")
	return cmd
}

// configIn is the first name of a configuration file that stands for something in a
// repository, a link that leads nowhere included; empty if none does.
func configIn(root string) string {
	for _, name := range config.FileNames {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err == nil {
			return name
		}
	}
	return ""
}

func configValidateCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "validate", Short: "Check the configuration file", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(env, given(cmd.Flags()))
			if err != nil {
				return err
			}
			warnings, err := run.Idle(cmd.Context(), env.WorkDir, request(env, run.Scan, nil, s.Config))
			if err != nil {
				return err
			}
			for _, d := range warnings {
				fmt.Fprintln(env.Stderr, "relock: warning:", report.Plain(d.Error()))
				if d.Hint != "" {
					fmt.Fprintln(env.Stderr, "  next:", report.Plain(d.Hint))
				}
			}
			_, err = fmt.Fprintln(env.Stdout, "the configuration is valid")
			return err
		},
	}
	addFlags(cmd, "config")
	return cmd
}

func configSchemaCommand(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON schema of the configuration file", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := env.Stdout.Write(config.Schema())
			return err
		},
	}
}

func configShowCommand(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "Print every setting, its value and where that comes from", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(env, given(cmd.Flags()))
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(env.Stdout, config.Show(s.values))
			return err
		},
	}
	addFlags(cmd, "config")
	return cmd
}
