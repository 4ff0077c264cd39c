package command

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/run"
	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verify"
	"github.com/relock-dev/relock/internal/worktree"
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

// sourcesFrom are what settings are made of, with the operator's file if there is one.
func sourcesFrom(env Env, given []settings.Values, operator settings.File) settings.Sources {
	values := settings.Merge(given...)
	return settings.Sources{
		Given: given, Operator: operator, Outside: operator.Name != "" && liesOutside(env, values), Named: inRepository(env, values),
		Getenv: env.Getenv, Sound: verify.Sound,
	}
}

// readSettings lays flags and inputs over the configuration file that is in force
// here and the environment, and checks them all. An operator's file stands in for the
// repository's own: nothing that is checked out decides then.
func readSettings(env Env, given ...settings.Values) (settings.Sources, settings.Settings, error) {
	operator, own, err := configFile(env, settings.Merge(given...))
	if err != nil {
		return settings.Sources{}, settings.Settings{}, err
	}
	from := sourcesFrom(env, given, operator)
	s, err := from.With(own)
	return from, s, err
}

// settingsApart are the settings that hold whatever a repository says: by the operator's
// file, if one is named. What is checked out, if anything, decides nothing.
func settingsApart(env Env, given ...settings.Values) (settings.Sources, settings.Settings, error) {
	values := settings.Merge(given...)
	var operator, own settings.File
	var err error
	if notCheckedOut(values) && configPath(env, values) != "" || locate(env, values, scanned(env, values), false) == settings.Operators {
		operator, own, err = configFile(env, values)
	}
	if err != nil {
		return settings.Sources{}, settings.Settings{}, err
	}
	from := sourcesFrom(env, given, operator)
	s, err := from.With(own)
	return from, s, err
}

// liesOutside reports whether the configuration file that is named lies in no repository that
// is read. For others than the one at hand it may lie in that: a head does not choose it.
func liesOutside(env Env, values settings.Values) bool {
	return notCheckedOut(values) || run.Apart(configPath(env, values), append(scanned(env, values), worktree.RootOf(env.WorkDir)))
}
