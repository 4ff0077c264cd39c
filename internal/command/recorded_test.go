package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox"
)

// recordedCase is a case.json beside what the real tools did: see
// testdata/lock/README.md.
type recordedCase struct {
	About string   `json:"about"`
	Steps []string `json:"steps"`
	Exit  map[string][]int
}

// judges are the releases with which the cases were recorded.
var judges = []struct {
	name    string
	tool    provider.ToolName
	version string
}{
	{"terraform", provider.Terraform, "1.11.4"},
	{"tofu", provider.OpenTofu, "1.12.6"},
}

// TestRecordedLocks runs what stands for the recorded commands and compares the
// lock file with the recorded one, byte for byte.
func TestRecordedLocks(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("../../testdata/lock/*/case.json")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	for _, name := range cases {
		dir := filepath.Dir(name)
		for _, judge := range judges {
			t.Run(filepath.Base(dir)+"/"+judge.name, func(t *testing.T) {
				t.Parallel()
				var recorded recordedCase
				decode(t, name, &recorded)
				world := recordedWorld(t, dir)
				root := recordedRoot(t, dir, judge.tool)
				args := standIn(t, recorded.Steps)
				args = append(args, "--tool", string(judge.tool), "--tool-version", judge.version, ".")
				status, stderr := runIn(t, world, root, args...)

				want, err := os.ReadFile(filepath.Join(dir, "expected", judge.name+".lock.hcl"))
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				failed := recorded.Exit[judge.name][len(recorded.Exit[judge.name])-1] != 0
				if (status == ExitFailed) != failed {
					t.Errorf("relock %s: status %d, recorded %v (%s)\n%s", strings.Join(args, " "), status, recorded.Exit[judge.name], recorded.About, stderr)
				}
				got, err := os.ReadFile(filepath.Join(root, lockfile.Name))
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), string(got)); diff != "" {
					t.Errorf("%s: lock file (-recorded +ours):\n%s", recorded.About, diff)
				}
			})
		}
	}
}

func decode(t *testing.T, name string, v any) {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(src, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func recordedWorld(t *testing.T, dir string) *sandbox.Sandbox {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(dir, "registry.json"))
	if err != nil {
		t.Fatal(err)
	}
	world, err := sandbox.ParseRecorded(src, os.DirFS(filepath.Join(dir, "packages")))
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.Start(world)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// recordedRoot lays the case's files out. For OpenTofu its own registry stands
// in place of Terraform's everywhere, as it did when the case was recorded.
func recordedRoot(t *testing.T, dir string, tool provider.ToolName) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	if err := os.CopyFS(root, os.DirFS(filepath.Join(dir, "config"))); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(filepath.Join(dir, "old.lock.hcl"))
	if err == nil {
		err = os.WriteFile(filepath.Join(root, lockfile.Name), old, 0o644)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if tool == provider.Terraform {
		return root
	}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		src = bytes.ReplaceAll(src, []byte("registry.terraform.io"), []byte("registry.opentofu.org"))
		return os.WriteFile(name, src, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

var platformFlag = regexp.MustCompile(`-platform=(\S+)`)

// standIn returns the call that stands for the recorded commands.
func standIn(t *testing.T, steps []string) []string {
	t.Helper()
	var args []string
	for _, step := range steps {
		switch {
		case strings.HasPrefix(step, "init -upgrade") && len(steps) == 1:
			return []string{"upgrade", "--platform", "linux_amd64"}
		case strings.HasPrefix(step, "init -upgrade"):
			args = []string{"upgrade", "--exact", "--platform", "linux_amd64"}
		case strings.HasPrefix(step, "providers lock"):
			if args == nil {
				args = []string{"lock", "--exact"}
			}
			for _, m := range platformFlag.FindAllStringSubmatch(step, -1) {
				args = append(args, "--platform", m[1])
			}
		default:
			t.Fatalf("no call stands for %q", step)
		}
	}
	return args
}

// runIn runs the program in a directory against a sandbox. It returns the exit
// status and what was said.
func runIn(t *testing.T, s *sandbox.Sandbox, dir string, args ...string) (int, string) {
	t.Helper()
	rc := filepath.Join(t.TempDir(), "terraformrc")
	if err := os.WriteFile(rc, []byte(s.CLIConfig()), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	status := Main(t.Context(), Env{
		Args: args, Stdout: &out, Stderr: &out, WorkDir: dir, Home: t.TempDir(), GOOS: "linux", Version: "test",
		Getenv: func(name string) string {
			if name == "TF_CLI_CONFIG_FILE" {
				return rc
			}
			return ""
		},
	})
	return status, out.String()
}
