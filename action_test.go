//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/relock-dev/relock/internal/action"
)

// runner plays the part of a runner that the action's step sees: a shell, tools,
// an environment with nothing else in it, and inputs. What the step is, action.yml
// says.
type runner struct {
	shell  string   // path of the program that is sh there
	tools  []string // other programs on PATH, as NAME or NAME=PATH
	source string   // checkout of the action; empty: this one
	sums   string   // content of install/checksums.txt in a copy of it; empty: no copy
	env    []string // NAME=VALUE, besides what every step has
	dir    string   // working directory; empty: a new one
	path   string   // what PATH begins with; empty: nothing but the tools
}

// outcome is how a step ended.
type outcome struct {
	status, pid int
	out         string
}

// step runs the action's step with these inputs.
func (r runner) step(t *testing.T, with map[string]string) outcome {
	t.Helper()
	action, top := actionFile(t), t.TempDir()
	posix := action.Runs.Steps[0]
	path := filepath.Join(top, "bin")
	mkdir(t, path)
	for _, tool := range append([]string{"sh=" + r.shell}, r.tools...) {
		name, target, _ := strings.Cut(tool, "=")
		if target == "" {
			target = program(t, name)
		}
		if err := os.Symlink(target, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	source, err := filepath.Abs(r.source)
	if err != nil {
		t.Fatal(err)
	}
	if r.sums != "" {
		source = copyOfAction(t, r.sums)
	}
	if r.dir == "" {
		r.dir = t.TempDir()
	}
	temp := filepath.Join(top, "temp of runner")
	mkdir(t, temp)
	script := filepath.Join(top, "step.sh")
	write(t, script, posix.Run, 0o644)
	cmd := exec.Command(filepath.Join(path, "sh"), "-e", script) // as runners do for shell: sh
	cmd.Dir = r.dir
	if r.path != "" {
		path = r.path + ":" + path
	}
	cmd.Env = append([]string{"PATH=" + path, "RUNNER_TEMP=" + temp, "GITHUB_ACTION_PATH=" + source}, r.env...)
	for name, value := range posix.Env {
		cmd.Env = append(cmd.Env, name+"="+action.evaluate(t, value, with))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), cmd.ProcessState.Pid(), out.String()}
}

// evaluate is what an expression of the step's environment stands for.
func (a actionYAML) evaluate(t *testing.T, expression string, with map[string]string) string {
	t.Helper()
	name, ok := strings.CutPrefix(expression, "${{ inputs.")
	name, closed := strings.CutSuffix(name, " }}")
	input, declared := a.Inputs[name]
	if !ok || !closed || !declared {
		t.Fatalf("the step's environment has %q, want ${{ inputs.NAME }} of an input", expression)
	}
	if value, ok := with[name]; ok {
		return value
	}
	if strings.Contains(input.Default, "${{") {
		return "" // a workflow's token, which tests give themselves
	}
	return input.Default
}

// copyOfAction is a checkout of the action at a release with such checksums.
func copyOfAction(t *testing.T, sums string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "action of relock")
	mkdir(t, filepath.Join(dir, "install"))
	script, err := os.ReadFile("install/relock.sh")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "install", "relock.sh"), string(script), 0o644)
	write(t, filepath.Join(dir, "install", "checksums.txt"), sums, 0o644)
	return dir
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	// A process that starts while the file is open for writing has it open, too. Until it
	// closes it, the program cannot be run: "text file busy" [https://go.dev/issue/22315].
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not here", name)
	}
	return path
}

// shells are those that a job may have for sh: Debian's, Alpine's, and macOS's.
var shells = []string{"dash", "busybox", "bash"}

// stand stands for relock: it says who it is and what it was given.
const stand = `#!/bin/sh
echo "program $* is process $$"
printf 'providers=<%s>\n' "$INPUT_PROVIDERS"
printf 'app-id=<%s>\n' "$INPUT_APP_ID"
exit 7
`

