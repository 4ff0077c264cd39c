package command

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/settings"
	"github.com/relock-dev/relock/internal/verbs"
)

// addFlags gives a verb the flags that the table of settings says it has.
func addFlags(cmd *cobra.Command, verb verbs.Verb) {
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
