package command

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/config"
	"github.com/relock-dev/relock/internal/problem"
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
	values   config.Values     // each with where it comes from
	given    []config.Values   // by flags, inputs and words; the strongest first
	operator config.File       // that is in force; none without a name
	environ  []string          // the process's, and the credentials that the file speaks of
	notices  []problem.Problem // for the report
}

// readSettings lays flags and inputs over the configuration file that is in force
// here and the environment, and checks them all. An operator's file stands in for the
// repository's own: nothing that is checked out decides then.
func readSettings(env Env, given ...config.Values) (settings, error) {
	file, err := configFile(env, config.Merge(given...))
	if err != nil {
		return settings{}, err
	}
	return resolve(env, given, file)
}

// settingsApart are the settings that hold whatever a repository says: by the operator's
// file, if one is named. What is checked out, if anything, decides nothing.
func settingsApart(env Env, given ...config.Values) (settings, error) {
	values := config.Merge(given...)
	var operator config.File
	var err error
	if notCheckedOut(values) && configPath(env, values) != "" || locate(env, values, scanned(env, values), false) == config.Operators {
		operator, err = configFile(env, values)
	}
	if err != nil {
		return settings{}, err
	}
	return resolve(env, given, operator)
}

// on are the settings that are in force for the files of a commit: by the repository's
// own file there, laid over the operator's. A file that is named and would lie in the
// checkout is read from the commit.
func (s settings) on(env Env, files fs.FS) (settings, error) {
	var own config.File
	var err error
	if name := inRepository(env, config.Merge(s.given...)); name != "" {
		own, err = repositoryFile(files, name)
	} else {
		own, err = searched(files)
	}
	if err != nil {
		return settings{}, err
	}
	return resolve(env, s.given, s.operator, own)
}

// resolve lays what is given over the files and the environment.
func resolve(env Env, given []config.Values, files ...config.File) (settings, error) {
	var operator, own config.File
	for _, f := range files {
		if f.Operator {
			operator = f
		} else {
			own = f
		}
	}
	laid := config.Lay(operator, own)
	layers := append(slices.Clip(given), laid.Values, config.Environment(env.Getenv))
	values := config.Merge(layers...)
	cfg, diagnostics := config.Resolve(values)
	tokens, missing := registryTokens(env, cfg.Registries)
	diagnostics = append(diagnostics, missing...)
	if len(diagnostics) > 0 {
		return settings{}, problem.Several(diagnostics)
	}
	cfg.Own = own.Name
	if slices.Contains(config.FileNames, own.Name) { // and not one that a flag or an input names
		says, _ := config.Resolve(own.Values)
		cfg.OwnInclude, cfg.OwnExclude = says.Include, says.Exclude
	}
	if operator.Name != "" && liesApart(env, values) {
		cfg.SeverityGiven, cfg.SeverityEnforced, cfg.Severity = severityIn(operator.Values), severityIn(operator.Enforced), severityIn(laid.Own)
	}
	if err := unsound(cfg); err != nil {
		return settings{}, err
	}
	return settings{
		Config: cfg, values: values, given: given, operator: operator, environ: slices.Concat(env.Environ, tokens), notices: laid.Notices,
	}, nil
}

// liesApart reports whether the configuration file that is named lies in no repository that
// is read. For others than the one at hand it may lie in that: a head does not choose it.
func liesApart(env Env, values config.Values) bool {
	return notCheckedOut(values) || run.Apart(configPath(env, values), append(scanned(env, values), run.RepositoryOf(env.WorkDir)))
}

// unsound says what is wrong with the severities of findings; nil if all is well.
func unsound(cfg config.Config) error {
	err := severitiesOf(cfg).Unsound()
	if err == nil {
		return nil
	}
	at := cfg.Places["verify.severity"]
	return &problem.Error{Problem: problem.Problem{
		Code: problem.CodeSettings, Place: at, Message: "verify.severity: " + err.Error(),
		Hint: "docs/verify.md lists the codes; --severity, and a file that --config names outside of the repository, may choose any severity",
	}}
}

// severityIn is what values that were checked make of findings.
func severityIn(values config.Values) map[problem.Code]problem.Severity {
	cfg, _ := config.Resolve(values)
	return cfg.Severity
}

// registryTokens are the credentials for registries, as the TF_TOKEN_ variables
// in which the CLI configuration takes them.
func registryTokens(env Env, registries []config.Registry) (variables []string, missing []problem.Problem) {
	for _, r := range registries {
		token := env.Getenv(r.TokenEnv)
		if token == "" {
			missing = append(missing, problem.Problem{
				Code: problem.CodeSettings, Host: r.Host, Place: r.Place,
				Message: fmt.Sprintf("the environment variable %s, which holds the token for %s, is not set", r.TokenEnv, r.Host.ForDisplay()),
			})
		}
		variables = append(variables, "TF_TOKEN_"+r.Host.String()+"="+token)
	}
	return variables, missing
}
