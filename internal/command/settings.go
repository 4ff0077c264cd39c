package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/scan"
	"github.com/relock-dev/relock/internal/upgrade"
)

// addFlags gives a verb the flags that the table of settings says it has.
func addFlags(cmd *cobra.Command, verb string) {
	flags := cmd.Flags()
	flags.SortFlags = false
	for _, s := range config.Settings {
		switch {
		case !s.HasVerb(verb):
		case s.Kind == config.Bool:
			flags.Bool(s.Flag, false, s.Doc)
		case s.Repeats():
			flags.StringArray(s.Flag, nil, s.Description())
		default:
			flags.String(s.Flag, s.Default, s.Doc)
		}
	}
}

// given are the flags on the command line. The table parses their values, so
// that a flag, an input and the file are judged by one rule.
func given(flags *pflag.FlagSet) config.Values {
	texts := map[string][]string{}
	flags.Visit(func(f *pflag.Flag) {
		if list, ok := f.Value.(pflag.SliceValue); ok {
			texts[f.Name] = list.GetSlice()
			return
		}
		texts[f.Name] = []string{f.Value.String()}
	})
	return config.Flags(texts)
}

// settings lays flags and inputs over the configuration file and the
// environment, and checks them all.
func (c *cli) settings(strongest ...config.Values) (config.Config, config.Values, error) {
	file, err := c.configFile(config.Merge(strongest...))
	if err != nil {
		return config.Config{}, nil, err
	}
	layers := append(strongest, file.Values, config.Environment(c.env.Getenv))
	values := config.Merge(layers...)
	cfg, diagnostics := config.Resolve(values)
	if len(diagnostics) > 0 {
		return config.Config{}, nil, problems(diagnostics)
	}
	return cfg, values, nil
}

// configFile reads the file that is named, else the repository's own, else
// nothing.
func (c *cli) configFile(values config.Values) (config.File, error) {
	name := values["config"].Items[0]
	dir := c.env.WorkDir
	if name == "" {
		dir = run.RepositoryRoot(c.env.WorkDir)
		found, diagnostics := config.Locate(os.DirFS(dir))
		if len(diagnostics) > 0 {
			return config.File{}, problems(diagnostics)
		}
		if found == "" {
			return config.File{}, nil
		}
		name = found
	}
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return config.File{}, fmt.Errorf("reading the configuration file %s: %w", name, cause(err))
	}
	defer f.Close()
	// One byte more than ParseFile accepts, so that it sees the excess.
	src, err := io.ReadAll(io.LimitReader(f, config.MaxFileSize+1))
	if err != nil {
		return config.File{}, fmt.Errorf("reading the configuration file %s: %w", name, cause(err))
	}
	file, diagnostics := config.ParseFile(src, name)
	if len(diagnostics) > 0 {
		return config.File{}, problems(diagnostics)
	}
	return file, nil
}

// cause strips the path from a file system error, which the caller names.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// request turns settings into what the corridor is asked for.
func (c *cli) request(verb run.Verb, dirs []string, cfg config.Config) run.Request {
	mode := upgrade.Upgrade
	if verb == run.Lock || verb == run.Check && cfg.Lock {
		mode = upgrade.Complete
	}
	tokens := map[string]string{}
	if cfg.ModuleToken != "" {
		tokens[c.server()] = cfg.ModuleToken
	}
	return run.Request{
		Verb: verb,
		Dirs: dirs,

		ModuleTokens: tokens,
		Cache:        cfg.Cache,
		Scan: scan.Options{
			Create: cfg.Create, Tool: cfg.Tool, ToolVersion: cfg.ToolVersion,
			Include: cfg.Include, Exclude: cfg.Exclude, Variables: cfg.ModuleVars,
		},
		Plan: upgrade.Options{
			Mode: mode, Exact: cfg.Exact, Strict: cfg.Strict, Prune: cfg.Prune,
			Platforms: upgrade.Platforms(cfg.Platforms),
			Only:      cfg.Providers, Keep: cfg.Keep, KeepUnreferenced: cfg.KeepUnreferenced,
			HashesFrom: upgrade.HashesFrom(cfg.HashesFrom), AcceptReReleased: cfg.AcceptReReleased,
			Preserve: cfg.UnreadableModules == "preserve", Jobs: cfg.Jobs,
		},
		Pull: run.Pull{
			Base: cfg.PullRequest.Base, BranchPrefix: cfg.PullRequest.BranchPrefix,
			Labels: cfg.PullRequest.Labels, DryRun: cfg.DryRun, Token: cfg.Token,
			ReleaseNotes: cfg.PullRequest.ReleaseNotes,
		},
	}
}
