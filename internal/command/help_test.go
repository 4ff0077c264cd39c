package command

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

func TestHelpExamplesAreUnderstood(t *testing.T) {
	t.Parallel()
	for path, list := range exampleLines {
		for _, e := range list {
			var out bytes.Buffer
			status := Main(t.Context(), Env{
				Args: append(strings.Fields(e[0])[1:], "--help"), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" },
			})
			if status != ExitOK || !strings.HasPrefix(e[0]+" ", path+" ") {
				t.Errorf("%s: the example %q ends with %d:\n%s", path, e[0], status, &out)
			}
		}
	}
}