// release is a server with the archive of a release, which it may spoil.
type release struct {
	mu      sync.Mutex // the steps are other processes: nothing else orders what is asked and what is read
	archive []byte
	sums    string
	asked   []string
	spoil   func(try int, w http.ResponseWriter) (done bool)
}

const releaseVersion = "1.2.3-rc.1"

func newRelease(t *testing.T) (*release, string) {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	files := tar.NewWriter(zip)
	for _, f := range []struct{ name, text string }{{"LICENSE", "free"}, {"relock", stand}} {
		header := &tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.text))}
		if err := files.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(f.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	r := &release{archive: packed.Bytes()}
	r.sums = checksumLine("windows_amd64.zip", nil) + checksumLine(runtime.GOOS+"_"+runtime.GOARCH+".tar.gz", r.archive)
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return r, s.URL
}

func checksumLine(of string, content []byte) string {
	return fmt.Sprintf("%x  relock_%s_%s\n", sha256.Sum256(content), releaseVersion, of)
}

func (r *release) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.asked = append(r.asked, req.URL.Path)
	asked := len(r.asked)
	r.mu.Unlock()
	name := fmt.Sprintf("/copy/v%s/relock_%[1]s_%s_%s.tar.gz", releaseVersion, runtime.GOOS, runtime.GOARCH)
	switch {
	case req.URL.Path != name:
		http.NotFound(w, req)
	case r.spoil == nil || !r.spoil(asked, w):
		_, _ = w.Write(r.archive)
	}
}

// half promises the archive and breaks off.
func (r *release) half(w http.ResponseWriter) bool {
	w.Header().Set("Content-Length", strconv.Itoa(len(r.archive)))
	_, _ = w.Write(r.archive[:len(r.archive)/2])
	panic(http.ErrAbortHandler)
}

func without(tools []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(tools), func(tool string) bool {
		name, _, _ := strings.Cut(tool, "=")
		return slices.Contains(names, name)
	})
}

