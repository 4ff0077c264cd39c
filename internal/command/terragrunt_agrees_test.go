package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/random"
)

// TestTerragruntAgrees makes a random repository with a Terragrunt unit from a
// seed, lets the real Terragrunt run init there, with an older lock file or
// without one, and compares what is locked then with what relock writes:
// providers, versions and constraints. What relock says it does not know is no
// difference, and neither is what only Terragrunt refuses: it evaluates what init
// does not depend on, too.
//
//	go test ./internal/command -run TerragruntAgrees -rounds 2000
func TestTerragruntAgrees(t *testing.T) {
	t.Parallel()
	terragrunt, err := exec.LookPath("terragrunt")
	if err != nil {
		t.Skipf("Terragrunt, the judge, is not on PATH: %v", err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("git, which Terragrunt asks for the top of the repository, is not on PATH: %v", err)
	}
	src, err := os.ReadFile("../../testdata/terragrunt/world")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"terraform", "tofu"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			bin, as := realTool(t, tool)
			offers := string(src)
			if tool == "tofu" {
				offers = onOpenTofu(offers)
			}
			c := terragruntJudge{terragrunt: terragrunt, bin: bin, as: as, world: serveText(t, offers), earlier: serveText(t, withoutNewest(offers))}
			for i := range *rounds {
				seed := *seed + uint64(i)
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					c.compare(t, seed)
				})
			}
		})
	}
}

// onOpenTofu makes the offers of the world those of OpenTofu's registry.
func onOpenTofu(world string) string {
	own := regexp.MustCompile(`(?m)^-- registry/registry\.opentofu\.org.*\n(?:[^-].*\n)*`)
	return strings.ReplaceAll(own.ReplaceAllString(world, ""), "registry.terraform.io", "registry.opentofu.org")
}

// withoutNewest makes the world one in which the newest two versions are not out.
func withoutNewest(world string) string {
	return regexp.MustCompile(`(?m)^(versions: \[.*), [^,\n]+, [^,\n]+\]$`).ReplaceAllString(world, "$1]")
}

// terragruntJudge runs Terragrunt with a tool.
type terragruntJudge struct {
	terragrunt, bin string
	as              []string // the flags by which relock is that tool
	world, earlier  *sandbox.Sandbox
}

func (j terragruntJudge) compare(t *testing.T, seed uint64) {
	u := random.NewUnits(seed)
	theirs, ours := t.TempDir(), t.TempDir()
	for _, top := range []string{theirs, ours} {
		for _, f := range u.Files {
			write(t, filepath.Join(top, filepath.FromSlash(f.Name)), f.Data)
		}
	}
	write(t, filepath.Join(ours, ".git", "HEAD"), nil)
	relock := func(world *sandbox.Sandbox, verb string) (int, string) {
		return session{home: t.TempDir()}.run(t, world, ours, append([]string{verb, "--platform", "linux_amd64", u.Unit}, j.as...)...)
	}
	if seed%2 == 0 {
		relock(j.earlier, "lock")
		if src := readLock(t, filepath.Join(ours, u.Unit)); src != "" {
			write(t, filepath.Join(theirs, u.Unit, lockfile.Name), []byte(src))
		}
	}
	verb, init := "lock", []string{"init"}
	if seed%4 > 1 {
		verb, init = "upgrade", []string{"init", "-upgrade"}
	}
	output, err := j.run(t, theirs, u.Unit, init...)
	status, said := relock(j.world, verb)
	switch {
	case err != nil:
		t.Logf("Terragrunt fails, relock ends with %d\n%s\n%s\n%s", status, said, output, u)
	case status == ExitOK:
		if diff := cmp.Diff(lockedIn(t, filepath.Join(theirs, u.Unit)), lockedIn(t, filepath.Join(ours, u.Unit))); diff != "" {
			t.Errorf("lock file (-Terragrunt +relock):\n%s\n%s\n%s\n%s", diff, said, output, u)
		}
	case strings.Contains(said, "two blocks generate the same file, in no order"):
		t.Log("relock does not know which of two blocks is the last")
	default:
		t.Errorf("relock fails, Terragrunt does not:\n%s\n%s\n%s", said, output, u)
	}
}

// run runs Terragrunt in a unit.
func (j terragruntJudge) run(t *testing.T, top, unit string, args ...string) (string, error) {
	t.Helper()
	rc := filepath.Join(t.TempDir(), "terraformrc")
	write(t, rc, []byte(j.world.CLIConfig()))
	if out, err := exec.Command("git", "-C", top, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	cmd := exec.Command(j.terragrunt, append(args, "--non-interactive", "--no-color")...)
	cmd.Dir = filepath.Join(top, unit)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TG_TF_PATH=" + j.bin, "TF_CLI_CONFIG_FILE=" + rc, "CHECKPOINT_DISABLE=1"}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
