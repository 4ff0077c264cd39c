package command

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
)

// addFlags gives a verb the flags that the table of settings says it has.
func addFlags(cmd *cobra.Command, verb string) {
	flags := cmd.Flags()
	flags.SortFlags = false
	for _, s := range settings.All {
		switch {
		case !s.HasVerb(verb):
		case s.Kind == settings.Bool:
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
func given(flags *pflag.FlagSet) settings.Values {
	texts := map[string][]string{}
	flags.Visit(func(f *pflag.Flag) {
		if list, ok := f.Value.(pflag.SliceValue); ok {
			texts[f.Name] = list.GetSlice()
			return
		}
		texts[f.Name] = []string{f.Value.String()}
	})
	return settings.Flags(texts)
}

// foundSettings are those of one run, and what reading them has brought along.
type foundSettings struct {
	settings.Settings
	values   settings.Values   // each with where it comes from
	given    []settings.Values // by flags, inputs and words; the strongest first
	operator settings.File     // that is in force; none without a name
	environ  []string          // the process's, and the credentials that the file speaks of
	notices  []problem.Problem // for the report
}

// readSettings lays flags and inputs over the configuration file that is in force
// here and the environment, and checks them all. An operator's file stands in for the
// repository's own: nothing that is checked out decides then.
func readSettings(env Env, given ...settings.Values) (foundSettings, error) {
	file, err := configFile(env, settings.Merge(given...))
	if err != nil {
		return foundSettings{}, err
	}
	return resolve(env, given, file)
}

// settingsApart are the settings that hold whatever a repository says: by the operator's
// file, if one is named. What is checked out, if anything, decides nothing.
func settingsApart(env Env, given ...settings.Values) (foundSettings, error) {
	values := settings.Merge(given...)
	var operator settings.File
	var err error
	if notCheckedOut(values) && configPath(env, values) != "" || locate(env, values, scanned(env, values), false) == settings.Operators {
		operator, err = configFile(env, values)
	}
	if err != nil {
		return foundSettings{}, err
	}
	return resolve(env, given, operator)
}

// on are the settings that are in force for the files of a commit: by the repository's
// own file there, laid over the operator's. A file that is named and would lie in the
// checkout is read from the commit.
func (s foundSettings) on(env Env, files fs.FS) (foundSettings, error) {
	var own settings.File
	var err error
	if name := inRepository(env, settings.Merge(s.given...)); name != "" {
		own, err = repositoryFile(files, name)
	} else {
		own, err = searched(files)
	}
	if err != nil {
		return foundSettings{}, err
	}
	return resolve(env, s.given, s.operator, own)
}

// resolve lays what is given over the files and the environment.
func resolve(env Env, given []settings.Values, files ...settings.File) (foundSettings, error) {
	var operator, own settings.File
	for _, f := range files {
		if f.Operator {
			operator = f
		} else {
			own = f
		}
	}
	laid := settings.Lay(operator, own)
	layers := append(slices.Clip(given), laid.Values, settings.Environment(env.Getenv))
	values := settings.Merge(layers...)
	cfg, diagnostics := settings.Resolve(values)
	tokens, missing := registryTokens(env, cfg.Registries)
	diagnostics = append(diagnostics, missing...)
	if len(diagnostics) > 0 {
		return foundSettings{}, problem.Several(diagnostics)
	}
	cfg.Own = own.Name
	if slices.Contains(settings.FileNames, own.Name) { // and not one that a flag or an input names
		says, _ := settings.Resolve(own.Values)
		cfg.OwnInclude, cfg.OwnExclude = says.Include, says.Exclude
	}
	if operator.Name != "" && liesApart(env, values) {
		cfg.SeverityGiven, cfg.SeverityEnforced, cfg.Severity = severityIn(operator.Values), severityIn(operator.Enforced), severityIn(laid.Own)
	}
	if err := unsound(cfg); err != nil {
		return foundSettings{}, err
	}
	return foundSettings{
		Settings: cfg, values: values, given: given, operator: operator, environ: slices.Concat(env.Environ, tokens), notices: laid.Notices,
	}, nil
}

// liesApart reports whether the configuration file that is named lies in no repository that
// is read. For others than the one at hand it may lie in that: a head does not choose it.
func liesApart(env Env, values settings.Values) bool {
	return notCheckedOut(values) || run.Apart(configPath(env, values), append(scanned(env, values), run.RepositoryOf(env.WorkDir)))
}

// unsound says what is wrong with the severities of findings; nil if all is well.
func unsound(cfg settings.Settings) error {
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
func severityIn(values settings.Values) map[problem.Code]problem.Severity {
	cfg, _ := settings.Resolve(values)
	return cfg.Severity
}

// registryTokens are the credentials for registries, as the TF_TOKEN_ variables
// in which the CLI configuration takes them.
func registryTokens(env Env, registries []settings.Registry) (variables []string, missing []problem.Problem) {
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
