package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/command"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

var (
	dirtyRounds = flag.Int("dirty", 8, "TestDirtyTreesProposeTheCommit plays so many rounds")
	dirtySeed   = flag.Uint64("dirty-seed", 1, "and this is the seed of the first one")
)

const dirtyWorld = `
-- registry/registry.terraform.io/hashicorp/null --
platforms: [linux_amd64]
versions: [3.2.2, 3.2.4, 4.0.0]
-- registry/registry.terraform.io/hashicorp/random --
platforms: [linux_amd64]
versions: [3.6.0, 3.6.1]
-- github/acme/infra/main/.github/relock.yml --
version: 1
platforms: [linux_amd64]
group-by: %[2]s
-- github/acme/infra/main/.gitignore --
/out
kept/
-- github/acme/infra/main/.gitmodules --
[submodule "vendored"]
	path = vendored
	url = https://example.com/vendored.git
-- github/acme/infra/main/vendored@commit --
%[1]s
-- github/acme/infra/main/README.md --
words
-- github/acme/infra/main/run.sh* --
words
-- github/acme/infra/main/modules/net/main.tf --
resource "random_id" "x" {}
resource "null_resource" "x" {}
-- github/acme/infra/main/shared.tf --
%[3]s
-- github/acme/infra/main/live/main.tf --
%[3]s
-- github/acme/infra/main/live/.terraform.lock.hcl --
%[4]s
-- github/acme/infra/main/prod/a/main.tf --
module "net" {
  source = "../../modules/net"
}
-- github/acme/infra/main/prod/a/.terraform.lock.hcl --
%[4]s
-- github/acme/infra/main/prod/b/main.tf@ -> ../../shared.tf --
-- github/acme/infra/main/prod/b/.terraform.lock.hcl* --
%[4]s
-- github/acme/infra/main/prod/c/main.tf --
module "net" {
  source = "../../linked"
}
-- github/acme/infra/main/prod/c/.terraform.lock.hcl --
%[4]s
-- github/acme/infra/main/linked@ -> modules/net --
-- github/acme/infra/main/kept/main.tf --
%[3]s
-- github/acme/infra/main/kept/.terraform.lock.hcl --
%[4]s
-- github/acme/infra/main/sub/main.tf --
module "net" {
  source = "../vendored/net"
}
-- github/acme/infra/main/sub/.terraform.lock.hcl --
%[4]s
-- github/acme/infra/main/unit/main.tf --
%[3]s
-- github/acme/infra/main/unit/terragrunt.hcl --
include "root" {
  path = "../root.hcl"
}
-- github/acme/infra/main/unit/.terraform.lock.hcl --
%[4]s
-- github/acme/infra/main/root.hcl --
-- github/acme/infra/main/new/main.tf --
%[3]s
`

const (
	dirtyLock  = "provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3.2.2\"\n}\n"
	dirtyTight = "terraform {\n  required_providers {\n    null = { source = \"hashicorp/null\", version = \"~> 3.2\" }\n  }\n}\n"
	dirtyLoose = "terraform {\n  required_providers {\n    null = { source = \"hashicorp/null\", version = \">= 3.2\" }\n  }\n}\n"
)

