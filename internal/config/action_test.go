package config_test

import (
	"os"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/config"
)

// parameter is an input or output of action.yml.
type parameter struct {
	Description string `yaml:"description"`
	Default     string `yaml:"default"`
}

type actionFile struct {
	Name    string
	Inputs  map[string]parameter
	Outputs map[string]parameter
	Runs    struct {
		Using, Image string
		Args         []string
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

func TestActionInputsAreThoseOfTheTable(t *testing.T) {
	want := map[string]parameter{}
	for _, s := range config.Settings {
		if s.Input != "" {
			want[s.Input] = parameter{Description: s.Description(), Default: s.InputDefault}
		}
	}
	if diff := cmp.Diff(want, readAction(t).Inputs); diff != "" {
		t.Errorf("inputs of action.yml (-table +file):\n%s", diff)
	}
}

func TestActionRunsTheImageWithoutSecretsInItsArguments(t *testing.T) {
	action := readAction(t)
	if action.Runs.Using != "docker" || action.Runs.Image != "Dockerfile" {
		t.Errorf("runs = %q with %q, want docker with Dockerfile", action.Runs.Using, action.Runs.Image)
	}
	if diff := cmp.Diff([]string{"action"}, action.Runs.Args); diff != "" {
		t.Errorf("args (-want +got):\n%s", diff)
	}
}

func TestActionDescribesEveryOutput(t *testing.T) {
	for _, name := range []string{
		"changed", "pull-request-number", "pull-request-url", "pull-request-operation", "pull-request-branch",
		"pull-request-head-sha", "pull-requests", "directories", "report",
	} {
		if readAction(t).Outputs[name].Description == "" {
			t.Errorf("action.yml does not describe the output %s", name)
		}
	}
}
