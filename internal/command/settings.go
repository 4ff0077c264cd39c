package command

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/config"
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
			if slices.Contains(s.Values, "true") {
				flags.Lookup(s.Flag).NoOptDefVal = "true"
			}
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

// settings are those of one run, and what reading them has brought along.
type settings struct {
	config.Config
	values  config.Values         // each with where it comes from
	given   []config.Values       // by flags, inputs and words; the strongest first
	environ []string              // the process's, and the credentials that the file speaks of
	notices []provider.Diagnostic // for the report
}

// readSettings lays flags and inputs over the configuration file that is in force
// here and the environment, and checks them all.
func readSettings(env Env, given ...config.Values) (settings, error) {
	file, err := configFile(env, config.Merge(given...))
	if err != nil {
		return settings{}, err
	}
	return resolve(env, file, given)
}

// settingsOf are the settings for a repository that is not on disk, by the
// configuration file that is in its file tree, unless one on disk is named.
func settingsOf(env Env, repository fs.FS, given ...config.Values) (settings, error) {
	if config.Merge(given...)["config"].Items[0] != "" {
		return readSettings(env, given...)
	}
	file, err := searched(repository)
	if err != nil {
		return settings{}, err
	}
	return resolve(env, file, given)
}

// settingsOn are the settings that are in force on a base branch; nil stands for
// one that is not known yet. What is checked out when a comment is answered, if
// anything, decides nothing: a configuration file that is named and would lie in
// the checkout is read from the base branch.
func settingsOn(env Env, base fs.FS, given ...config.Values) (settings, error) {
	values := config.Merge(given...)
	var file config.File
	var err error
	switch at := locate(env, values, scanned(env, values), false); {
	case at == config.Operators:
		return readSettings(env, given...)
	case base == nil: // the others are read when it is known
	case at == config.NamedTree:
		file, err = repositoryFile(base, inRepository(env, values))
	default:
		file, err = searched(base)
	}
	if err != nil {
		return settings{}, err
	}
	return resolve(env, file, given)
}

// resolve lays what is given over the file and the environment.
func resolve(env Env, file config.File, given []config.Values) (settings, error) {
	layers := append(slices.Clip(given), file.Values, config.Environment(env.Getenv))
	values := config.Merge(layers...)
	cfg, diagnostics := config.Resolve(values)
	tokens, missing := registryTokens(env, cfg.Registries)
	if diagnostics = append(diagnostics, missing...); len(diagnostics) > 0 {
		return settings{}, provider.Diagnostics(diagnostics)
	}
	if name := configPath(env, values); name != "" {
		cfg.Shared = notCheckedOut(values) || run.Apart(name, scanned(env, values))
		cfg.Operators = run.Apart(name, append(scanned(env, values), run.RepositoryOf(env.WorkDir)))
	}
	if err := severitiesOf(cfg).Unsound(); err != nil {
		at := cfg.Places["verify.severity"]
		return settings{}, provider.Diagnostic{
			Code: provider.CodeSettings, File: at.File, Line: at.Line, Message: "verify.severity: " + err.Error(),
			Hint: "docs/verify.md lists the codes; --severity, and a file that --config names outside of the repository, may choose any severity",
		}
	}
	return settings{Config: cfg, values: values, given: given, environ: slices.Concat(env.Environ, tokens)}, nil
}

// registryTokens are the credentials for registries, as the TF_TOKEN_ variables
// in which the CLI configuration takes them.
func registryTokens(env Env, registries []config.Registry) (variables []string, missing []provider.Diagnostic) {
	for _, r := range registries {
		token := env.Getenv(r.TokenEnv)
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
