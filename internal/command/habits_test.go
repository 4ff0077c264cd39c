package command

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// TestHabits types the words of each row, flags behind every command. The program answers with
// the row, and its advice is understood.
func TestHabits(t *testing.T) {
	t.Parallel()
	commands := everyCommand(t, Env{})
	root := commands[0]
	env, _ := place(t)
	for i, h := range habits {
		advised(t, root, h)
		for _, typed := range strings.Fields(h.typed) {
			if !strings.HasPrefix(typed, "-") {
				for _, words := range [][]string{{typed}, {typed, "-out=x"}, {"help", typed}} {
					if next := nextOf(t, env, words...); next != h.hint {
						t.Errorf("relock %s: hint %q, want %q of row %d", strings.Join(words, " "), next, h.hint, i)
					}
				}
				continue
			}
			for _, cmd := range commands {
				if hasFlag(cmd, typed) || cmd.Name() == "help" {
					continue
				}
				want := h.hint
				if h.flag != "" && cmd.Flags().Lookup(h.flag) == nil {
					want = flagOfOthers(cmd, h.flag)
				}
				words := append(strings.Fields(strings.TrimPrefix(cmd.CommandPath(), root.Name())), typed)
				if next := nextOf(t, env, words...); next != want {
					t.Errorf("relock %s: hint %q, want %q of row %d", strings.Join(words, " "), next, want, i)
				}
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
	prose       = []string{"relock runs", "relock in"} // relock itself, and no verb
)

// advised holds that a hint names only what there is, and what can be typed.
func advised(t *testing.T, root *cobra.Command, h habit) {
	t.Helper()
	if line := advisedLine.FindStringSubmatch(h.hint); line != nil {
		if err := understood(line[1]); err != nil {
			t.Errorf("%q: it would be refused: %v", h.hint, err)
		}
	}
	if flag := advisedFlag.FindStringSubmatch(h.hint); flag != nil {
		for _, name := range commandsWith(root, h.flag) {
			if err := understood("relock " + name + " " + flag[1]); err != nil {
				t.Errorf("%q: %s would refuse it: %v", h.hint, name, err)
			}
		}
	}
	for _, verb := range namedVerb.FindAllStringSubmatch(h.hint, -1) {
		if _, rest, err := root.Find(strings.Fields(verb[1])); (err != nil || len(rest) > 0) && !slices.Contains(prose, verb[0]) {
			t.Errorf("%q names relock %s, which is no command", h.hint, verb[1])
		}
	}
	for _, flag := range namedFlag.FindAllStringSubmatch(h.hint, -1) {
		if len(commandsWith(root, flag[1])) == 0 {
			t.Errorf("%q names --%s, which no command has", h.hint, flag[1])
		}
	}
}
