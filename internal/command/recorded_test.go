package command

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/github"
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
	// CLI is more of the CLI configuration, and Env of the environment. @MIRROR@
	// stands for the network mirror, @WORK@ for the home directory.
	CLI string            `json:"cli"`
	Env map[string]string `json:"env"`
	// FSMirror lists the packages of a filesystem mirror in the home directory:
	// host, namespace, type, version, platform, "packed" or "unpacked".
	FSMirror [][6]string `json:"fs_mirror"`
	// KeepHosts leaves Terraform's registry in the files for OpenTofu, too.
	KeepHosts bool `json:"keep_hosts"`
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

// deviation is a recorded case that comes out otherwise here, on purpose.
// docs/decisions/deviations.md lists the same cases with the same reasons.
type deviation struct {
	reason  string
	status  int
	changed bool // the lock file is written
}

var deviations = map[string]deviation{
	"05-h1-of-other-platform-only": {
		reason: "init refuses and providers lock, which was run all the same, adds; under --exact the pair is one act",
		status: ExitFailed,
	},
	"07-constraint-change-init-only":   {reason: "init does not write constraints alone; relock does", changed: true},
	"07b-unsorted-counts-as-change":    {reason: "init takes another order of the hashes for a change; relock compares sets"},
	"25-platform-missing":              {reason: "init's half stays where providers lock fails; under --exact the pair is one act", status: ExitFailed},
	"26b-zip-dir-entries-h1-only-lock": {reason: "the tool cannot install again what it wrote itself; relock accepts both forms of h1", changed: true},
	"66-state-only-provider":           {reason: "relock reads no state", changed: true},
	"80e-packages-wrong-other-h1/tofu": {reason: "an h1 whose zh is in no checksum list is not believed", status: ExitFailed},
}

// notRun are recorded commands for which no call stands.
var notRun = map[string]string{
	"65-readonly-new-hash":        "relock has no read-only mode but check",
	"65c-readonly-upgrade":        "relock has no read-only mode but check",
	"69b-plugin-cache-may-break":  "relock installs nothing, so that there is no cache of packages to break a lock file",
	"81c-migrate-other-namespace": "plain init: relock has no such mode",
}

