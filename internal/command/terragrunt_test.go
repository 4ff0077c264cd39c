package command

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/sandbox"
)

// terragruntCase is what a real Terragrunt did: see testdata/terragrunt/README.md.
type terragruntCase struct {
	Unit     string            `json:"unit"`
	Units    []string          `json:"units"`
	Command  []string          `json:"command"`
	Tool     string            `json:"tool"`
	NoTFPath bool              `json:"no_tf_path"`
	Env      map[string]string `json:"env"`
	OK       bool              `json:"ok"`
	upgrades bool              // extra_arguments have init upgrade
	Repos    []struct {
		Path string
		Refs []struct{ Kind, Name, From string }
	} `json:"repos"`
}

// terragruntDeviations are recorded cases that come out otherwise here, each with
// its reason and what the unit's lock file holds then; none where it has none.
var terragruntDeviations = map[string]struct {
	reason string
	locks  []string
}{
	"args-lockfile-readonly-complete": {"what is passed to init is not read: naming the unit asks for its lock file", []string{"registry.terraform.io/hashicorp/random 3.5.0 ~> 3.5.0"}},
	"feature-flag":                    {"flags of the command line are not known: the default holds, and is told", []string{"registry.terraform.io/hashicorp/random 3.5.0 ~> 3.5.0"}},
	"fn-get-env-set":                  {"the environment is not read: the default holds, and is told", []string{"registry.terraform.io/hashicorp/random 3.5.0 ~> 3.5.0"}},
	"fn-run-cmd":                      {"not statically known", nil},
	"fn-sops":                         {"only what init sees is evaluated, which no secret bears on", []string{"registry.terraform.io/hashicorp/random 3.5.0 ~> 3.5.0"}},
	"hook-writes-file":                {"a hook may write files: without a lock file nothing stands in for what it adds", nil},
	"json-root":                       {"an included file in JSON is read as what it is", []string{"registry.terraform.io/hashicorp/random 3.5.0 ~> 3.5.0"}},
	"source-cli":                      {"the environment is not read: the source that is written holds", []string{"registry.terraform.io/hashicorp/random 3.5.0 ~> 3.5.0"}},
	"source-conditional-env":          {"not statically known", nil},
	"tofu-lock-hosts":                 {"lock keeps entries that nothing requires, as providers lock does; upgrade drops them", []string{"registry.opentofu.org/hashicorp/random 3.5.0 ~> 3.5", "registry.terraform.io/hashicorp/random 3.5.0 ~> 3.5"}},
}

// TestTerragruntCases runs what stands for the recorded commands and compares the
// lock files with the recorded ones: providers, versions and constraints.
func TestTerragruntCases(t *testing.T) {
	t.Parallel()
	eachTerragruntCase(t, "../../testdata/terragrunt/*.txtar", 82, slices.Collect(maps.Keys(terragruntDeviations)), replayTerragrunt)
}

// eachTerragruntCase plays the recorded cases of a pattern side by side, so many as there are,
// with the registry that they were recorded with. The deviations must be among them.
func eachTerragruntCase(t *testing.T, pattern string, count int, deviations []string, play func(t *testing.T, world *sandbox.Sandbox, name string, ar *txtar.Archive)) {
	t.Helper()
	offers, err := os.ReadFile("../../testdata/terragrunt/world")
	if err != nil {
		t.Fatal(err)
	}
	world := serveText(t, string(offers))
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) != count {
		t.Fatalf("%d recorded cases, %v, want %d", len(files), err, count)
	}
	for _, name := range deviations {
		if !slices.Contains(files, filepath.Join(filepath.Dir(pattern), name+".txtar")) {
			t.Errorf("there is no case %s", name)
		}
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			play(t, world, name, ar)
		})
	}
}

