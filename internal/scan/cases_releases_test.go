package scan

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
)

// releaseCase is a configuration and what two releases of Terraform made of it, 1.11.4
// and 1.16.0-rc2.
type releaseCase struct {
	ID    string
	About string
	Steps []string
	Files map[string]string
	Env   map[string]string
	// Repo is a git repository at @TREE@/repo: the files of each tag.
	Repo map[string]map[string]string
	// Expected is what the last step did, by release.
	Expected map[string]struct {
		OK   bool
		Lock map[string]string // version and constraints of each provider; nil: no lock file
	}
}

func releaseCases(t *testing.T) []releaseCase {
	t.Helper()
	data, err := os.ReadFile("testdata/terraform-1.16.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []releaseCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// otherwise are the recorded cases that come out otherwise here, on purpose, by case
// and release.
var otherwise = map[string]string{
	"destroy-false 1.11.4": "arguments of resources are not read, since they require nothing",
	"output-type 1.11.4":   "arguments of outputs are not read, since they require nothing",

	"modules-dir-declared-after 1.16.0-rc2": "a first init fails by chance (11 of 20 did); relock reads what a second one does",
	"modules-dir-nested-key 1.16.0-rc2":     "a first init fails; relock reads what a second one does",
	"modules-dir-nested-key-sub 1.16.0-rc2": "a first init fails; relock reads what a second one does",

	"no-configuration 1.11.4":                 "a directory without configuration is no root module; its lock file is left alone, as by the tool",
	"no-configuration 1.16.0-rc2":             "a directory without configuration is no root module; its lock file is left alone, as by the tool",
	"underscore-namespace-cli-pattern 1.11.4": "the CLI configuration is read once for root modules of all releases; internal/cliconfig has the case",
	"upgrade-readonly 1.11.4":                 "relock has no read-only mode but check",
	"upgrade-readonly 1.16.0-rc2":             "relock has no read-only mode but check",
}

// elsewhere are the cases about what becomes of entries, not about requirements:
// internal/upgrade has them.
func elsewhere(c releaseCase) bool { return strings.HasPrefix(c.ID, "dev-override-") }

func TestModules_cases_of_two_releases(t *testing.T) {
	t.Parallel()
	cases := releaseCases(t)
	if len(cases) != 48 {
		t.Errorf("there are %d cases, want 48", len(cases))
	}
	for _, c := range cases {
		for release, want := range c.Expected {
			if elsewhere(c) {
				continue
			}
			t.Run(c.ID+"/"+release, func(t *testing.T) {
				t.Parallel()
				if _, other := otherwise[c.ID+" "+release]; other {
					return
				}
				got := c.read(t, release)
				failed := len(got.failed) > 0 || len(got.unread) > 0
				switch {
				case failed == want.OK:
					t.Errorf("%s: errors %v, unread %v, want ok: %v", c.About, got.failed, got.unread, want.OK)
				case want.OK && want.Lock != nil:
					if diff := cmp.Diff(constraintsOf(want.Lock), got.constraints); diff != "" {
						t.Errorf("%s: requirements (-recorded +got):\n%s", c.About, diff)
					}
				}
			})
		}
	}
}

// read reads the root module of a case by the rules of a release.
func (c releaseCase) read(t *testing.T, release string) result {
	t.Helper()
	version, err := provider.ParseVersion(release)
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Dirs: []string{"."}, Tool: provider.Terraform, ToolVersion: version, Variables: map[string]string{}, Environment: map[string]string{}}
	for name, value := range c.Env {
		opts.Environment[strings.TrimPrefix(name, "TF_VAR_")] = value
	}
	for _, step := range c.Steps {
		if _, variable, ok := strings.Cut(step, " -var "); ok {
			name, value, _ := strings.Cut(variable, "=")
			opts.Variables[name] = value
		}
	}
	modules, diags, err := scanned(t.Context(), fileTree(c.Files, nil), tagSource(c.Repo), opts)
	if err != nil || hasErrors(diags) {
		t.Fatalf("scanned: %v, %v", diags, err)
	}
	locksAlone := !slices.ContainsFunc(c.Steps, func(step string) bool { return strings.HasPrefix(step, "terraform init") })
	for i := range modules {
		if locksAlone && !modules[i].Tool.Has(provider.TestFilesInLock) {
			modules[i].Tests = ModuleTree{}
		}
	}
	return resultOf(t, modules)
}

// constraintsOf are the constraints of recorded entries.
func constraintsOf(lock map[string]string) map[string]string {
	all := map[string]string{}
	for addr, entry := range lock {
		_, all[addr], _ = strings.Cut(entry, " ")
	}
	return all
}

// tagSource has the tags of the repository of a case.
type tagSource map[string]map[string]string

func (s tagSource) Fetch(_ context.Context, _ provider.Tool, call Call) (Package, error) {
	address, tag, _ := strings.Cut(strings.TrimPrefix(call.Source, "git::file://@TREE@/repo"), "?ref=")
	if call.Source == "terraform-aws-modules/kms/aws" {
		return Package{FS: fileTree(nil, nil), Dir: ".", ID: "kms"}, nil
	}
	if s[tag] == nil {
		return Package{}, fmt.Errorf("the test has no repository for %+v", call)
	}
	dir := strings.TrimPrefix(address, "//")
	if dir == "" {
		dir = "."
	}
	return Package{FS: fileTree(s[tag], nil), Dir: dir, ID: tag}, nil
}
