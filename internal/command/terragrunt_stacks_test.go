package command

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/sandbox"
)

// stackCase is what a real Terragrunt did with stacks: see testdata/terragrunt-stacks/README.md.
type stackCase struct {
	terragruntCase
	Steps        [][]string                   `json:"steps"`
	Want         *stackWant                   `json:"want"`
	Environments map[string]map[string]string `json:"environments"`
	Wants        map[string]*stackWant        `json:"by_environment"`
	Unterminated []string                     `json:"unterminated"`
}

// stackWant is what was seen in one environment.
type stackWant struct {
	OK    bool `json:"ok"`
	Units []struct {
		Path      string            `json:"path"`
		Providers map[string]string `json:"providers"` // version and constraints
	} `json:"units"`
}

// stacksOfAll are the units of cases where all environments of the case are named at once.
var stacksOfAll = map[string][]string{
	"stack-get-env-in-unit": {"live/.terragrunt-stack/a: hashicorp/random ~> 3.4.0, ~> 3.6.0"},
	"stack-get-env-path":    {"live/.terragrunt-stack/production/app: hashicorp/random ~> 3.5.0", "live/.terragrunt-stack/staging/app: hashicorp/random ~> 3.4.0"},
}

// stackDeviations are recorded cases that come out otherwise here, each with its reason: the
// units that there are, and the exit status of a scan.
var stackDeviations = map[string]struct {
	reason string
	status int
	units  []string // with their providers and constraints
}{
	"stack-cas-off":               {"flags of the command line are not known: there is a store", 0, []string{"live/.terragrunt-stack/svc/.terragrunt-stack/app: hashicorp/random ~> 3.4.0"}},
	"stack-catalogue-beside":      {"what a stack file names as a source is what stacks are made of, wherever Terragrunt is run", 0, []string{".terragrunt-stack/app: hashicorp/random ~> 3.5.0"}},
	"stack-git-bad-ref":           {"what could not be fetched is known in part", 0, nil},
	"stack-lock-clean":            {"the tree before the steps has a stack", 0, []string{"live/.terragrunt-stack/app: hashicorp/random ~> 3.5", "live/b: hashicorp/random ~> 3.5"}},
	"stack-expansion":             {"an experiment is known in part, with its name", 0, []string{"live/.terragrunt-stack/a: hashicorp/random ~> 3.4.0"}},
	"stack-get-env-required":      {"the environment is not read: what the stack generates is known in part", 0, []string{"live/.terragrunt-stack/b: hashicorp/random ~> 3.4.0"}},
	"stack-lock-both-no-generate": {"flags of the command line are not known: each run generates", 0, []string{"live/.terragrunt-stack/app: hashicorp/random ~> 3.5", "units/app: hashicorp/random ~> 3.5"}},
	"stack-lock-catalogue-two-values": {"what is wrong with the lock file is for an upgrade to say", 0, []string{
		"live/.terragrunt-stack/a: hashicorp/random ~> 3.5.0", "live/.terragrunt-stack/b: hashicorp/random ~> 3.6.0", "units/v: hashicorp/random ~> 3.5.0, ~> 3.6.0",
	}},
	"stack-lock-catalogue-removed": {"the tree before the steps has the lock file", 0, []string{"live/.terragrunt-stack/app: hashicorp/random ~> 3.5", "units/app: hashicorp/random ~> 3.5"}},
	"stack-generate-only":          {"what init would require is known without init", 0, []string{"live/.terragrunt-stack/app: hashicorp/random ~> 3.5.0"}},
	"stack-single-init":            {"only one unit was run", 0, []string{"live/.terragrunt-stack/app: hashicorp/random ~> 3.5.0", "live/.terragrunt-stack/net: hashicorp/tls >= 4.0.0, < 5.0.0"}},
	"stack-stale-unit":             {"what no stack generates counts below .terragrunt-stack if its lock file is committed", 0, []string{"live/.terragrunt-stack/app: hashicorp/random ~> 3.5.0"}},
}