// dirtyActs are what the disk may have beside the commit, in the order in which they happen.
// The first ones use git, and need what it has checked out.
var dirtyActs = []func(d *dirtyTree){
	func(d *dirtyTree) { d.git("sparse-checkout", "set", d.dir()) },
	func(d *dirtyTree) { d.git("sparse-checkout", "set", "--sparse-index", d.dir(), "prod/b") },
	func(d *dirtyTree) { d.git("checkout", "-q", "--detach") },
	func(d *dirtyTree) { d.git("config", "core.autocrlf", "true") },
	func(d *dirtyTree) { // staged
		d.write(d.dir()+"/main.tf", dirtyLoose)
		d.write("staged/main.tf", dirtyLoose)
		d.write("staged/"+lockfile.Name, dirtyLock)
		d.git("add", "-A", "--sparse", ".")
	},
	func(d *dirtyTree) { d.git("rm", "-q", "-r", "--cached", "--sparse", d.dir()) },
	func(d *dirtyTree) { d.write("vendored/net/main.tf", dirtyLoose) },
	func(d *dirtyTree) { d.write(d.dir()+"/main.tf", dirtyLoose) },
	func(d *dirtyTree) { d.write("modules/net/main.tf", dirtyLoose) },
	func(d *dirtyTree) { d.write("shared.tf", dirtyLoose) },
	func(d *dirtyTree) { d.write(d.dir()+"/more.tf", dirtyLoose) },
	func(d *dirtyTree) {
		d.write(d.dir()+"/"+lockfile.Name, strings.Replace(dirtyLock, "3.2.2", "3.2.4", 1))
	},
	func(d *dirtyTree) { d.write(d.dir()+"/"+lockfile.Name, "<<<<<<< ours\n") },
	func(d *dirtyTree) {
		d.write(d.dir()+"/terragrunt.hcl", "terraform {\n  source = \"..//modules/net\"\n}\n")
	},
	func(d *dirtyTree) { d.write("root.hcl", "terraform {\n  copy_terraform_lock_file = false\n}\n") },
	func(d *dirtyTree) { // untracked, and ignored
		for _, dir := range []string{"untracked", "out", "prod/d", "kept/x", ".terraform/modules/x"} {
			d.write(dir+"/main.tf", dirtyLoose)
			d.write(dir+"/"+lockfile.Name, dirtyLock)
		}
	},
	func(d *dirtyTree) { d.write("new/"+lockfile.Name, dirtyLock) },
	func(d *dirtyTree) { d.write(".gitignore", "*\n") },
	func(d *dirtyTree) { d.write(".gitattributes", "* export-ignore filter=lfs text eol=crlf\n") },
	func(d *dirtyTree) { d.write(d.dir()+"/.terraform-version", "1.0.0\n") },
	func(d *dirtyTree) {
		d.write(".github/relock.yml", []string{"version: 1\nexclude: ['**']\n", "nonsense: 1\n", "version: 1\npull-request:\n  title: x\n"}[d.random.IntN(3)])
	},
	func(d *dirtyTree) { d.write("relock.yml", "version: 1\ngroup-by: provider\n") },
	func(d *dirtyTree) { d.remove(".github") },
	func(d *dirtyTree) { d.remove(d.dir()) },
	func(d *dirtyTree) { d.remove(d.dir() + "/" + lockfile.Name) },
	func(d *dirtyTree) { // a file in place of a directory, and a directory in place of a file
		dir := d.dir()
		d.remove(dir)
		d.write(dir, "words")
	},
	func(d *dirtyTree) { d.remove("shared.tf"); d.write("shared.tf/main.tf", dirtyLoose) },
	func(d *dirtyTree) { d.link("live", "linked") },
	func(d *dirtyTree) { d.link("../..", "prod/b/main.tf") },
	func(d *dirtyTree) { d.link("../prod/a", "elsewhere/prod") },
	func(d *dirtyTree) {
		dir := d.dir()
		d.link(strings.Repeat("../", strings.Count(dir, "/"))+"modules/net", dir)
	},
	func(d *dirtyTree) { d.link("main.tf", d.dir()+"/"+lockfile.Name) },
	func(d *dirtyTree) { d.remove("linked"); d.write("linked/main.tf", dirtyLoose) },
	func(d *dirtyTree) { d.chmod(d.dir()+"/main.tf", 0o755) },
	func(d *dirtyTree) { d.chmod(d.dir()+"/"+lockfile.Name, 0o200) },
	func(d *dirtyTree) { d.chmod("run.sh", 0o644) },
	func(d *dirtyTree) { // CRLF
		for _, name := range []string{"main.tf", lockfile.Name, "terragrunt.hcl"} {
			name = d.dir() + "/" + name
			if text, err := os.ReadFile(filepath.Join(d.top, name)); err == nil {
				d.write(name, strings.ReplaceAll(string(text), "\n", "\r\n"))
			}
		}
	},
	func(d *dirtyTree) {
		d.write("nested/.git/HEAD", "ref: refs/heads/main\n")
		d.write("nested/main.tf", dirtyLoose)
	},
	func(d *dirtyTree) { d.write(".git/index", "nonsense") },
	func(d *dirtyTree) { d.write(".git/info/exclude", "*\n") },
}

// dirtyTree is a clone in which something has happened.
type dirtyTree struct {
	*testing.T
	random    *rand.Rand
	top       string
	submodule string
}

// dir is a directory with a lock file.
func (d *dirtyTree) dir() string {
	all := []string{"live", "prod/a", "prod/b", "prod/c", "kept", "sub", "unit"}
	return all[d.random.IntN(len(all))]
}

// git runs git. After what went before, it may refuse.
func (d *dirtyTree) git(args ...string) {
	cmd := exec.Command("git", append([]string{"-C", d.top}, args...)...)
	cmd.Env = []string{"GIT_CONFIG_NOSYSTEM=1", "HOME=" + d.top, "PATH=" + os.Getenv("PATH")}
	said, err := cmd.CombinedOutput()
	d.Logf("git %s: %v %s", strings.Join(args, " "), err, said)
}

// write replaces a file. A path that leads through a file or out of the clone is left alone.
func (d *dirtyTree) write(name, text string) {
	at := filepath.Join(d.top, name)
	if os.MkdirAll(filepath.Dir(at), 0o755) == nil {
		err := os.WriteFile(at, []byte(text), 0o644)
		d.Logf("write %s %.40q: %v", name, text, err)
	}
}

func (d *dirtyTree) remove(name string) {
	d.Logf("remove %s: %v", name, os.RemoveAll(filepath.Join(d.top, name)))
}

func (d *dirtyTree) chmod(name string, mode os.FileMode) {
	d.Logf("chmod %o %s: %v", mode, name, os.Chmod(filepath.Join(d.top, name), mode))
}

func (d *dirtyTree) link(to, name string) {
	d.remove(name)
	_ = os.MkdirAll(filepath.Dir(filepath.Join(d.top, name)), 0o755)
	d.Logf("link %s to %s: %v", name, to, os.Symlink(filepath.FromSlash(to), filepath.Join(d.top, name)))
}

