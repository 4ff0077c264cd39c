package safe_test

import (
	"testing"

	"github.com/relock-dev/relock/internal/safe"
)

// People copy the command line into a shell. The names in it come from a
// stranger's pull request.
func TestShellWords(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"envs/prod-1":       "envs/prod-1",
		".":                 ".",
		"*/hashicorp/aws":   "'*/hashicorp/aws'",
		"with space":        "'with space'",
		"it's":              `'it'\''s'`,
		"$(id)":             "'$(id)'",
		"`id`;rm":           "'`id`;rm'",
		"--config=evil.yml": "'./--config=evil.yml'",
		"-rf":               "./-rf",
		"naïve":             "'naïve'",
	} {
		if got := safe.ShellWord(word); got != want {
			t.Errorf("safe.ShellWord(%q) = %s, want %s", word, got, want)
		}
	}
}
