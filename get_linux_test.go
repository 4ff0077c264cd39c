package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/module/moduletest"
)

// filesOfPackage is how many files a package has: enough to be hit while they are written.
const filesOfPackage = 200

// gotten is a root module whose locked modules are those of version 1, and are to be those of
// version 2.
type gotten struct {
	dir, home string
	environ   []string
	old, new  map[string]string // SHA-256 of the installed files, by path
}

func newGotten(t *testing.T) *gotten {
	t.Helper()
	home := t.TempDir()
	g := &gotten{dir: filepath.Join(home, "root"), home: home}
	g.environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "CHECKPOINT_DISABLE=1"}
	var commits []moduletest.Commit
	for version := range 2 {
		c := moduletest.Commit{Tag: fmt.Sprintf("v%d", version+1), Files: map[string]string{"main.tf": ""}}
		for n := range filesOfPackage {
			c.Files[fmt.Sprintf("files/%d.txt", n)] = fmt.Sprintf("file %d of version %d\n", n, version+1)
		}
		commits = append(commits, c)
	}
	repository := filepath.Join(home, "m.git")
	moduletest.Repository(t, repository, commits...)
	for i, of := range []*map[string]string{&g.old, &g.new} {
		source := fmt.Sprintf("git::file://%s?ref=v%d", repository, i+1)
		mustWrite(t, filepath.Join(g.dir, "main.tf"), fmt.Appendf(nil, "module \"a\" {\n  source = %q\n}\nmodule \"b\" {\n  source = %[1]q\n}\n", source))
		g.must(t, "relock", "lock", ".", "--module-lock", "--tool", "terraform")
		g.must(t, "relock", "get", ".", "--tool", "terraform")
		*of = g.installed(t)
	}
	if maps.Equal(g.old, g.new) {
		t.Fatal("nothing is to do")
	}
	return g
}

// begin puts the modules of version 1 in place.
func (g *gotten) begin(t *testing.T) {
	t.Helper()
	for name := range g.installed(t) {
		if g.old[name] != g.new[name] {
			mustWrite(t, filepath.Join(g.modules(), name), nil)
		}
	}
	g.old = g.installed(t)
}

func (g *gotten) modules() string { return filepath.Join(g.dir, ".terraform", "modules") }

