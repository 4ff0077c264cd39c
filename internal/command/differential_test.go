package command

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/random"
)

var (
	rounds = flag.Int("rounds", 25, "random worlds in which TestTerraformAgrees compares us with the real terraform")
	seed   = flag.Uint64("seed", 1, "seed of the first of them")
)

// TestTerraformAgrees makes a random configuration, lock file and registry from
// a seed, lets the real terraform run init -upgrade and providers lock, and
// compares the bytes with those of relock upgrade --exact.
//
//	go test ./internal/command -run TerraformAgrees -rounds 2000
func TestTerraformAgrees(t *testing.T) {
	t.Parallel()
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is not on PATH")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the random worlds' first platform is linux_amd64")
	}
	version := versionOf(t, terraform)
	for i := range *rounds {
		seed := *seed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := random.New(seed)
			s := startRandom(t, w)
			root := filepath.Join(t.TempDir(), "repository", "root")
			writeRandom(t, w, s, root)

			theirs := filepath.Join(t.TempDir(), "repository")
			if err := os.CopyFS(theirs, os.DirFS(filepath.Dir(root))); err != nil {
				t.Fatal(err)
			}
			judged, output := judge(t, terraform, s, filepath.Join(theirs, "root"))
			args := []string{"upgrade", "--exact", "--tool", "terraform", "--tool-version", version}
			for _, p := range judgedPlatforms {
				args = append(args, "--platform", p)
			}
			before := readLock(t, root)
			status, ours := runIn(t, s, root, append(args, ".")...)
			want := before // what a failure of either step leaves
			if judged {
				want = readLock(t, filepath.Join(theirs, "root"))
			}
			if got := status == ExitOK; got != judged {
				t.Errorf("relock succeeded: %v, terraform: %v\n%s\nrelock:\n%s\nterraform:\n%s", got, judged, w, ours, output)
			}
			if diff := cmp.Diff(want, readLock(t, root)); diff != "" {
				t.Errorf("lock file (-terraform +relock):\n%s\n%s", diff, w)
			}
		})
	}
}

// judgedPlatforms are locked by both; terraform runs on the first.
var judgedPlatforms = []string{"linux_amd64", "darwin_arm64"}

// versionOf is what the tool says of itself: "Terraform v1.11.4".
func versionOf(t *testing.T, tool string) string {
	t.Helper()
	cmd := exec.Command(tool, "version")
	cmd.Env = []string{"CHECKPOINT_DISABLE=1"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	_, version, _ := strings.Cut(line, " v")
	return version
}

// judge runs the two commands and reports whether both succeeded.
func judge(t *testing.T, terraform string, s *sandbox.Sandbox, dir string) (bool, string) {
	t.Helper()
	rc := filepath.Join(t.TempDir(), "terraformrc")
	if err := os.WriteFile(rc, []byte(s.CLIConfig()), 0o644); err != nil {
		t.Fatal(err)
	}
	lock := []string{"providers", "lock"}
	for _, p := range judgedPlatforms {
		lock = append(lock, "-platform="+p)
	}
	var output bytes.Buffer
	for _, args := range [][]string{{"init", "-upgrade", "-input=false", "-no-color"}, lock} {
		cmd := exec.Command(terraform, args...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + rc, "CHECKPOINT_DISABLE=1", "GOGC=400"}
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Run(); err != nil {
			return false, output.String()
		}
	}
	return true, output.String()
}

func readLock(t *testing.T, dir string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(dir, lockfile.Name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(src)
}

func startRandom(t *testing.T, w *random.World) *sandbox.Sandbox {
	t.Helper()
	world, err := sandbox.ParseWorld(&w.Archive)
	return serve(t, world, err)
}

// writeRandom lays the root module, its child and the old lock file out.
func writeRandom(t *testing.T, w *random.World, s *sandbox.Sandbox, root string) {
	t.Helper()
	child := filepath.Join(filepath.Dir(root), "child")
	for _, dir := range []string{root, child} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	main := filepath.Join(root, "main.tf")
	if w.Earlier != "" {
		writeFile(t, main, w.Earlier)
		if status, _ := runIn(t, s, root, "upgrade", "--platform", "linux_amd64", "--platform", w.Platform, "."); status == ExitOK {
			writeFile(t, filepath.Join(root, lockfile.Name), w.Spoil(readLock(t, root)))
		}
	}
	writeFile(t, main, w.Root)
	writeFile(t, filepath.Join(child, "main.tf"), w.Child)
	for _, f := range w.Tests {
		name := filepath.Join(filepath.Dir(root), filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, name, string(f.Data))
	}
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
