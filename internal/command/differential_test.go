package command

import (
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
	rounds = flag.Int("rounds", 10, "random worlds in which TestTerraformAgrees and TestTofuAgrees compare us with the real tools")
	seed   = flag.Uint64("seed", 1, "seed of the first of them")
)

// TestTerraformAgrees makes a random configuration, lock file and registry from a
// seed, lets the real terraform run init -upgrade and providers lock, and compares the
// bytes with those of relock upgrade --exact.
//
//	go test ./internal/command -run TerraformAgrees -rounds 2000
func TestTerraformAgrees(t *testing.T) {
	t.Parallel()
	agrees(t, "terraform", *rounds, agree)
}

// TestTofuAgrees does so with the real tofu.
func TestTofuAgrees(t *testing.T) {
	t.Parallel()
	agrees(t, "tofu", *rounds, agree)
}

// agrees plays so many rounds beside a tool, each in a world of its own seed.
func agrees(t *testing.T, tool string, rounds int, agree func(t *testing.T, program string, as []string, seed uint64)) {
	program, as := realTool(t, tool)
	for i := range rounds {
		seed := *seed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			agree(t, program, as, seed)
		})
	}
}

// realTool finds a tool, with the flags by which relock is that release of it.
func realTool(t *testing.T, tool string) (program string, as []string) {
	t.Helper()
	program, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("%s is not on PATH: %v", tool, err)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("linux_amd64 is missing, the first platform of the worlds: this is another")
	}
	name := map[string]string{"terraform": "terraform", "tofu": "opentofu"}[tool]
	return program, []string{"--tool", name, "--tool-version", versionOf(t, program)}
}

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

// agree compares relock with a tool in one random world.
func agree(t *testing.T, program string, as []string, seed uint64) {
	w := random.New(seed)
	s := startRandom(t, w)
	root := filepath.Join(t.TempDir(), "repository", "root")
	writeRandom(t, w, s, root, as)

	theirs := filepath.Join(t.TempDir(), "repository")
	if err := os.CopyFS(theirs, os.DirFS(filepath.Dir(root))); err != nil {
		t.Fatal(err)
	}
	judged, output := judge(t, program, s, filepath.Join(theirs, "root"))
	args := append([]string{"upgrade", "--exact"}, as...)
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
		t.Errorf("relock succeeded: %v, the tool: %v\n%s\nrelock:\n%s\nthe tool:\n%s", got, judged, w, ours, output)
	}
	if diff := cmp.Diff(want, readLock(t, root)); diff != "" {
		t.Errorf("lock file (-tool +relock):\n%s\n%s", diff, w)
	}
}

// judgedPlatforms are locked by both; the tool runs on the first.
var judgedPlatforms = []string{"linux_amd64", "darwin_arm64"}

// judge runs the two commands and reports whether both succeeded.
func judge(t *testing.T, program string, s *sandbox.Sandbox, dir string) (bool, string) {
	t.Helper()
	lock := []string{"providers", "lock"}
	for _, p := range judgedPlatforms {
		lock = append(lock, "-platform="+p)
	}
	return runTools(t, program, s, dir, t.TempDir(), "", []string{"init", "-upgrade", "-input=false", "-no-color"}, lock)
}

// runTools runs commands until one fails, and reports whether none does.
func runTools(t *testing.T, program string, s *sandbox.Sandbox, dir, home, cli string, commands ...[]string) (bool, string) {
	t.Helper()
	said := ""
	for _, args := range commands {
		output, failed := runTool(t, program, s, dir, home, cli, args...)
		if said += output; failed {
			return false, said
		}
	}
	return true, said
}

func readLock(t *testing.T, dir string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(dir, lockfile.Name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(src)
}

// startRandom serves a world. Both tools have another registry for the same short
// addresses.
func startRandom(t *testing.T, w *random.World) *sandbox.Sandbox {
	t.Helper()
	for i, f := range w.Archive.Files {
		if strings.HasPrefix(f.Name, "registry/registry.terraform.io/") {
			w.Archive.Files[i].Data = append(f.Data, "also: [registry.opentofu.org]\n"...)
		}
	}
	world, err := sandbox.ParseWorld(&w.Archive)
	return serve(t, world, err)
}

// writeRandom lays the root module, its child and the old lock file of a tool out.
func writeRandom(t *testing.T, w *random.World, s *sandbox.Sandbox, root string, as []string) {
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
		if status, _ := runIn(t, s, root, append([]string{"upgrade", "--platform", "linux_amd64", "--platform", w.Platform, "."}, as...)...); status == ExitOK {
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
