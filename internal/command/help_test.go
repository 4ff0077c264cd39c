package command

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/settings"
)

// everyCommand are the commands of the program that are its own: those that
// complete for shells have cobra's words.
func everyCommand(t *testing.T, env Env) []*cobra.Command {
	t.Helper()
	all := []*cobra.Command{rootCommand(env)}
	for i := 0; i < len(all); i++ {
		all = append(all, slices.DeleteFunc(slices.Clone(all[i].Commands()), func(c *cobra.Command) bool { return c.Name() == "completion" })...)
	}
	if len(all) < 15 {
		t.Fatalf("found %d commands, which cannot be all", len(all))
	}
	return all
}

func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	for _, cmd := range everyCommand(t, Env{}) {
		for line := range strings.Lines(help(cmd)) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > helpWidth || strings.HasSuffix(line, " ") {
				t.Errorf("%s: a line of %d characters: %q", cmd.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
	}
}

// TestHelpHasAPlaceForEveryCommand holds that none is forgotten among the others.
func TestHelpHasAPlaceForEveryCommand(t *testing.T) {
	t.Parallel()
	placed := []string{"help", "version"} // which are about relock itself
	for _, s := range commandSections {
		placed = append(placed, s.names...)
	}
	for _, cmd := range rootCommand(Env{}).Commands() {
		if cmd.IsAvailableCommand() && !slices.Contains(placed, cmd.Name()) {
			t.Errorf("relock --help lists %s among the others: it belongs to a section", cmd.Name())
		}
	}
}

func TestHelpTellsOfEveryFlagOnce(t *testing.T) {
	t.Parallel()
	for _, cmd := range everyCommand(t, Env{}) {
		text := help(cmd)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if n := strings.Count(text, "\n  --"+f.Name+"\n") + strings.Count(text, "\n  --"+f.Name+" ") + strings.Count(text, "\n  --"+f.Name+"[=") + strings.Count(text, "\n  -h, --"+f.Name+"\n"); n != 1 {
				t.Errorf("%s: help lists --%s %d times:\n%s", cmd.CommandPath(), f.Name, n, text)
			}
			if !strings.HasSuffix(meaning(f), ".") {
				t.Errorf("%s: --%s: %q is no sentence", cmd.CommandPath(), f.Name, meaning(f))
			}
		})
	}
}

// TestHelpListsFlagsThatAreThere holds the sections to the flags of some command.
func TestHelpListsFlagsThatAreThere(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	paths := map[string]bool{}
	for _, cmd := range everyCommand(t, Env{}) {
		paths[cmd.CommandPath()] = true
		cmd.InitDefaultHelpFlag()
		cmd.Flags().VisitAll(func(f *pflag.Flag) { there[f.Name] = true })
	}
	for _, s := range flagSections {
		for _, name := range s.names {
			if !there[name] {
				t.Errorf("the section %q of help is for --%s, which no command has", s.heading, name)
			}
		}
	}
	for name := range arguments {
		if !there[name] {
			t.Errorf("help knows the argument of --%s, which no command has", name)
		}
	}
	for path := range exampleLines {
		if !paths[path] {
			t.Errorf("help has examples of %q, which is no command", path)
		}
	}
}

// TestHelpNamesWhatAFlagTakes holds that each flag with a value has a placeholder that says
// more than the flag's own name.
func TestHelpNamesWhatAFlagTakes(t *testing.T) {
	t.Parallel()
	for _, cmd := range everyCommand(t, Env{}) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, takes, valued := strings.Cut(strings.TrimPrefix(written(f), "-h, "), " ")
			optional := strings.Contains(written(f), "[=") && f.NoOptDefVal != ""
			switch {
			case f.Value.Type() == "bool", optional:
			case !valued || takes == "" || strings.EqualFold(strings.ReplaceAll(takes, "_", "-"), f.Name):
				t.Errorf("%s: help has %q, which does not say what the value is", cmd.CommandPath(), written(f))
			}
		})
	}
}

// TestEveryVerbWithFlagsHasExamples holds that help shows one to three lines to start from.
func TestEveryVerbWithFlagsHasExamples(t *testing.T) {
	t.Parallel()
	for _, cmd := range everyCommand(t, Env{}) {
		flags := false
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = flags || f.Name != "help" })
		if n := len(exampleLines[cmd.CommandPath()]); flags && (n < 1 || n > 3) {
			t.Errorf("%s has flags and %d examples; it must be one to three", cmd.CommandPath(), n)
		}
	}
}

// understood parses a command line as the program does, and reports what it does not take:
// words, flags, or values of them.
func understood(line string) error {
	words := strings.Fields(line)
	root := rootCommand(Env{Getenv: func(string) string { return "" }})
	cmd, rest, err := root.Find(words[1:])
	if err != nil || words[0] != root.Name() || cmd.HasSubCommands() {
		return fmt.Errorf("%q is no command: %w", line, err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		return err
	}
	if cmd.Flags().Lookup("format") != nil {
		if err := formatOf(cmd); err != nil {
			return err
		}
	}
	_, problems := settings.Resolve(settings.Merge(given(cmd.Flags())))
	if len(problems) > 0 {
		return problem.Several(problems)
	}
	return nil
}

func TestHelpExamplesAreUnderstood(t *testing.T) {
	t.Parallel()
	for path, list := range exampleLines {
		for _, e := range list {
			if err := understood(e[0]); err != nil || !strings.HasPrefix(e[0]+" ", path+" ") {
				t.Errorf("%s: the example %q: %v", path, e[0], err)
			}
		}
	}
	for _, line := range []string{"relock", "relock chek", "relock check --nonsense", "relock check --jobs many", "relock scan --format html", "relock version x"} {
		if understood(line) == nil {
			t.Errorf("%q is understood, and nobody could type it", line)
		}
	}
}