// program is a program in the root module.
func (g *gotten) program(name string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd, out := exec.Command(name, args...), &bytes.Buffer{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.dir, g.environ, out, out
	return cmd, out
}

// get is relock get, or the program that is relock in other conditions.
func (g *gotten) get(program string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	return g.program(program, append([]string{"get", ".", "--tool", "terraform"}, args...)...)
}

// must runs a program that ends well.
func (g *gotten) must(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd, out := g.program(name, args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// installed are the files where init looks for modules, without the .git that init leaves there.
func (g *gotten) installed(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(g.modules(), func(name string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.Name() == ".git":
			return fs.SkipDir
		case err != nil || d.IsDir():
			return err
		}
		text, err := os.ReadFile(name)
		files[strings.TrimPrefix(name, g.modules()+"/")] = fmt.Sprintf("%x", sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// whole says which modules are there, and fails if they are neither the old nor the new ones.
func (g *gotten) whole(t *testing.T) string {
	t.Helper()
	switch now := g.installed(t); {
	case maps.Equal(now, g.old):
		return stateOld
	case maps.Equal(now, g.new):
		return stateNew
	default:
		t.Errorf("there are %d files, and neither the %d old nor the %d new ones", len(now), len(g.old), len(g.new))
		return ""
	}
}

// settled runs get once more: the new modules must be there, and nothing else below .terraform.
func (g *gotten) settled(t *testing.T) {
	t.Helper()
	g.must(t, "relock", "get", ".", "--tool", "terraform")
	g.must(t, "relock", "get", ".", "--tool", "terraform", "--check")
	if state := g.whole(t); state != stateNew {
		t.Errorf("the next run leaves the modules %s", state)
	}
	if left, err := os.ReadDir(filepath.Dir(g.modules())); err != nil || len(left) != 1 {
		t.Errorf("in .terraform there is %v, %v; want the modules alone", left, err)
	}
}

// forget forgets the packages.
func (g *gotten) forget(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(g.home, "cache")); err != nil {
		t.Fatal(err)
	}
}

// TestGetTwice lets two runs get the modules of one root module at once, with and without packages
// in the cache.
func TestGetTwice(t *testing.T) {
	t.Parallel()
	g := newGotten(t)
	for i := range *disturbances {
		g.begin(t)
		if i%2 == 0 {
			g.forget(t)
		}
		one, saidOne := g.get("relock")
		two, saidTwo := g.get("relock")
		for _, cmd := range []*exec.Cmd{one, two} {
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
		}
		if err := one.Wait(); err != nil {
			t.Errorf("one of two runs: %v\n%s", err, saidOne)
		}
		if state := g.whole(t); state != stateNew {
			t.Errorf("a run has ended well, and the modules are %s", state)
		}
		if err := two.Wait(); err != nil {
			t.Errorf("the other one: %v\n%s", err, saidTwo)
		}
		g.settled(t)
	}
}

// TestGetKilled kills get while it writes files. The old modules must be there, or the new ones.
func TestGetKilled(t *testing.T) {
	t.Parallel()
	g := newGotten(t)
	states := map[string]int{}
	for i := range *kills {
		random := rand.New(rand.NewPCG(*killSeed+uint64(i), 18))
		g.begin(t)
		written := random.IntN(filesOfPackage)
		cmd, _ := g.get("relock")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			watch(func() bool {
				aside, _ := filepath.Glob(g.modules() + ".relock-*/*/files/*")
				return len(aside) > written
			}, done, func() { _ = cmd.Process.Kill() }) // it may have ended
		}()
		killed := cmd.Wait() != nil
		close(done)
		states[fmt.Sprintf("%s, killed %v", g.whole(t), killed)]++
		g.settled(t)
	}
	t.Logf("modules: %v", states)
	if states[stateOld+", killed true"] == 0 {
		t.Error("no run was killed while it wrote")
	}
}

// TestGetDiskFull has a disk that takes no file of this length. The old modules stay, and the
// run says why.
func TestGetDiskFull(t *testing.T) {
	t.Parallel()
	g := newGotten(t)
	for _, cold := range []bool{false, true} {
		g.begin(t)
		if cold {
			g.forget(t)
		}
		cmd, said := g.get("cramped")
		_ = cmd.Run() // the status is looked at
		if status := cmd.ProcessState.ExitCode(); status != command.ExitFailed || !strings.Contains(said.String(), "file too large") {
			t.Errorf("with a cold cache %v, get ends with status %d:\n%s", cold, status, said)
		}
		if state := g.whole(t); state != stateOld {
			t.Errorf("the modules are %s", state)
		}
		g.settled(t)
	}
}

// TestGetBesideInit lets a person run terraform init, and get while init fetches. get ends well.
// init may miss what get has replaced, and says so. After both, the next get leaves the locked
// modules, which init then takes.
func TestGetBesideInit(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is not on PATH: this test runs init beside relock get")
	}
	g := newGotten(t)
	for _, name := range []string{"", "a/.git", "a/files/150.txt", "b/.git/HEAD", "b/files/0.txt", "modules.json"} { // by which init is seen
		g.begin(t)
		if err := os.RemoveAll(g.modules()); err != nil {
			t.Fatal(err)
		}
		theirs, saidTheirs := g.program(program, "init", "-input=false", "-backend=false")
		ours, said := g.get("relock")
		if err := theirs.Start(); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(g.modules(), name)
		watch(func() bool { _, err := os.Lstat(at); return err == nil || ended(theirs.Process.Pid) }, nil, func() {})
		if err := ours.Run(); err != nil {
			t.Errorf("get beside init at %q: %v\n%s", name, err, said)
		}
		if err := theirs.Wait(); err != nil && !strings.Contains(saidTheirs.String(), "Failed to") {
			t.Errorf("init beside get at %q: %v\n%s", name, err, saidTheirs)
		}
		g.settled(t)
		g.must(t, program, "init", "-input=false", "-backend=false")
		if state := g.whole(t); state != stateNew {
			t.Errorf("init after get leaves the modules %s", state)
		}
	}
}
