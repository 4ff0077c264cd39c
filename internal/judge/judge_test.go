package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/sandbox"
)

// plant is the variable that makes the test binary relock, with a mistake.
const plant = "JUDGE_PLANT"

func TestMain(m *testing.M) {
	if mistake, ok := os.LookupEnv(plant); ok {
		os.Exit(mistaken(mistake))
	}
	replays = 2 // what is planted is no chance
	os.Exit(m.Run())
}

// mistaken is relock that does one thing otherwise, when it upgrades.
func mistaken(mistake string) int {
	var stdout, stderr bytes.Buffer
	dir, _ := os.Getwd()
	status := command.Main(context.Background(), command.Env{
		Args: os.Args[1:], Stdout: &stdout, Stderr: &stderr, WorkDir: dir, Home: os.Getenv("HOME"), GOOS: runtime.GOOS,
		Getenv: os.Getenv, Environ: os.Environ(), Now: time.Now(),
	})
	said, told := stdout.String(), stderr.String()
	if os.Args[1] == "upgrade" {
		switch mistake {
		case "bytes":
			name := filepath.Join("root", ".terraform.lock.hcl")
			text, _ := os.ReadFile(name)
			os.WriteFile(name, append(text, '\n'), 0o644)
		case "lost":
			os.Remove(filepath.Join("root", ".terraform.lock.hcl"))
		case "another file":
			os.WriteFile("left", nil, 0o644)
		case "json":
			said = strings.Replace(said, "minor", "major", 1)
		case "order":
			said = strings.Replace(said, `"requests"`, `"questions"`, 1)
		case "talk":
			told += "hello\n"
		case "status":
			status = 3
		case "requests":
			if res, err := http.Get(os.Getenv("SANDBOX") + "/registry.terraform.io/v1/providers/hashicorp/alpha/versions"); err == nil {
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		case "memory":
			said = strings.Replace(said, `"peak_bytes": `, `"peak_bytes": 1`, 1)
		}
	}
	io.WriteString(os.Stdout, said)
	io.WriteString(os.Stderr, told)
	return status
}

// A mistake in the bytes of a lock file, in what is said, in the status or in the
// requests is seen, and nothing is seen where there is none.
func TestJudgeIsNotBlind(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	build := func(mistake string) program { return program{self, []string{plant + "=" + mistake}} }
	const alpha = "terraform {\n  required_providers {\n    alpha = {\n      source = \"hashicorp/alpha\"\n    }\n  }\n}\n"
	const lock = "provider \"registry.terraform.io/hashicorp/alpha\" {\n  version = \"1.0.0\"\n  hashes  = [\"h1:old\"]\n}\n"
	w := world{
		name: "planted",
		offer: func() (*sandbox.World, error) {
			return sandbox.ParseWorld(txtar.Parse([]byte("-- registry/registry.terraform.io/hashicorp/alpha --\nversions: [1.0.0, 1.1.0]\n")))
		},
		steps: []step{
			{write: map[string]string{"root/main.tf": alpha, "root/.terraform.lock.hcl": lock}, args: []string{"scan", "--format", "json", "."}},
			{args: []string{"upgrade", "--platform", "linux_amd64", "--format", "json", "."}},
		},
	}
	for mistake, want := range map[string]string{
		"none":         "",
		"memory":       "", // no program uses twice the same
		"bytes":        "file root/.terraform.lock.hcl",
		"lost":         "file root/.terraform.lock.hcl",
		"another file": "file left",
		"json":         "standard output",
		"order":        "standard output",
		"talk":         "standard error",
		"status":       "status 3, was 0",
		"requests":     "requests, 9, were 8",
	} {
		t.Run(mistake, func(t *testing.T) {
			t.Parallel()
			verdicts, err := compare(t.Context(), build("none"), build(mistake), []world{w}, t.TempDir(), 1)
			if err != nil {
				t.Fatal(err)
			}
			v := verdicts[0]
			if want == "" && v.difference != "" || !strings.Contains(v.difference, want) {
				t.Errorf("the difference is\n%s\nwant %q", v.difference, want)
			}
			if want != "" && !strings.HasPrefix(v.difference, "relock upgrade ") {
				t.Errorf("the difference does not begin with the call:\n%s", v.difference)
			}
			if v.calls != 2 || v.requests != 8 {
				t.Errorf("%d calls, %d requests, want 2 and 8", v.calls, v.requests)
			}
			var out strings.Builder
			status := tell(&out, verdicts, time.Second)
			if (status == exitDiffers) != (want != "") {
				t.Errorf("status %d:\n%s", status, out.String())
			}
			if lines := strings.Count(out.String(), "\n"); want == "" && lines != 1 {
				t.Errorf("%d lines are said of nothing", lines)
			}
		})
	}
}

// A judge that ignores output misses what is said, and nothing else.
func TestDeafJudge(t *testing.T) {
	t.Parallel()
	one := outcome{status: 0, stdout: "a", stderr: []string{"b\n"}, requests: []string{"GET /a"}, files: map[string]string{"f": "1"}}
	for what, change := range map[string]struct {
		change func(*outcome)
		heard  bool
	}{
		"output":   {func(o *outcome) { o.stdout = "c" }, false},
		"errors":   {func(o *outcome) { o.stderr = nil }, false},
		"status":   {func(o *outcome) { o.status = 1 }, true},
		"requests": {func(o *outcome) { o.requests = nil }, true},
		"files":    {func(o *outcome) { o.files = nil }, true},
	} {
		t.Run(what, func(t *testing.T) {
			other := one
			change.change(&other)
			if got := one.ignoreOutput().difference(other.ignoreOutput()); (got != "") != change.heard {
				t.Errorf("a judge that ignores output says %q", got)
			}
			if one.difference(other) == "" {
				t.Error("the other judge hears nothing")
			}
		})
	}
}

// Two commits of a repository, and what is not committed, are three programs.
func TestJudgeBuildsCommits(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on PATH: this test builds commits of a repository with it")
	}
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if _, err := execute(t.Context(), dir, "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	says := func(word string) {
		t.Helper()
		text := fmt.Sprintf("package main\n\nfunc main() { println(%q) }\n", word)
		for name, text := range map[string]string{"main.go": text, "go.mod": "module example.com/x\n\ngo 1.26\n"} {
			if err := write(filepath.Join(dir, name), text); err != nil {
				t.Fatal(err)
			}
		}
	}
	git("init", "-q")
	for _, word := range []string{"first", "second"} {
		says(word)
		git("add", ".")
		git("commit", "-q", "-m", word)
	}
	says("third")
	for head, want := range map[string]string{"HEAD": "second", "": "third"} {
		base, other, err := builds(t.Context(), dir, t.TempDir(), options{base: "HEAD~1", head: head})
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{base.path: "first", other.path: want} {
			if out, err := exec.Command(path).CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
				t.Errorf("the program of %q says %q, %v, want %q", head, out, err, want)
			}
		}
	}
	if out, err := execute(t.Context(), dir, "git", "worktree", "list"); err != nil || strings.Count(out, "\n") != 1 {
		t.Errorf("worktrees are left: %s, %v", out, err)
	}
	if _, _, err := builds(t.Context(), dir, t.TempDir(), options{base: "none"}); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("a commit that is not there: %v", err)
	}
}