// TestActionStep runs the step of action.yml in every shell, with an environment
// that has nothing but what a runner gives.
func TestActionStep(t *testing.T) {
	t.Parallel()
	const noGo = "there is no Go to build it with. Use a release, like relock-dev/relock@v1; or run actions/setup-go before; or name a program with the input binary"
	tests := []struct {
		name    string
		missing []string // tools
		sums    func(r *release) string
		spoil   func(r *release) func(int, http.ResponseWriter) bool
		url     string // below the server's
		with    map[string]string
		status  int
		want    string
		asked   int
	}{
		{name: "right checksum", status: 7, want: "program action is process ", asked: 1},
		{name: "wget alone", missing: []string{"curl"}, status: 7, want: "program action is process ", asked: 1},
		{name: "shasum alone", missing: []string{"sha256sum"}, status: 7, want: "program action is process ", asked: 1},
		{
			name: "spaces and quotes", status: 7, asked: 1,
			with: map[string]string{"providers": "a b \"c\" 'd' $(touch pwned) `touch pwned` \\\n::error::x", "app-id": "it's"},
			want: "providers=<a b \"c\" 'd' $(touch pwned) `touch pwned` \\\n::error::x>\napp-id=<it's>",
		},
		{
			name: "wrong checksum", status: 1, asked: 1,
			sums: func(*release) string {
				return checksumLine(runtime.GOOS+"_"+runtime.GOARCH+".tar.gz", []byte("another file"))
			},
			want: "is not the file of this release: its checksum is ",
		},
		{
			name: "half a download", status: 1, asked: 2, want: "cannot be downloaded",
			spoil: func(r *release) func(int, http.ResponseWriter) bool {
				return func(_ int, w http.ResponseWriter) bool { return r.half(w) }
			},
		},
		{
			name: "half a download, then a whole one", status: 7, asked: 2, want: "program action is process ",
			spoil: func(r *release) func(int, http.ResponseWriter) bool {
				return func(try int, w http.ResponseWriter) bool { return try == 1 && r.half(w) }
			},
		},
		{
			name: "an error page that says 200", status: 1, asked: 1, want: "is not the file of this release",
			spoil: func(*release) func(int, http.ResponseWriter) bool {
				return func(_ int, w http.ResponseWriter) bool {
					fmt.Fprint(w, "<html>log in</html>")
					return true
				}
			},
		},
		{name: "404", url: "/elsewhere?token=s3cret", status: 1, asked: 2, want: "cannot be downloaded"},
		{name: "404 by wget", url: "/elsewhere", missing: []string{"curl"}, status: 1, asked: 2, want: "cannot be downloaded"},
		{name: "nothing to download with", missing: []string{"curl", "wget"}, status: 1, want: "neither curl nor wget is here"},
		{name: "nothing to check with", missing: []string{"sha256sum", "shasum"}, status: 1, asked: 1, want: "neither sha256sum nor shasum is here"},
		{
			name: "a list without a last line end", status: 7, want: "program action is process ", asked: 1,
			sums: func(r *release) string { return strings.TrimSuffix(r.sums, "\n") },
		},
		{
			name: "an address that is an option", status: 1, with: map[string]string{"download-url": "--config=/dev/stdin"},
			want: "the input download-url is no address that begins with https:// or http://",
		},
		{name: "an address with a pattern", url: "/{a,b}/[1-9]", status: 1, asked: 2, want: "cannot be downloaded"},
		{name: "no release, no Go", sums: func(*release) string { return "\n" }, status: 1, want: noGo},
		{
			name: "no release for this machine, no Go", status: 1, want: noGo,
			sums: func(*release) string { return checksumLine("plan9_mips.tar.gz", nil) },
		},
		{name: "binary that is none", with: map[string]string{"binary": "./no\n::error::such"}, status: 1, want: "the input binary names no program that can be run here"},
	}
	for _, shell := range shells {
		for _, tt := range tests {
			t.Run(shell+"/"+strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				r := runner{shell: program(t, shell), tools: toolsOf(t, shell)}
				if shell == "busybox" && len(tt.missing) > 0 && builtin(t, tt.missing[0]) {
					t.Skipf("this busybox has %s without a file", tt.missing[0])
				}
				r.tools = without(r.tools, tt.missing...)
				served, url := newRelease(t)
				if r.sums = served.sums; tt.sums != nil {
					r.sums = tt.sums(served)
				}
				if tt.spoil != nil {
					served.spoil = tt.spoil(served)
				}
				if tt.url == "" {
					tt.url = "/copy/"
				}
				r.env = []string{"RELOCK_OF_A_STRANGER=1"}
				with := map[string]string{"download-url": url + tt.url}
				for name, value := range tt.with {
					with[name] = value
				}
				r.dir = t.TempDir()
				got := r.step(t, with)
				if got.status != tt.status || !strings.Contains(got.out, tt.want) {
					t.Errorf("the step ends with %d and says\n%s\nwant %d and %q", got.status, got.out, tt.status, tt.want)
				}
				served.mu.Lock()
				defer served.mu.Unlock()
				if len(served.asked) != tt.asked {
					t.Errorf("%d requests %q, want %d", len(served.asked), served.asked, tt.asked)
				}
				if tt.status == 7 && !strings.Contains(got.out, fmt.Sprintf("is process %d\n", got.pid)) {
					t.Errorf("the program is not the runner's process %d, so that a cancelled job would not reach it:\n%s", got.pid, got.out)
				}
				if tt.status == 1 && !strings.Contains(got.out, "::error title=relock::") {
					t.Errorf("the failure is not shown beside the run:\n%s", got.out)
				}
				if strings.Contains(got.out, "s3cret") {
					t.Errorf("an address's query is shown:\n%s", got.out)
				}
				if left, err := os.ReadDir(r.dir); err != nil || len(left) > 0 {
					t.Errorf("the step leaves %v in the workspace, %v", left, err)
				}
			})
		}
	}
}

