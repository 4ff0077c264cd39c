package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/command"
)

// What one hostile input may cost: a file, an archive or an answer within the
// limits on its bytes.
const (
	mostMemory = 256 << 20 // bytes
	mostOfGit  = 512 << 20 // where git lists what a server has, which relock does not bound
	mostWhole  = 96 << 20  // for a package that is written whole, however large its files are
	mostCPU    = 10 * time.Second
)

// allCosts measures every input, not only those of the worst that are quick.
var allCosts = os.Getenv("RELOCK_COSTS") == "all"

// cost is what a program took.
type cost struct {
	Memory int64 // the most that was resident, in bytes
	CPU    time.Duration
	Status int
	Output string
}

func init() { programs["measure"] = measure }

// measure is a program between the test and relock: Linux lets a child begin
// with the memory that its parent has had, and the parent of this one has tests.
// It runs another program, such as relock, and describes what that took.
func measure() {
	// Whatever goes wrong must not take the machine along.
	for limit, most := range map[int]uint64{syscall.RLIMIT_AS: 8 << 30, syscall.RLIMIT_CPU: 60} {
		if err := syscall.Setrlimit(limit, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		os.Exit(1)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	json.NewEncoder(os.Stdout).Encode(cost{
		Memory: usage.Maxrss << 10,
		CPU:    cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		Status: cmd.ProcessState.ExitCode(),
		Output: string(out[:min(len(out), 1<<16)]),
	})
}

// TestCosts holds the contract of docs/security.md: whatever a single file,
// archive or answer holds, it takes no more than so much memory and time. It
// measures the worst inputs that are quick, and all with RELOCK_COSTS=all, as .ci/run
// does.
func TestCosts(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes several times the memory and the time: .ci/run measures without it")
	}
	t.Parallel() // beside others: one child at a time is measured, by what it took itself
	for _, h := range slices.Concat(hostileInputs, hostileAnswers(), surroundings()) {
		if !allCosts && (!h.worst || slices.Contains(slow, h.name)) {
			continue
		}
		t.Run(strings.ReplaceAll(h.name, " ", "_"), func(t *testing.T) {
			c := costOf(t, h)
			t.Logf("| %s | %s | %d MB | %.1f s |", h.name, h.says, c.Memory>>20, c.CPU.Seconds())
			memory := cmp.Or(h.memory, mostMemory)
			if c.Memory > memory || c.CPU > mostCPU {
				t.Errorf("%d MB and %.1f s of CPU, want at most %d MB and %.0f s", c.Memory>>20, c.CPU.Seconds(), memory>>20, mostCPU.Seconds())
			}
			if !strings.Contains(c.Output, h.says) {
				t.Errorf("relock says\n%.1000s\nwhich lacks %q", c.Output, h.says)
			}
		})
	}
}

// costOf runs relock on a hostile input.
func costOf(t *testing.T, h hostile) cost {
	t.Helper()
	cmd := h.command(t, "measure")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("measuring: %v", err)
	}
	var c cost
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatalf("measuring: %v\n%s", err, out)
	}
	return c
}

// command is relock, or what runs it, in a repository that holds the input.
func (h hostile) command(t *testing.T, program string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, ".git", "HEAD"), nil)
	for name, text := range h.files() {
		if len(text) < 1000 { // a source address
			text = bytes.ReplaceAll(text, []byte("HERE"), []byte(dir))
		}
		mustWrite(t, filepath.Join(dir, name), text)
	}
	args := h.args
	if args == nil {
		args = []string{"scan", "."}
	}
	if program == "measure" {
		args = append([]string{cmp.Or(h.program, "relock")}, args...)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	rc := filepath.Join(t.TempDir(), "terraformrc")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TF_CLI_CONFIG_FILE=" + rc}
	var hosts []byte
	if h.answers != nil {
		var authority []byte
		var at string
		hosts, authority, at = serveHostile(t, h)
		file := filepath.Join(t.TempDir(), "authority.pem")
		mustWrite(t, file, authority)
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+file, "GIT_SSL_CAINFO="+file)
		if h.github {
			cmd.Env = append(cmd.Env, "GITHUB_TOKEN=x", "GITHUB_API_URL=https://"+at+"/api", "GITHUB_GRAPHQL_URL=https://"+at+"/api/graphql")
		}
	}
	mustWrite(t, rc, hosts)
	return cmd
}

func mustWrite(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCostsAreDocumented holds that testdata/costs.md has a row for each input, and no other.
func TestCostsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/costs.md")
	if err != nil {
		t.Fatal(err)
	}
	inputs := slices.Concat(hostileInputs, hostileAnswers(), surroundings())
	for _, h := range inputs {
		if !bytes.Contains(text, []byte("\n| "+h.name+" |")) {
			t.Errorf("testdata/costs.md has no row %q", h.name)
		}
	}
	if rows := bytes.Count(text, []byte("\n|")) - 2; rows != len(inputs) {
		t.Errorf("testdata/costs.md has %d rows, want %d", rows, len(inputs))
	}
}

func init() { programs["impatient"] = func() { work(patience{local: 50 * time.Millisecond}) } }

// TestTermination interrupts the program while it reads a string of 16 MiB, which
// no context ends and which takes many times as long as the patience of this one:
// it must give up, and not get to the end of its command.
func TestTermination(t *testing.T) {
	t.Parallel()
	long := text("locals {\n a=\"", repeat("x", largest-64), "\"\n}\n")
	cmd := hostile{files: tf(long)}.command(t, "impatient")
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for busy(t, cmd.Process.Pid) < 300*time.Millisecond { // beyond its start
		runtime.Gosched()
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the status is looked at
	if status := cmd.ProcessState.ExitCode(); status != command.ExitInterrupted || out.String() != interrupted+"\n"+abandoned+"\n" {
		t.Errorf("relock ended with status %d and says %q, want %d and %q", status, out.String(), command.ExitInterrupted, abandoned)
	}
}

// busy is how much CPU a process has taken.
func busy(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ticks, err := strconv.Atoi(fields[11])
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(ticks) * time.Second / 100
}