// TestTerragruntStacks compares what is required of the units of recorded stacks with what
// Terragrunt's init has locked for them, and holds that nothing is written below what stacks
// generate. Values of the environment that it ran in are in settings, as a set of values.
func TestTerragruntStacks(t *testing.T) {
	t.Parallel()
	// TestEnvironmentCases plays the others.
	eachTerragruntCase(t, "../../testdata/terragrunt-stacks/stack-*.txtar", 76, slices.Collect(maps.Keys(stackDeviations)), replayStack)
}

// replayStack scans one case, with each environment by itself and then with all.
func replayStack(t *testing.T, world *sandbox.Sandbox, name string, ar *txtar.Archive) {
	recorded := stackCaseOf(t, ar)
	if recorded.Want != nil {
		sets := map[string]map[string]string{}
		if recorded.Env != nil {
			sets["only"] = recorded.Env
		}
		recorded.replay(t, world, name, ar, sets)
		return
	}
	for set, env := range recorded.Environments {
		recorded.Want = recorded.Wants[set]
		recorded.replay(t, world, name, ar, map[string]map[string]string{set: env})
	}
	root, o := recorded.lay(t, ar, recorded.Environments)
	if _, got, out := recorded.scan(t, world, root, o); !slices.Equal(got, stacksOfAll[name]) {
		t.Errorf("with all: %q, want %q\n%s", got, stacksOfAll[name], out)
	}
}

// stackCaseOf is the case of a file.
func stackCaseOf(t *testing.T, ar *txtar.Archive) (recorded stackCase) {
	t.Helper()
	for _, f := range ar.Files {
		if f.Name == "case.json" {
			if err := json.Unmarshal(f.Data, &recorded); err != nil {
				t.Fatal(err)
			}
		}
	}
	return recorded
}

// lay makes the files of a case, with sets of values in settings.
func (recorded stackCase) lay(t *testing.T, ar *txtar.Archive, sets map[string]map[string]string) (root string, o session) {
	t.Helper()
	root = t.TempDir()
	write(t, filepath.Join(root, ".git", "HEAD"), nil)
	for _, f := range ar.Files {
		if at, isTree := strings.CutPrefix(f.Name, "tree/"); isTree {
			write(t, filepath.Join(root, at), f.Data)
		}
	}
	for _, at := range recorded.Unterminated {
		src, err := os.ReadFile(filepath.Join(root, at))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(root, at), bytes.TrimSuffix(src, []byte("\n")))
	}
	recorded.makeRepositories(t, root)
	o = session{home: t.TempDir()}
	if len(sets) > 0 {
		o.env = configure(t, root, sets)
	}
	return root, o
}

// tool are the flags for the tool of a case.
func (recorded stackCase) tool() []string {
	return []string{"--tool", map[string]string{"terraform": "terraform", "tofu": "opentofu"}[recorded.Tool], "--tool-version", map[string]string{"terraform": "1.11.4", "tofu": "1.12.6"}[recorded.Tool]}
}

// scan returns the units that are found.
func (recorded stackCase) scan(t *testing.T, world *sandbox.Sandbox, root string, o session) (status int, units []string, out string) {
	t.Helper()
	status, out = o.run(t, world, root, append([]string{"scan", "--create", "--format", "json"}, recorded.tool()...)...)
	return status, scannedUnits(t, out), out
}

