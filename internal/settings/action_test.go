package settings_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/settings"
)

// parameter is an input or output of action.yml.
type parameter struct {
	Description string
	Default     string
	Value       string
}

// step is one of a composite action.
type step struct {
	ID, If, Shell, Run string
	Env                map[string]string
}

type actionFile struct {
	Name    string
	Inputs  map[string]parameter
	Outputs map[string]parameter
	Runs    struct {
		Using string
		Steps []step
	}
}

func readAction(t *testing.T) actionFile {
	t.Helper()
	src, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action actionFile
	if err := yaml.UnmarshalWithOptions(src, &action); err != nil {
		t.Fatal(err)
	}
	return action
}

// TestActionInputsAreThoseOfTheTable holds what a runner reads in the inputs.
func TestActionInputsAreThoseOfTheTable(t *testing.T) {
	got, want := readAction(t).Inputs, map[string]parameter{}
	for input := range installing {
		want[input] = parameter{}
	}
	for _, s := range settings.All {
		if s.Input != "" {
			want[s.Input] = parameter{Default: s.InputDefault}
		}
	}
	for input, p := range got {
		if !strings.HasSuffix(p.Description, ".") {
			t.Errorf("the input %s is described as %q, want a whole sentence", input, p.Description)
		}
		p.Description = ""
		got[input] = p
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inputs of action.yml (-table +file):\n%s", diff)
	}
}

// installing are the inputs that say where the program comes from, by the variable
// in which install/relock.sh takes them. The program itself never sees them.
var installing = map[string]string{"binary": "RELOCK_BINARY", "download-url": "RELOCK_DOWNLOAD_URL"}

// A runner gives the steps of a composite action no inputs: each must be handed
// on, and as a variable, since in the text of a script it would be code.
func TestActionHandsEveryInputOn(t *testing.T) {
	action := readAction(t)
	want := map[string]string{}
	for input, name := range installing {
		want[name] = "${{ inputs." + input + " }}"
	}
	for _, s := range settings.All {
		if s.Input != "" {
			want[settings.InputEnv(s.Input)] = "${{ inputs." + s.Input + " }}"
		}
	}
	assigned := regexp.MustCompile(`^[A-Z_]+$`) // dash drops other names
	for name := range want {
		if !assigned.MatchString(name) {
			t.Errorf("no shell hands on a variable %s", name)
		}
	}
	steps := []step{
		{ID: "posix", If: "runner.os != 'Windows'", Shell: "sh", Run: `exec sh "$GITHUB_ACTION_PATH/install/relock.sh"`, Env: want},
		{ID: "windows", If: "runner.os == 'Windows'", Shell: "powershell", Run: `& "$env:GITHUB_ACTION_PATH\install\relock.ps1"`, Env: want},
	}
	if diff := cmp.Diff(steps, action.Runs.Steps); diff != "" || action.Runs.Using != "composite" {
		t.Errorf("runs %s with the steps (-want +got):\n%s", action.Runs.Using, diff)
	}
}

func TestActionHandsEveryOutputOn(t *testing.T) {
	for name, output := range readAction(t).Outputs {
		if want := fmt.Sprintf("${{ steps.posix.outputs.%s || steps.windows.outputs.%[1]s }}", name); output.Value != want {
			t.Errorf("the output %s has the value %q, want %q", name, output.Value, want)
		}
	}
}

func TestActionDescribesEveryOutput(t *testing.T) {
	for _, name := range []string{
		"changed", "pull-request-number", "pull-request-url", "pull-request-operation", "pull-request-branch",
		"pull-request-head-sha", "pull-requests", "directories", "findings", "report", "page", "sarif",
	} {
		if readAction(t).Outputs[name].Description == "" {
			t.Errorf("action.yml does not describe the output %s", name)
		}
	}
}