// replayTerragrunt runs one case.
func replayTerragrunt(t *testing.T, world *sandbox.Sandbox, name string, ar *txtar.Archive) {
	t.Helper()
	root := t.TempDir()
	var recorded terragruntCase
	want := map[string][]string{}
	archives := map[string][]txtar.File{}
	write(t, filepath.Join(root, ".git", "HEAD"), nil)
	for _, f := range ar.Files {
		if unit, ok := strings.CutPrefix(f.Name, "want/"); ok {
			want[filepath.Dir(unit)] = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
			continue
		}
		at, isTree := strings.CutPrefix(f.Name, "tree/")
		archive, member, packed := strings.Cut(at, "!")
		switch {
		case packed:
			archives[archive] = append(archives[archive], txtar.File{Name: member, Data: f.Data})
		case isTree:
			write(t, filepath.Join(root, at), f.Data)
			recorded.upgrades = recorded.upgrades || bytes.Contains(f.Data, []byte(`["-upgrade"]`))
		default:
			if err := json.Unmarshal(f.Data, &recorded); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, members := range archives {
		write(t, filepath.Join(root, name), tarball(t, members))
	}
	recorded.makeRepositories(t, root)
	d, deviates := terragruntDeviations[name]
	for _, unit := range slices.Compact(append([]string{recorded.Unit}, recorded.Units...)) {
		before := readLock(t, filepath.Join(root, unit))
		status, stderr := session{env: recorded.Env, home: t.TempDir()}.run(t, world, root, recorded.standIn(unit)...)
		got, wanted := lockedIn(t, filepath.Join(root, unit)), want[unit]
		if deviates {
			if diff := cmp.Diff(d.locks, got); diff != "" {
				t.Errorf("%s: lock file (-deviation, since %s; +ours):\n%s\n%s", unit, d.reason, diff, stderr)
			}
			continue
		}
		if !recorded.OK && (status != ExitFailed || readLock(t, filepath.Join(root, unit)) != before) {
			t.Errorf("%s: status %d, and a lock file:\n%s\nwant a failure that changes none\n%s", unit, status, strings.Join(got, "\n"), stderr)
		}
		if diff := cmp.Diff(wanted, got); recorded.OK && diff != "" {
			t.Errorf("%s: lock file (-recorded +ours):\n%s\nstatus %d\n%s", unit, diff, status, stderr)
		}
	}
}

// standIn is the call that stands for the recorded command.
func (c terragruntCase) standIn(unit string) []string {
	args := []string{"lock", "--platform", "linux_amd64"}
	if slices.Contains(c.Command, "-upgrade") || c.upgrades {
		args[0] = "upgrade"
	}
	versions := map[string]string{"terraform": "1.11.4", "tofu": "1.12.6"}
	if !c.NoTFPath {
		tool := map[string]string{"terraform": "terraform", "tofu": "opentofu"}[c.Tool]
		args = append(args, "--tool", tool, "--tool-version", versions[c.Tool])
	}
	return append(args, unit)
}

// makeRepositories makes git repositories in the tree: for each ref a commit.
func (c terragruntCase) makeRepositories(t *testing.T, root string) {
	t.Helper()
	for _, r := range c.Repos {
		if _, err := exec.LookPath("git"); err != nil {
			t.Skipf("git is not on PATH, and the case has modules in git repositories: %v", err)
		}
		dir := filepath.Join(root, r.Path)
		git := func(args ...string) {
			cmd := exec.Command("git", args...)
			cmd.Dir = dir
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		git("init", "-q", "-b", "main")
		for _, ref := range r.Refs {
			git("rm", "-rqf", "--ignore-unmatch", ".")
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, ref.From))); err != nil {
				t.Fatal(err)
			}
			git("add", "-A")
			git("commit", "-qm", ref.Name)
			git(ref.Kind, ref.Name)
		}
	}
}

func tarball(t *testing.T, files []txtar.File) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	for _, f := range files {
		if err := tw.WriteHeader(&tar.Header{Name: f.Name, Mode: 0o644, Size: int64(len(f.Data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(f.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// lockedIn are the entries of the lock file in a directory, a line each.
func lockedIn(t *testing.T, dir string) []string {
	t.Helper()
	src := readLock(t, dir)
	if src == "" {
		return nil
	}
	f, diags := lockfile.Read([]byte(src), lockfile.Name, nil)
	if f == nil {
		t.Fatal(diags)
	}
	lines := map[string]bool{}
	for _, l := range f.Locks {
		lines[strings.TrimSpace(fmt.Sprintf("%s %s %s", l.Addr, l.Version, l.Constraints))] = true
	}
	return slices.Sorted(maps.Keys(lines))
}
