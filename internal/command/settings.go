package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// takenValues is the annotation of a flag with the values that its verb takes, if they are
// few.
const takenValues = "relock_values"

// addFlags gives a verb the flags that it has in the table of settings.
func addFlags(cmd *cobra.Command, verb verbs.Verb) {
	flags := cmd.Flags()
	flags.SortFlags = false
	for _, s := range settings.All {
		if !s.HasVerb(verb) {
			continue
		}
		switch {
		case s.Kind == settings.Bool:
			flags.Bool(s.Flag, false, s.Doc)
		case s.Repeats():
			flags.StringArray(s.Flag, nil, s.Description())
		default:
			flags.String(s.Flag, s.Default, s.DocOf(verb))
			flags.Lookup(s.Flag).NoOptDefVal = s.Alone
		}
		flags.Lookup(s.Flag).Annotations = map[string][]string{takenValues: s.ValuesOf(verb)}
	}
}

// formatOf refuses a format that the verb of a command does not have. It does so before any
// file is read, since no configuration file sets the format.
func formatOf(cmd *cobra.Command) error {
	f := cmd.Flags().Lookup("format")
	words := f.Annotations[takenValues]
	if slices.Contains(words, f.Value.String()) {
		return nil
	}
	return fmt.Errorf("%s has no %s format; it must be %s", commandWords(cmd), f.Value, oneOf(words))
}

// settingsOfCommand are the settings of a verb on the command line.
func settingsOfCommand(cmd *cobra.Command, env Env, verb verbs.Verb, dirs ...string) (settings.Sources, settings.Settings, error) {
	if err := formatOf(cmd); err != nil {
		return settings.Sources{}, settings.Settings{}, err
	}
	return settingsOfRun(cmd.Context(), env, verb, given(cmd.Flags()), settings.Arguments(dirs))
}

// oneOf lists two words or more of which one is wanted.
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
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