// TestDeviationsAreListed holds that docs/decisions/deviations.md has a row for each case that comes out otherwise or is not run.
func TestDeviationsAreListed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/decisions/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d[\w, ]*) \|`).FindAllStringSubmatch(string(page), -1) {
		for number := range strings.SplitSeq(row[1], ", ") {
			listed[number] = true
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(deviations)), slices.Collect(maps.Keys(notRun))) {
		if number, _, _ := strings.Cut(name, "-"); !listed[number] {
			t.Errorf("docs/decisions/deviations.md has no row for case %s, which is %s", number, name)
		}
	}
}

// TestRecordedLocks runs what stands for the recorded commands and compares the
// lock file with the recorded one, byte for byte.
func TestRecordedLocks(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("../../testdata/lock/*/case.json")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	for _, file := range cases {
		dir := filepath.Dir(file)
		var recorded recordedCase
		decode(t, file, &recorded)
		for _, judge := range judges {
			exits, judged := recorded.Exit[judge.name]
			if _, skipped := notRun[filepath.Base(dir)]; skipped || !judged {
				continue
			}
			t.Run(filepath.Base(dir)+"/"+judge.name, func(t *testing.T) {
				t.Parallel()
				files, err := sandbox.RecordedCase(dir)
				if err != nil {
					t.Fatal(err)
				}
				registry, err := sandbox.ParseRecorded(files)
				world := serve(t, registry, err)
				root := recordedRoot(t, files, judge.tool, recorded.KeepHosts)
				home := recordedHome(t, files, recorded, judge.tool)
				requests := authorizations(world)
				args := standIn(t, recorded.Steps, home)
				args = append(args, "--tool", string(judge.tool), "--tool-version", judge.version, ".")
				before := readLock(t, root)
				status, stderr := recorded.session(world, home).run(t, world, root, args...)
				checkRequests(t, filepath.Join(dir, "expected", judge.name+".requests.txt"), requests())
				after := readLock(t, root)

				d, ok := deviations[filepath.Base(dir)]
				if !ok {
					d, ok = deviations[filepath.Base(dir)+"/"+judge.name]
				}
				if ok {
					if status != d.status || (after != before) != d.changed {
						t.Errorf("status %d, changed %v, want %d, %v (%s)\n%s", status, after != before, d.status, d.changed, d.reason, stderr)
					}
					return
				}
				if failed := exits[len(exits)-1] != 0; (status == ExitFailed) != failed {
					t.Errorf("relock %s: status %d, recorded %v (%s)\n%s", strings.Join(args, " "), status, exits, recorded.About, stderr)
				}
				want, err := os.ReadFile(filepath.Join(dir, "expected", judge.name+".lock.hcl"))
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), after); diff != "" {
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

// recordedRoot lays the case's files out. For OpenTofu its own registry stands
// in place of Terraform's everywhere, as it did when the case was recorded.
func recordedRoot(t *testing.T, files fs.FS, tool provider.ToolName, keepHosts bool) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	config, err := fs.Sub(files, "config")
	if err == nil {
		err = os.CopyFS(root, config)
	}
	if err != nil {
		t.Fatal(err)
	}
	old, err := fs.ReadFile(files, "old.lock.hcl")
	if err == nil {
		err = os.WriteFile(filepath.Join(root, lockfile.Name), old, 0o644)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if tool == provider.Terraform || keepHosts {
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
		return os.WriteFile(name, []byte(asOpenTofu(string(src))), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func asOpenTofu(s string) string {
	return strings.ReplaceAll(s, "registry.terraform.io", "registry.opentofu.org")
}

// recordedHome lays out the home directory, with the filesystem mirror in it.
func recordedHome(t *testing.T, files fs.FS, recorded recordedCase, tool provider.ToolName) string {
	t.Helper()
	home := t.TempDir()
	for _, p := range recorded.FSMirror {
		src, err := fs.ReadFile(files, path.Join("packages", strings.Join(p[:5], "_")+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		host := p[0]
		if tool == provider.OpenTofu {
			host = asOpenTofu(host)
		}
		base := filepath.Join(home, "mirror", host, p[1], p[2])
		if p[5] == "unpacked" {
			unpack(t, filepath.Join(base, p[3], p[4]), src)
			continue
		}
		write(t, filepath.Join(base, "terraform-provider-"+p[2]+"_"+p[3]+"_"+p[4]+".zip"), src)
	}
	return home
}

func write(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o755); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, dir string, archive []byte) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
}

// session is the world of the case's operator. The recorded configuration names
// the port that the mirror had.
func (r recordedCase) session(s *sandbox.Sandbox, home string) session {
	mirror := strings.TrimPrefix(s.Mirror(), "https://")
	host, _, _ := strings.Cut(mirror, "/")
	cli := strings.NewReplacer("@MIRROR@", s.Mirror(), "@WORK@", home, "127.0.0.1:8702", host).Replace(r.CLI)
	return session{cli: cli, env: r.Env, home: home}
}

// authorizations notes which requests come with which credentials. Paths are
// others than in the recordings, where each case had its own, but for their
// ends.
func authorizations(s *sandbox.Sandbox) func() []string {
	var mu sync.Mutex
	seen := map[string]bool{}
	s.Before(func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[fmt.Sprintf("%s auth=%q", path.Base(r.URL.Path), r.Header.Get("Authorization"))] = true
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(maps.Keys(seen))
	}
}

// checkRequests compares with the recorded requests, where they are the point.
// Some releases of Terraform ask for the head of a file first.
func checkRequests(t *testing.T, name string, got []string) {
	t.Helper()
	src, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(src)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "GET "); ok {
			want = append(want, path.Base(rest))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests and their credentials (-recorded +ours):\n%s", diff)
	}
}

var platformFlag = regexp.MustCompile(`-platform=(\S+)`)

// standIn returns the call that stands for the recorded commands. What a shell
// did before is done in the home directory.
func standIn(t *testing.T, steps []string, home string) []string {
	t.Helper()
	for strings.HasPrefix(steps[0], "!") {
		shell(t, strings.TrimPrefix(steps[0], "!"), home)
		steps = steps[1:]
	}
	var args []string
	for _, step := range steps {
		switch {
		case step == "init -input=false" && len(steps) > 1: // plain init changes nothing that later steps would not
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

func shell(t *testing.T, command, home string) {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	cmd := exec.CommandContext(t.Context(), sh, "-c", command)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// runIn runs the program in a directory against a sandbox. It returns the exit
// status and what was said.
func runIn(t testing.TB, s *sandbox.Sandbox, dir string, args ...string) (int, string) {
	t.Helper()
	return session{home: t.TempDir()}.run(t, s, dir, args...)
}

// session is an operator's configuration beside the hosts of a sandbox.
type session struct {
	cli   string // more of the CLI configuration
	env   map[string]string
	home  string
	cache string // where relock keeps what it remembers; empty: nowhere
	width int    // of the terminal; 0: there is none
	// clock is that of limits of GitHub.
	clock github.Clock
	dial  func(ctx context.Context, network, hostport string) (net.Conn, error)
	// readers is how many repositories of an organisation are read at once.
	readers int
}

// run runs relock, and returns its status and all that it says.
func (o session) run(t testing.TB, s *sandbox.Sandbox, dir string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	return o.runTo(t, s, dir, &out, &out, args...), out.String()
}

// runTo runs relock, and returns its status.
func (o session) runTo(t testing.TB, s *sandbox.Sandbox, dir string, stdout, stderr io.Writer, args ...string) int {
	t.Helper()
	rc := filepath.Join(t.TempDir(), "terraformrc")
	if err := os.WriteFile(rc, []byte(s.CLIConfig()+o.cli), 0o644); err != nil {
		t.Fatal(err)
	}
	// The machine's own plugin directories must not matter.
	env := map[string]string{"TF_CLI_CONFIG_FILE": rc, "XDG_DATA_DIRS": filepath.Join(o.home, "none")}
	maps.Copy(env, o.env)
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	return Main(t.Context(), Env{
		Args: args, Stdout: stdout, Stderr: stderr, WorkDir: dir, Home: o.home, CacheDir: o.cache, Width: o.width, GOOS: "linux", Build: Build{Version: "test"},
		Getenv: func(name string) string { return env[name] }, Environ: environ, Clock: o.clock, Dial: o.dial, Now: time.Now(), readers: o.readers,
	})
}
