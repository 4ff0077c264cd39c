package run

import "testing"

// People copy the command line into a shell, and the names in it are from a
// stranger's pull request.
func TestQuoted(t *testing.T) {
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
		if got := quoted(word); got != want {
			t.Errorf("quoted(%q) = %s, want %s", word, got, want)
		}
	}
}