// replay compares one case, where sets of values are named.
func (recorded stackCase) replay(t *testing.T, world *sandbox.Sandbox, name string, ar *txtar.Archive, sets map[string]map[string]string) {
	t.Helper()
	root, o := recorded.lay(t, ar, sets)
	tool := recorded.tool()
	status, got, out := recorded.scan(t, world, root, o)
	var want []string
	wantStatus := ExitOK
	if d, ok := stackDeviations[name]; ok {
		want, wantStatus = d.units, d.status
	} else {
		if !recorded.Want.OK {
			wantStatus = ExitFailed
		}
		want = recorded.units()
	}
	got = slices.DeleteFunc(got, func(line string) bool { return strings.HasPrefix(line, "_refs/") || strings.HasPrefix(line, "repos/") })
	if _, deviates := stackDeviations[name]; !deviates {
		got = slices.DeleteFunc(got, func(line string) bool { // Terragrunt was not run in what stacks are made of
			unit, _, _ := strings.Cut(line, ":")
			return !strings.Contains(unit, ".terragrunt-stack") && !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(w, unit+":") })
		})
	}
	if diff := cmp.Diff(slices.Concat([]string{}, want), slices.Concat([]string{}, got)); diff != "" || status != wantStatus {
		t.Errorf("scan (-want +got), status %d, want %d:\n%s\n%s", status, wantStatus, diff, out)
	}

	before := lockFilesIn(t, root)
	_, out = o.run(t, world, root, append([]string{"upgrade", "--create", "--platform", "linux_amd64"}, tool...)...)
	after := lockFilesIn(t, root)
	for at := range after {
		if before[at] == "" && !slices.ContainsFunc(slices.Collect(maps.Keys(before)), func(b string) bool { return b == at }) && strings.Contains(at, "/.terragrunt-stack/") {
			t.Errorf("a lock file is created below .terragrunt-stack: %s\n%s", at, out)
		}
	}
	if _, deviates := stackDeviations[name]; deviates || !recorded.Want.OK || !recorded.upgrading() {
		return
	}
	// A lock file that git keeps beside a generated unit is an ordinary one.
	for _, u := range recorded.Want.Units {
		if len(u.Providers) == 0 {
			continue
		}
		write(t, filepath.Join(root, u.Path, lockfile.Name), []byte("# a lock file\n"))
		status, out := o.run(t, world, root, append([]string{"upgrade", "--platform", "linux_amd64", u.Path}, tool...)...)
		var want []string
		for addr, entry := range u.Providers {
			want = append(want, addr+" "+entry)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, lockedIn(t, filepath.Join(root, u.Path))); diff != "" {
			t.Errorf("%s: lock file (-recorded +ours):\n%s\nstatus %d\n%s", u.Path, diff, status, out)
		}
	}
}

// upgrading reports whether the last step was an init that upgrades.
func (c stackCase) upgrading() bool { return slices.Contains(c.Steps[len(c.Steps)-1], "-upgrade") }

// units are those that Terragrunt has locked, with their providers and constraints.
func (c stackCase) units() []string {
	var lines []string
	for _, u := range c.Want.Units {
		if len(u.Providers) == 0 {
			continue
		}
		var all []string
		for addr, entry := range u.Providers {
			_, constraints, _ := strings.Cut(entry, " ")
			all = append(all, strings.TrimSpace(shortAddr(addr)+" "+constraints))
		}
		slices.Sort(all)
		lines = append(lines, u.Path+": "+strings.Join(all, "; "))
	}
	return lines
}

// shortAddr is the address of a provider without its registry.
func shortAddr(addr string) string {
	_, short, _ := strings.Cut(addr, "/")
	return short
}

// scannedUnits are the root modules of a scan, with their providers and constraints.
func scannedUnits(t *testing.T, out string) []string {
	t.Helper()
	var report struct {
		Modules []struct {
			Dir          string `json:"dir"`
			Requirements []struct {
				Provider    string `json:"provider"`
				Constraints string `json:"constraints"`
			} `json:"requirements"`
		} `json:"modules"`
	}
	if err := json.NewDecoder(strings.NewReader(out[max(strings.Index(out, "{"), 0):])).Decode(&report); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	var lines []string
	for _, m := range report.Modules {
		var all []string
		for _, r := range m.Requirements {
			all = append(all, strings.TrimSpace(shortAddr(r.Provider)+" "+r.Constraints))
		}
		if len(all) > 0 {
			lines = append(lines, m.Dir+": "+strings.Join(all, "; "))
		}
	}
	return lines
}

// lockFilesIn are the lock files of a tree, by their paths.
func lockFilesIn(t *testing.T, root string) map[string]string {
	t.Helper()
	locks := map[string]string{}
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err == nil && lockfile.Is(name) {
			rel, _ := filepath.Rel(root, name)
			locks["/"+filepath.ToSlash(rel)] = readLock(t, filepath.Dir(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return locks
}
