package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/comment"
	"github.com/relock-dev/relock/internal/settings"
)

// read is a document of the repository.
func read(t *testing.T, name string) document {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return readDocument(name, src)
}

// TestReadmeNamesItsCommands holds what a newcomer runs, what each command does, and how
// long it takes. .ci/run takes the commands from there.
func TestReadmeNamesItsCommands(t *testing.T) {
	t.Parallel()
	tried := read(t, "README.md").fences
	first := slices.IndexFunc(tried, func(f fence) bool { return f.language == "sh" })
	if first < 0 {
		t.Fatal("the README has no command")
	}
	var commands []string
	for _, m := range regexp.MustCompile(`(?m)^(go .*\S) +# .+ minutes?$`).FindAllStringSubmatch(tried[first].code, -1) {
		commands = append(commands, m[1])
	}
	if want := []string{"go run ./demo", "go test ./..."}; !slices.Equal(commands, want) {
		t.Errorf("the README says of the commands %q what they do and how long they take, want %q", commands, want)
	}
}

// TestDocumentOfConfiguration holds that the example of a configuration file,
// which another test parses, shows rules and groups.
func TestDocumentOfConfiguration(t *testing.T) {
	t.Parallel()
	for _, f := range read(t, "docs/configuration.md").fences {
		if strings.HasPrefix(f.code, "# "+settings.FileNames[0]) && strings.Contains(f.code, "\nrules:") && strings.Contains(f.code, "\ngroups:") {
			return
		}
	}
	t.Error("docs/configuration.md has no example of a configuration file with rules and groups")
}

// TestDocumentOfComments holds the table of commands to the language.
func TestDocumentOfComments(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- commands:begin -->\n", "<!-- commands:end -->\n"
	_, rest, begins := strings.Cut(read(t, "docs/comments.md").text, begin)
	table, _, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("docs/comments.md has no markers %s and %s", begin, end)
	}
	if diff := cmp.Diff(comment.Table(comment.UnderPull|comment.UnderPage).String(), table); diff != "" {
		t.Errorf("table of commands (-code +document):\n%s", diff)
	}
}

type input struct{ Description, Default string }

type actionYAML struct {
	Inputs  map[string]input
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

// TestDocumentOfOutputs compares the table of outputs with action.yml.
func TestDocumentOfOutputs(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(read(t, "docs/action.md").text, "| output | what it is |")
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
			t.Errorf("docs/action.md does not tell of the output %s", output)
		}
	}
	if len(told) != len(actionFile(t).Outputs) {
		t.Errorf("docs/action.md tells of %v, action.yml has %d outputs", told, len(actionFile(t).Outputs))
	}
}