// toolsOf are the programs beside a shell: those of this machine, but with busybox
// its own, as in an Alpine container.
func toolsOf(t *testing.T, shell string) []string {
	t.Helper()
	names := []string{"uname", "mktemp", "tar", "gzip", "sha256sum", "shasum", "curl", "wget"}
	if shell != "busybox" {
		// perl runs shasum
		return append(names, "perl")
	}
	busybox := program(t, "busybox")
	own := []string{"curl", "shasum", "perl"}
	for _, name := range names {
		if !slices.Contains(own, name) {
			own = append(own, name+"="+busybox)
		}
	}
	return own
}

// builtin reports whether busybox's shell finds a tool where no PATH leads to it.
func builtin(t *testing.T, tool string) bool {
	t.Helper()
	cmd := exec.Command(program(t, "busybox"), "sh", "-c", "command -v "+tool)
	cmd.Env = []string{"PATH=" + t.TempDir()}
	return cmd.Run() == nil
}

// TestActionStepRunsANamedProgram is for runners without a way to the releases. A program
// in the workspace may be a pull request's, unless the event is one of the base's.
func TestActionStepRunsANamedProgram(t *testing.T) {
	t.Parallel()
	const inWorkspace = "the input binary names a program in the workspace, where a pull request could put another"
	const none = "the input binary names no program that can be run here"
	tests := []struct {
		name, event, binary, path string // path: what PATH begins with
		want                      string // empty: it runs
	}{
		{"of_the_workspace", "schedule", "./my relock", "", ""},
		{"of_the_workspace_by_hand", "workflow_dispatch", "./my relock", "", ""},
		{"of_the_workspace_from_outside", "repository_dispatch", "./my relock", "", ""},
		{"of_the_workspace_on_a_push", "push", "./my relock", "", ""},
		{"of_the_workspace_for_a_comment", "issue_comment", "./my relock", "", ""},
		{"of_a_head", "pull_request", "./my relock", "", inWorkspace},
		{"of_a_head_by_its_path", "pull_request", "WORKSPACE/my relock", "", inWorkspace},
		{"of_a_head_by_a_way_round", "pull_request", "OUTSIDE/../WORKSPACE/sub/../my relock", "", inWorkspace},
		{"of_a_head_by_a_link", "pull_request", "OUTSIDE/link", "", inWorkspace},
		{"of_a_head_by_a_linked_folder", "pull_request", "OUTSIDE/folder/my relock", "", inWorkspace},
		{"of_a_head_by_PATH", "pull_request", "my relock", "WORKSPACE", inWorkspace},
		{"of_a_head_by_a_relative_PATH", "pull_request", "my relock", ".", inWorkspace},
		{"of_a_queue", "merge_group", "./my relock", "", inWorkspace},
		{"of_nobody_knows_whom", "discussion", "./my relock", "", inWorkspace},
		{"without_an_event", "", "./my relock", "", inWorkspace},
		{"of_the_runner", "pull_request", "OUTSIDE/my relock", "", ""},
		{"of_the_runner_by_PATH", "pull_request", "my relock", "OUTSIDE", ""},
		{"of_the_runner_by_a_link_in_a_head", "pull_request", "./out", "", ""},
		{"a_directory", "schedule", "./sub", "", "the input binary names a directory; name the program in it"},
		{"no_program", "schedule", "./text", "", none},
		{"a_builtin", "schedule", "eval", "", none},
		{"an_option", "schedule", "-v", "", none},
	}
	for _, shell := range shells {
		for _, tt := range tests {
			t.Run(shell+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				top := t.TempDir()
				workspace, outside := filepath.Join(top, "work space"), filepath.Join(top, "outside")
				mkdir(t, filepath.Join(workspace, "sub"))
				mkdir(t, outside)
				write(t, filepath.Join(workspace, "my relock"), stand, 0o755)
				write(t, filepath.Join(outside, "my relock"), stand, 0o755)
				write(t, filepath.Join(workspace, "text"), stand, 0o644)
				for name, to := range map[string]string{
					filepath.Join(outside, "link"): "../work space/my relock", filepath.Join(outside, "folder"): workspace,
					filepath.Join(workspace, "out"): filepath.Join(outside, "my relock"),
				} {
					if err := os.Symlink(to, name); err != nil {
						t.Fatal(err)
					}
				}
				placed := strings.NewReplacer("/../WORKSPACE", "/../work space", "WORKSPACE", workspace, "OUTSIDE", outside)
				r := runner{shell: program(t, shell), tools: []string{"readlink"}, dir: workspace, path: placed.Replace(tt.path)}
				if shell == "busybox" {
					r.tools = []string{"readlink=" + r.shell}
				}
				r.env = []string{"GITHUB_WORKSPACE=" + workspace, "GITHUB_EVENT_NAME=" + tt.event, "CDPATH=" + outside}
				got := r.step(t, map[string]string{"binary": placed.Replace(tt.binary), "app-id": "7"})
				if tt.want != "" && (got.status != 1 || !strings.Contains(got.out, tt.want) || strings.Contains(got.out, "program action")) {
					t.Errorf("the step ends with %d and says\n%s\nwant %q and no program", got.status, got.out, tt.want)
				}
				if tt.want == "" && (got.status != 7 || !strings.Contains(got.out, fmt.Sprintf("program action is process %d\n", got.pid)) || !strings.Contains(got.out, "app-id=<7>")) {
					t.Errorf("the step ends with %d and says\n%s", got.status, got.out)
				}
			})
		}
	}
}