// dirtyRun is a round, apart from what is dirty.
type dirtyRun struct {
	groupBy   string
	in, args  string // the working directory, below the top, and the arguments
	actions   bool
	submodule string // on disk: recorded, another (commit), or none
}

// TestDirtyTreesProposeTheCommit holds that relock pr sends exactly the requests that it
// sends from a fresh clone, whatever else is on disk. Each round makes pull requests, and
// updates them after a commit on GitHub.
func TestDirtyTreesProposeTheCommit(t *testing.T) {
	t.Parallel()
	program(t, "git")
	var fresh sync.Map // what a fresh clone asks, by dirtyRun
	for n := range *dirtyRounds {
		seed := *dirtySeed + uint64(n)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 54))
			one := func(of ...string) string { return of[random.IntN(len(of))] }
			r := dirtyRun{groupBy: one("all", "provider", "directory"), actions: random.IntN(2) == 0, submodule: one("recorded", "another", "none")}
			r.in, r.args, _ = strings.Cut(one(":pr", ":pr", ":pr live prod/...", ":pr prod/* kept", "prod:pr", "prod:pr a ../live", "prod:pr ../..."), ":")
			got := r.play(t, random)
			if r.submodule == "another" {
				r.submodule = "none"
			}
			want, _ := fresh.LoadOrStore(r, sync.OnceValue(func() []string { return r.play(t, nil) }))
			if diff := cmp.Diff(want.(func() []string)(), got); diff != "" {
				t.Errorf("relock %s in %q, played again with -dirty 1 -dirty-seed %d (-fresh +dirty):\n%s", r.args, r.in, seed, diff)
			}
		})
	}
}

// play returns what is asked. Without random, the clones are fresh.
func (r dirtyRun) play(t *testing.T, random *rand.Rand) []string {
	t.Helper()
	home, sub := t.TempDir(), filepath.Join(t.TempDir(), "vendored")
	worktreetest.Write(t, sub, map[string]string{"net/main.tf": dirtyTight})
	box := startWorld(t, fmt.Sprintf(dirtyWorld, worktreetest.Commit(t, sub), r.groupBy, dirtyTight, dirtyLock))
	write(t, filepath.Join(home, "terraformrc"), box.CLIConfig(), 0o600)
	var mu sync.Mutex
	var all []string
	box.Before(func(q *http.Request) {
		body, err := io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		defer mu.Unlock()
		all = append(all, strings.ReplaceAll(fmt.Sprint(q.Method, " ", q.URL.RequestURI(), " ", string(body)), box.URL(), "SANDBOX"))
		if err != nil {
			all = append(all, err.Error())
		}
	})
	for step := range 2 {
		d := &dirtyTree{T: t, random: random, top: filepath.Join(t.TempDir(), "checkout"), submodule: r.submodule}
		head, err := box.GitHub().Clone("acme/infra", "main", d.top)
		check(t, err)
		if r.submodule != "none" {
			check(t, os.CopyFS(filepath.Join(d.top, "vendored"), os.DirFS(sub)))
		}
		if random != nil {
			d.act()
		}
		environ := map[string]string{
			"GITHUB_REPOSITORY": "acme/infra", "GITHUB_API_URL": strings.TrimSuffix(box.GitHubAPI(), "/"), "GITHUB_GRAPHQL_URL": box.GraphQL(),
			"GITHUB_TOKEN": sandbox.ActionsToken, "TF_CLI_CONFIG_FILE": filepath.Join(home, "terraformrc"),
		}
		if r.actions {
			environ["GITHUB_ACTIONS"], environ["GITHUB_EVENT_NAME"], environ["GITHUB_SHA"], environ["GITHUB_WORKSPACE"] = "true", "schedule", head, d.top
		}
		var said bytes.Buffer
		status := command.Main(t.Context(), command.Env{
			Args: strings.Fields(r.args), Stdout: &said, Stderr: &said, WorkDir: filepath.Join(d.top, r.in), Home: home,
			CacheDir: filepath.Join(t.TempDir(), "cache"), GOOS: runtime.GOOS, Getenv: func(name string) string { return environ[name] }, Now: time.Now(),
		})
		t.Logf("relock %s ends with %d:\n%s", r.args, status, said.String())
		all = append(all, fmt.Sprintf("run %d ends with %d", step, status))
		_, err = box.GitHub().Push("acme/infra", sandbox.Push{Branch: "main", Files: map[string]sandbox.File{
			"prod/c/main.tf": {Content: []byte(dirtyLoose)}, "README.md": {Content: []byte("more words\n")},
		}})
		check(t, err)
	}
	slices.Sort(all)
	return all
}

// act does a few of the acts.
func (d *dirtyTree) act() {
	d.git("reset", "-q", "--hard") // which makes the index git's own
	for _, act := range dirtyActs {
		if d.random.IntN(8) == 0 {
			act(d)
		}
	}
	if d.submodule == "another" {
		worktreetest.Commit(d.T, filepath.Join(d.top, "vendored"))
	}
}
