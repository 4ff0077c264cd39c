package command

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/settings"
)

// nextOf runs a command line that cannot be understood and returns the hint.
func nextOf(t *testing.T, env Env, words ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env.Args, env.Stdout, env.Stderr = words, &stdout, &stderr
	status := Main(t.Context(), env)
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	if wanted := status == ExitUsage || words[0] == "merge-driver" && status == ExitNoMerge; !wanted || stdout.Len() > 0 || len(lines) != 2 {
		t.Errorf("relock %s: status %d, %q, %q, want status %d and two lines", strings.Join(words, " "), status, &stdout, &stderr, ExitUsage)
	}
	return strings.TrimPrefix(lines[len(lines)-1], "  next: ")
}

// TestHabits types what each row is about, and holds that the program answers with the row and
// that its advice to every command is understood.
func TestHabits(t *testing.T) {
	t.Parallel()
	commands := everyCommand(t, Env{})
	root := commands[0]
	env, _ := place(t)
	seen := map[string]bool{} // by command and hint
	for i, h := range habits {
		for _, typed := range h.typed {
			reached := false
			check := func(cmd *cobra.Command, words ...string) {
				hint := h.hint(cmd)
				known := seen[cmd.CommandPath()+hint]
				if known && reached {
					return
				}
				if next := nextOf(t, env, words...); next != hint {
					t.Errorf("relock %s: hint %q, want %q of row %d", strings.Join(words, " "), next, hint, i)
				}
				if !known {
					advised(t, root, cmd, hint)
				}
				reached, seen[cmd.CommandPath()+hint] = true, true
			}
			if !strings.HasPrefix(typed, "-") {
				words := strings.Fields(typed)
				if at, rest, _ := root.Find(words); len(rest) > 0 {
					check(at, words...)
					check(at, append(slices.Clone(words), "-out=x")...)
					check(at, append([]string{"help"}, words...)...)
				}
			} else {
				for _, cmd := range commands {
					first := slices.IndexFunc(habits, func(other habit) bool { return other.has(strings.TrimLeft(typed, "-")) && other.isFor(cmd) })
					if first == i && !hasFlag(cmd, typed) && cmd.Name() != "help" {
						check(cmd, append(strings.Fields(strings.TrimPrefix(cmd.CommandPath(), root.Name())), typed)...)
					}
				}
			}
			if !reached {
				t.Errorf("row %d: no command line with %s reaches it", i, typed)
			}
		}
		for _, name := range h.of {
			if !slices.ContainsFunc(commands, func(cmd *cobra.Command) bool { return commandWords(cmd) == name }) {
				t.Errorf("row %d is for %s, which is no command", i, name)
			}
		}
	}
}

// hasFlag reports whether a command takes a flag as it is typed.
func hasFlag(cmd *cobra.Command, typed string) bool {
	name := strings.TrimLeft(typed, "-")
	found := cmd.Flags().Lookup(name) != nil
	cmd.Flags().VisitAll(func(f *pflag.Flag) { found = found || f.Shorthand != "" && strings.HasPrefix(name, f.Shorthand) })
	return found
}

var (
	advisedLine = regexp.MustCompile(`^write (relock [^:]+?)(?::|$)`)
	advisedFlag = regexp.MustCompile(`^write (--[^:]+?)(?::|$)`)
	namedVerb   = regexp.MustCompile(`\brelock ((?:config )?[a-z-]+)`)
	namedFlag   = regexp.MustCompile(`(?:^| )--([a-z-]+)`)
	namedKey    = regexp.MustCompile(`\bkey ([a-z.-]+) of the configuration file`)
	prose       = []string{"relock asks", "relock reads", "relock runs", "relock in"} // relock itself, and no verb
)

// advised holds that a hint to a command names only what there is, and what can be typed.
func advised(t *testing.T, root, cmd *cobra.Command, hint string) {
	t.Helper()
	if line := advisedLine.FindStringSubmatch(hint); line != nil {
		if err := understood(line[1]); err != nil {
			t.Errorf("%q: it would be refused: %v", hint, err)
		}
	}
	if flag := advisedFlag.FindStringSubmatch(hint); flag != nil {
		if err := understood(cmd.CommandPath() + " " + flag[1]); err != nil {
			t.Errorf("%q: %s would refuse it: %v", hint, cmd.CommandPath(), err)
		}
	}
	for _, verb := range namedVerb.FindAllStringSubmatch(hint, -1) {
		if _, rest, err := root.Find(strings.Fields(verb[1])); (err != nil || len(rest) > 0) && !slices.Contains(prose, verb[0]) {
			t.Errorf("%q names relock %s, which is no command", hint, verb[1])
		}
	}
	for _, flag := range namedFlag.FindAllStringSubmatch(hint, -1) {
		if len(commandsWith(root, flag[1])) == 0 && flag[1] != "help" {
			t.Errorf("%q names --%s, which no command has", hint, flag[1])
		}
	}
	for _, key := range namedKey.FindAllStringSubmatch(hint, -1) {
		if !settings.IsKey(key[1]) {
			t.Errorf("%q names the key %s, which the configuration file does not have", hint, key[1])
		}
	}
}