// Every kind of world can be served, and the generated ones have what they are
// for: mirrors, OCI, test files, evaluated sources and faults.
func TestWorlds(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-corpus", t.TempDir(), "HEAD"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := allWorlds("../..", o); err == nil {
		t.Error("a corpus without lock files is no error")
	}
	requirements, err := requirementWorlds("../scan/testdata/cases.json")
	if err != nil || len(requirements) != 26 {
		t.Errorf("%d worlds of requirements, %v, want 26", len(requirements), err)
	}
	locks, err := lockWorlds("../../testdata/lock")
	if err != nil || len(locks) < 2*79 {
		t.Errorf("%d worlds of lock files, %v, want 158 at least", len(locks), err)
	}
	kinds := map[string]int{}
	for _, w := range generatedWorlds(200) {
		if _, err := w.offer(); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		text, err := json.Marshal(w.steps[1].write)
		if err != nil {
			t.Fatal(err)
		}
		for kind, has := range map[string]bool{
			"network mirror": strings.Contains(w.cli, "network_mirror"), "directory": strings.Contains(w.cli, "filesystem_mirror"),
			"OCI mirror": strings.Contains(w.cli, "oci_mirror"), "tests": strings.Contains(string(text), "test.hcl"),
			"evaluated": strings.Contains(string(text), "= var.") || strings.Contains(string(text), "${local"), "fault": len(w.faults) > 0,
			"module": strings.Contains(string(text), `module \"more\"`), "link": len(w.links) > 0,
		} {
			if has {
				kinds[kind]++
			}
		}
	}
	for _, kind := range []string{"network mirror", "directory", "OCI mirror", "tests", "evaluated", "fault", "module", "link"} {
		if kinds[kind] < 8 {
			t.Errorf("%d worlds of 200 have a %s", kinds[kind], kind)
		}
	}
}
