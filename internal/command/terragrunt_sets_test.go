package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/sandbox"
)

// environmentCase is what Terragrunt did in one environment or in several: see
// testdata/terragrunt-stacks/README.md.
type environmentCase struct {
	Tool         string
	Env          map[string]string
	Environments map[string]map[string]string
	Want         *environmentWant
	Wants        map[string]*environmentWant `json:"by_environment"`
}

type environmentWant struct {
	OK    bool
	Units []struct {
		Path      string
		Providers map[string]string
	}
}

// served is what the lock file of the unit of a case holds where all environments of the
// case are named at once, and what is said.
var served = map[string]struct {
	locks []string
	says  string
}{
	"env-two-constraint":    {nil, `no release of registry.terraform.io/hashicorp/random meets the constraints "~> 3.4.0, ~> 3.6.0": "~> 3.4.0" of the set production at live/app/versions.tf:6, "~> 3.6.0" of the set staging at`},
	"env-two-file":          {nil, `"~> 3.6.0" of the set staging at`},
	"env-three-missing-key": {nil, `with the set test`},
	"env-two-exclude":       {[]string{"registry.terraform.io/hashicorp/random 3.5.0 ~> 3.5.0"}, ""},
	"env-two-provider-added": {
		[]string{"registry.terraform.io/hashicorp/null 3.2.4", "registry.terraform.io/hashicorp/random 3.5.0 ~> 3.5.0"},
		"with the set staging it removes registry.terraform.io/hashicorp/null",
	},
}

// TestEnvironmentCases names the environments of recorded cases in settings: each alone
// gives what Terragrunt wrote there, and the environment of the run nothing, though it has
// the same names.
func TestEnvironmentCases(t *testing.T) {
	t.Parallel()
	eachTerragruntCase(t, "../../testdata/terragrunt-stacks/env-*.txtar", 8, nil, replayEnvironments)
}

// replayEnvironments upgrades in one case, with each environment by itself and then with all.
func replayEnvironments(t *testing.T, world *sandbox.Sandbox, name string, ar *txtar.Archive) {
	t.Helper()
	var c environmentCase
	var err error
	for _, f := range ar.Files {
		if f.Name == "case.json" {
			err = json.Unmarshal(f.Data, &c)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.Want != nil {
		c.Environments, c.Wants = map[string]map[string]string{"only": c.Env}, map[string]*environmentWant{"only": c.Want}
	}
	for set, env := range c.Environments {
		want := c.Wants[set]
		var wanted []string
		for addr, entry := range want.Units[0].Providers {
			wanted = append(wanted, strings.TrimSpace(addr+" "+entry))
		}
		slices.Sort(wanted)
		status, got, said := c.upgrade(t, world, ar, map[string]map[string]string{set: env})
		if diff := cmp.Diff(wanted, got); diff != "" || !want.OK && status == ExitOK {
			t.Errorf("with %s: lock file (-recorded +ours):\n%s\nstatus %d\n%s", set, diff, status, said)
		}
	}
	if len(c.Environments) == 1 {
		return
	}
	all, ok := served[name]
	if !ok {
		t.Fatal("what serves all environments is not said")
	}
	if _, got, said := c.upgrade(t, world, ar, c.Environments); !slices.Equal(all.locks, got) || !strings.Contains(said, all.says) {
		t.Errorf("with all: lock file %q, want %q; said, want %q:\n%s", got, all.locks, all.says, said)
	}
}

// configure names sets of values in settings. It returns an environment of the run that has
// the same names.
func configure(t *testing.T, root string, sets map[string]map[string]string) (runner map[string]string) {
	t.Helper()
	config, runner := "version: 1\nterragrunt:\n  environments:\n", map[string]string{}
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		config += "    - name: " + set + "\n"
		env, features := "", ""
		for name, value := range sets[set] {
			if flag, on, ok := strings.Cut(value, "="); ok && name == "TG_FEATURE" {
				features += fmt.Sprintf("        %s: %q\n", flag, on)
			} else {
				env += fmt.Sprintf("        %s: %q\n", name, value)
			}
			runner[name] = "of-the-runner"
		}
		if env != "" {
			config += "      env:\n" + env
		}
		if features != "" {
			config += "      features:\n" + features
		}
	}
	write(t, filepath.Join(root, ".github", "relock.yml"), []byte(config))
	return runner
}

// upgrade runs what stands for init -upgrade in the unit of a case, with sets of values.
func (c environmentCase) upgrade(t *testing.T, world *sandbox.Sandbox, ar *txtar.Archive, sets map[string]map[string]string) (status int, locks []string, said string) {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, ".git", "HEAD"), nil)
	for _, f := range ar.Files {
		if at, ok := strings.CutPrefix(f.Name, "tree/"); ok {
			write(t, filepath.Join(root, at), f.Data)
		}
	}
	runner := configure(t, root, sets)
	status, stderr := session{env: runner, home: t.TempDir()}.run(t, world, root, "upgrade", "--platform", "linux_amd64", "--tool", "terraform", "--tool-version", "1.11.4", "live/app")
	return status, lockedIn(t, filepath.Join(root, "live/app")), stderr
}