// TestScriptsKnowTheBasesEvents compares the lists of the two scripts, of which one runs
// on Windows alone, with what the program believes.
func TestScriptsKnowTheBasesEvents(t *testing.T) {
	t.Parallel()
	want := "'schedule workflow_dispatch repository_dispatch push issue_comment'"
	for _, name := range []string{"install/relock.sh", "install/relock.ps1"} {
		if !strings.Contains(content(t, name), want) {
			t.Errorf("%s has not the list %s", name, want)
		}
	}
	for event := range strings.FieldsSeq(strings.Trim(want, "'")) {
		getenv := func(name string) string {
			return map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event}[name]
		}
		if head, _ := action.New(getenv, io.Discard).Head(); head {
			t.Errorf("the program takes the checkout on %s for a head", event)
		}
	}
}

var wholeProgram = flag.Bool("link", false, "TestActionStepBuildsWhereThereIsNoRelease: build relock, which takes seconds, in place of a few lines")

// TestActionStepBuildsWhereThereIsNoRelease is the action on main, where the list
// of checksums is empty. The settings of Go are those of the workflow's own code.
func TestActionStepBuildsWhereThereIsNoRelease(t *testing.T) {
	t.Parallel()
	source, want := copyOfAction(t, ""), "this is action"
	write(t, filepath.Join(source, "go.mod"), "module relock.example\n\ngo 1.26\n", 0o644)
	write(t, filepath.Join(source, "main.go"), "package main\n\nimport \"os\"\n\nfunc main() {\n\tprintln(\"this is\", os.Args[1])\n\tos.Exit(2)\n}\n", 0o644)
	if *wholeProgram {
		// Without GITHUB_ACTIONS the program says so, and that it was reached.
		source, want = "", "action runs as a step of a GitHub workflow"
	}
	list, err := os.ReadFile("install/checksums.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) > 0 {
		t.Skip("this commit has a release")
	}
	out, err := exec.Command(program(t, "go"), "env", "GOCACHE", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Fields(string(out))
	got := runner{
		shell:  program(t, "sh"),
		tools:  append(toolsOf(t, "sh"), "go="+filepath.Join(env[2], "bin", "go")),
		source: source,
		env:    []string{"GOCACHE=" + env[0], "GOMODCACHE=" + env[1], "GOFLAGS=-mod=vendor -toolexec=/gone", "GOPROXY=off"},
	}.step(t, nil)
	if got.status != 2 || !strings.Contains(got.out, want) {
		t.Errorf("the step ends with %d and says\n%s", got.status, got.out)
	}
}
