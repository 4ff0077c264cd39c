package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/config"
)

func readme(t *testing.T) string {
	t.Helper()
	src, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

var fence = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```")

// examples returns the code blocks of the README in a language.
func examples(t *testing.T, language string) []string {
	t.Helper()
	var blocks []string
	for _, m := range fence.FindAllStringSubmatch(readme(t), -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("the README has no example in %s", language)
	}
	return blocks
}

// TestReadmeCommands asks for the help of every command line in the README, so
// that a verb or flag that is gone fails here. What the commands do is in the
// scripts.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, block := range examples(t, "sh") {
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, "#")
			args := strings.Fields(strings.Replace(line, "go run .", "relock", 1))
			if len(args) == 0 || args[0] != "relock" {
				continue
			}
			seen++
			var out bytes.Buffer
			status := command.Main(t.Context(), command.Env{
				Args: append(args[1:], "--help"), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" },
			})
			if status != command.ExitOK || !strings.Contains(out.String(), "Usage:\n  relock "+args[1]) {
				t.Errorf("%s: status %d\n%s", strings.TrimSpace(line), status, &out)
			}
		}
	}
	if seen == 0 {
		t.Error("the README shows no command")
	}
}

// TestReadmeConfigurationFile reads the example as relock would.
func TestReadmeConfigurationFile(t *testing.T) {
	t.Parallel()
	for _, example := range examples(t, "yaml") {
		name, ok := strings.CutPrefix(strings.SplitN(example, "\n", 2)[0], "# ")
		if !ok || !slices.Contains(config.FileNames, name) {
			continue
		}
		file, problems := config.ParseFile([]byte(example), name)
		cfg, more := config.Resolve(config.Merge(file.Values))
		if problems = append(problems, more...); len(problems) > 0 || len(cfg.Rules) == 0 || len(cfg.Groups) == 0 {
			t.Errorf("the example has %d rules and %d groups, and the problems %v", len(cfg.Rules), len(cfg.Groups), problems)
		}
		return
	}
	t.Error("the README has no example of a configuration file")
}

// TestReadmeComments holds the table of commands to the language.
func TestReadmeComments(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- commands:begin -->\n", "<!-- commands:end -->\n"
	_, rest, begins := strings.Cut(readme(t), begin)
	table, _, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("the README has no markers %s and %s", begin, end)
	}
	if diff := cmp.Diff(comment.Table(), table); diff != "" {
		t.Errorf("table of commands (-code +README):\n%s", diff)
	}
}

type actionYAML struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []struct {
			ID, If, Shell, Run string
			Env                map[string]string
		}
	}
}

func actionFile(t *testing.T) actionYAML {
	t.Helper()
	src, err := os.ReadFile("action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a actionYAML
	if err := yaml.Unmarshal(src, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestReadmeOutputs compares the table of outputs with action.yml.
func TestReadmeOutputs(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(readme(t), "| output | what it is |")
	table, _, _ = strings.Cut(table, "\n\n")
	var told []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(cells[1], -1) {
			told = append(told, m[1])
		}
	}
	for output := range actionFile(t).Outputs {
		if !slices.Contains(told, output) {
			t.Errorf("the README does not tell of the output %s", output)
		}
	}
	if len(told) != len(actionFile(t).Outputs) {
		t.Errorf("the README tells of %v, action.yml has %d outputs", told, len(actionFile(t).Outputs))
	}
}
