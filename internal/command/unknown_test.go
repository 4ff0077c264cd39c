package command

import (
	"bytes"
	"strings"
	"testing"
)

// A person who mistypes a word or a flag reads what was meant, and the status is that of
// a wrong command line.
func TestMistypedCommandLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"chek":                   "next: did you mean relock check?",
		"nonsense":               "next: relock --help lists the commands",
		"config nonsense":        "next: relock config --help lists the commands",
		"config valdate --help":  "next: did you mean relock config validate?",
		"help chek":              "next: did you mean relock check?",
		"check --jbos 2":         "next: did you mean --jobs?",
		"scan --exact":           "next: --exact is a flag of relock lock, upgrade",
		"upgrade --dry-run":      "next: relock check writes nothing, and says what upgrade would change",
		"check --nonsense":       "next: relock check --help lists the flags",
		"check --platform":       "next: write --platform OS_ARCH",
		"scan --format":          "next: write --format text|json",
		"version more":           "relock:",
		"scan --format markdown": "scan has no markdown format; it must be text or json",
		"demo":                   "next: go run github.com/relock-dev/relock/demo@latest shows",
		"help demo":              "next: go run github.com/relock-dev/relock/demo@latest shows",
		"demo --help":            "next: go run github.com/relock-dev/relock/demo@latest shows",
		"demo --keep kept":       "next: go run github.com/relock-dev/relock/demo@latest shows",
		"chek --jobs 2":          "next: did you mean relock check?",
		"config vaildate --x":    "next: did you mean relock config validate?",
		"action":                 "action runs as a step of a GitHub workflow",
	} {
		var stdout, stderr bytes.Buffer
		status := Main(t.Context(), Env{
			Args: strings.Fields(line), Stdout: &stdout, Stderr: &stderr, WorkDir: t.TempDir(), Getenv: func(string) string { return "" },
		})
		if status != ExitUsage || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("relock %s: status %d, %q, want %d and %q", line, status, stderr.String(), ExitUsage, want)
		}
	}
}

// Every command has help that names it.
func TestHelpOfEveryCommand(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "help", "help config", "config", "help config init", "config init --help", "diff --help"} {
		var stdout, stderr bytes.Buffer
		status := Main(t.Context(), Env{Args: strings.Fields(line), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }})
		name := strings.TrimSpace("relock " + strings.TrimSuffix(strings.TrimPrefix(line, "help"), "--help"))
		if status != ExitOK || !strings.Contains(stdout.String(), "Usage:\n  "+strings.Join(strings.Fields(name), " ")) {
			t.Errorf("relock %s: status %d, %q, %q", line, status, stdout.String(), stderr.String())
		}
	}
}
