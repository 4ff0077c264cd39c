package command

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/report"
	"github.com/relock-dev/relock/internal/run"
)

func (c *cli) config() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Write, check and show the configuration file"}
	cmd.AddCommand(c.configInit(), c.configValidate(), c.configSchema(), c.configShow())
	return cmd
}

func (c *cli) configInit() *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Write a configuration file with every setting and its default", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			root := run.RepositoryOf(c.env.WorkDir)
			found, _ := config.Locate(os.DirFS(root))
			if found != "" {
				return fmt.Errorf("%s exists already; nothing was written", found)
			}
			name := filepath.Join(root, filepath.FromSlash(config.FileNames[0]))
			if err := file.Replace(name, config.Init(), file.Options{Mode: 0o644, Parents: 0o755}); err != nil {
				return fmt.Errorf("writing %s: %w", config.FileNames[0], cause(err))
			}
			_, err := fmt.Fprintln(c.env.Stdout, "wrote", config.FileNames[0])
			return err
		},
	}
}

func (c *cli) configValidate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "validate", Short: "Check the configuration file", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := c.settings(given(cmd.Flags()))
			if err != nil {
				return err
			}
			warnings, err := run.Idle(cmd.Context(), c.env.WorkDir, c.request(run.Scan, nil, cfg))
			if err != nil {
				return err
			}
			for _, d := range warnings {
				fmt.Fprintln(c.env.Stderr, "relock: warning:", report.Plain(d.Error()))
				if d.Hint != "" {
					fmt.Fprintln(c.env.Stderr, "  next:", report.Plain(d.Hint))
				}
			}
			_, err = fmt.Fprintln(c.env.Stdout, "the configuration is valid")
			return err
		},
	}
	addFlags(cmd, "config")
	return cmd
}

func (c *cli) configSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON schema of the configuration file", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := c.env.Stdout.Write(config.Schema())
			return err
		},
	}
}

func (c *cli) configShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "Print every setting, its value and where that comes from", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, values, err := c.settings(given(cmd.Flags()))
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(c.env.Stdout, config.Show(values))
			return err
		},
	}
	addFlags(cmd, "config")
	return cmd
}
