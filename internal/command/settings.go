package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/run"
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
// environment, and checks them all. What runs after it has the credentials that
// the file speaks of.
func (c *cli) settings(strongest ...config.Values) (config.Config, config.Values, error) {
	file, err := c.configFile(config.Merge(strongest...))
	if err != nil {
		return config.Config{}, nil, err
	}
	return c.resolve(file, strongest)
}

// settingsOf are the settings for a repository that is not on disk, by the
// configuration file that is in its file tree, unless the operator names one.
func (c *cli) settingsOf(repository fs.FS, strongest ...config.Values) (config.Config, error) {
	file, err := c.configFileIn(repository, config.Merge(strongest...))
	if err != nil {
		return config.Config{}, err
	}
	cfg, _, err := c.resolve(file, strongest)
	return cfg, err
}

func (c *cli) configFileIn(repository fs.FS, values config.Values) (config.File, error) {
	if values["config"].Items[0] != "" {
		return c.configFile(values)
	}
	name, diagnostics := config.Locate(repository)
	if len(diagnostics) > 0 {
		return config.File{}, problems(diagnostics)
	}
	return repositoryFile(repository, name)
}

// repositoryFile reads a configuration file that is in a repository's file tree;
// nothing, if it has no name.
func repositoryFile(repository fs.FS, name string) (config.File, error) {
	if name == "" {
		return config.File{}, nil
	}
	src, err := fs.ReadFile(repository, name)
	if err != nil {
		return config.File{}, fmt.Errorf("reading the configuration file %s: %w", name, cause(err))
	}
	file, diagnostics := config.ParseFile(src, name)
	if len(diagnostics) > 0 {
		return config.File{}, problems(diagnostics)
	}
	return file, nil
}

// resolve lays the strongest layers over those of the file and the environment.
func (c *cli) resolve(file config.File, strongest []config.Values) (config.Config, config.Values, error) {
	layers := append(slices.Clip(strongest), file.Values, config.Environment(c.env.Getenv))
	values := config.Merge(layers...)
	cfg, diagnostics := config.Resolve(values)
	tokens, missing := c.tokens(cfg.Registries)
	if diagnostics = append(diagnostics, missing...); len(diagnostics) > 0 {
		return config.Config{}, nil, problems(diagnostics)
	}
	if name := c.configPath(values); name != "" {
		cfg.Shared = len(cfg.Repositories) > 0 || c.outside(name, values)
	}
	c.env.Environ = slices.Concat(c.env.Environ, tokens)
	return cfg, values, nil
}

// tokens are the credentials for registries, as the TF_TOKEN_ variables in
// which the CLI configuration takes them.
func (c *cli) tokens(registries []config.Registry) (variables []string, missing []provider.Diagnostic) {
	for _, r := range registries {
		token := c.env.Getenv(r.TokenEnv)
		if token == "" {
			missing = append(missing, provider.Diagnostic{
				Code: provider.CodeSettings, Host: r.Host, File: r.File, Line: r.Line,
				Message: fmt.Sprintf("the environment variable %s, which holds the token for %s, is not set", r.TokenEnv, r.Host.ForDisplay()),
			})
		}
		variables = append(variables, "TF_TOKEN_"+r.Host.String()+"="+token)
	}
	return variables, missing
}

// configFile reads the file that is named, else the repository's own, else
// nothing.
func (c *cli) configFile(values config.Values) (config.File, error) {
	name := values["config"].Items[0]
	named, dir := name != "", c.env.WorkDir
	if !named {
		dir = run.RepositoryOf(c.env.WorkDir)
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
	tops := []string{dir}
	if named {
		tops = c.scanned(values)
	}
	operators := named && run.Apart(path, tops)
	src, err := readFile(path)
	if err == nil && !operators && leadsOut(path, tops) {
		err = errors.New("it is a link that leads out of the repository")
	}
	if err != nil {
		return config.File{}, fmt.Errorf("reading the configuration file %s: %w", name, cause(err))
	}
	parse := config.ParseFile
	if operators {
		parse = config.ParseOperatorFile
	}
	file, diagnostics := parse(src, name)
	if len(diagnostics) > 0 {
		return config.File{}, problems(diagnostics)
	}
	return file, nil
}

// readFile reads one byte more than a configuration file may have, so that the
// excess is seen.
func readFile(path string) ([]byte, error) {
	f, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, config.MaxFileSize+1))
}

// leadsOut reports whether links make something of a path that is in none of the
// directories.
func leadsOut(path string, tops []string) bool {
	target, err := filepath.EvalSymlinks(path)
	return err != nil || run.Apart(target, tops)
}

// outside reports whether a file lies outside of every repository that the run
// reads from disk.
func (c *cli) outside(path string, values config.Values) bool {
	return run.Apart(path, c.scanned(values))
}

// scanned are the top directories of the repositories that the run reads from
// disk; where there is no repository, the directory itself.
func (c *cli) scanned(values config.Values) []string {
	dirs := values["directories"].Items
	if len(dirs) == 0 && len(values["repo"].Items) == 0 {
		dirs = []string{"."}
	}
	var roots []string
	for _, dir := range dirs {
		dir = filepath.FromSlash(strings.TrimSuffix(dir, "/..."))
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.env.WorkDir, dir)
		}
		roots = append(roots, run.RepositoryOf(dir))
	}
	return roots
}

// cause strips the path from a file system error, which the caller names.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
