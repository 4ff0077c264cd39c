package command

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/modulelock"
)

// What a person has reviewed, and what is there instead later.
const (
	reviewed = "output \"who\" {\n  value = \"reviewed\"\n}\n"
	evil     = "output \"who\" {\n  value = \"evil\"\n}\n"
)

// attacked is a checkout whose module is locked at the first of two commits.
type attacked struct {
	*checkout
	repository, first, second string
}

func newAttacked(t *testing.T) *attacked {
	t.Helper()
	a := &attacked{repository: filepath.Join(t.TempDir(), "m.git")}
	ids := moduletest.Repository(t, a.repository,
		moduletest.Commit{Tag: "v1", Files: map[string]string{"main.tf": reviewed}},
		moduletest.Commit{Tag: "v2", Files: map[string]string{"main.tf": evil}})
	a.first, a.second = ids[0], ids[1]
	a.checkout = newCheckout(t, moduletest.NewSources(t, recordedModules), map[string]moduletest.CaseFile{
		"main.tf":             {Text: "module \"m\" {\n  source = \"git::file://" + a.repository + "?ref=v1\"\n}\n"},
		".terraform-version":  {Text: "1.11.4\n"},
		".terraform.lock.hcl": {},
	})
	a.want(t, ExitOK, "", "lock", ".", "--module-lock")
	a.cache = t.TempDir() // deployments run elsewhere
	return a
}

func (a *attacked) git(t *testing.T, args ...string) { moduletest.Git(t, a.repository, nil, args...) }

// installs fails unless the module is what was reviewed.
func (a *attacked) installs(t *testing.T) {
	t.Helper()
	if text, err := os.ReadFile(a.modules("m/main.tf")); err != nil || string(text) != reviewed {
		t.Errorf("installed is %q, %v; want what was reviewed", text, err)
	}
}

// installsNothing fails if a module is there.
func (a *attacked) installsNothing(t *testing.T) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(a.dir, ".terraform")); err == nil {
		t.Error("something is installed")
	}
}

// TestGetAfterATagMoved moves a tag between the merge and the deployment.
func TestGetAfterATagMoved(t *testing.T) {
	t.Parallel()
	a := newAttacked(t)
	a.want(t, ExitOK, "", "verify", ".")
	a.git(t, "tag", "-f", "v1", a.second)
	a.want(t, ExitOK, "written", "get", ".")
	a.installs(t)
	a.want(t, ExitOK, "the locked ones", "get", ".", "--check")
	a.want(t, ExitFinding, "module-moved", "verify", ".", "--verbose")
}

// TestGetFromARepositoryTakenOver gets a module whose repository somebody has made anew.
func TestGetFromARepositoryTakenOver(t *testing.T) {
	t.Parallel()
	a := newAttacked(t)
	if err := os.RemoveAll(a.repository); err != nil {
		t.Fatal(err)
	}
	moduletest.Repository(t, a.repository, moduletest.Commit{Tag: "v1", Files: map[string]string{"main.tf": evil}})
	a.want(t, ExitFailed, a.first, "get", ".")
	a.installsNothing(t)
}

// TestGetCommitOfAFork gets a commit that only a pull request has, as somebody wrote it into the file.
func TestGetCommitOfAFork(t *testing.T) {
	t.Parallel()
	a := newAttacked(t)
	foreign := moduletest.Git(t, a.repository, nil, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit-tree", "-m", "x", "-p", "v1", "v2^{tree}")
	a.git(t, "update-ref", "refs/pull/7/head", foreign)
	a.relock(t, a.first, foreign)
	a.want(t, ExitFailed, "no branch and no tag", "get", ".")
	a.installsNothing(t)
}

// relock changes the lock file of modules by hand.
func (a *attacked) relock(t *testing.T, old, now string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(a.dir, modulelock.Name))
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %s, %v", text, old, err)
	}
	a.write(t, modulelock.Name, strings.ReplaceAll(string(text), old, now))
}

// TestGetWhileARegistryLies gets a version that the registry now says is in another repository.
// What is locked names the repository, so the registry is not asked.
func TestGetWhileARegistryLies(t *testing.T) {
	t.Parallel()
	a := newAttacked(t)
	other := filepath.Join(t.TempDir(), "evil.git")
	moduletest.Repository(t, other, moduletest.Commit{Tag: "v1", Files: map[string]string{"main.tf": evil}})
	var location atomic.Value
	location.Store("git::file://" + a.repository + "?ref=v1")
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.HasSuffix(r.URL.Path, "/versions") {
			io.WriteString(w, `{"modules": [{"versions": [{"version": "1.0.0"}]}]}`)
			return
		}
		w.Header().Set("X-Terraform-Get", location.Load().(string))
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	cli := filepath.Join(t.TempDir(), "cli.tfrc")
	writeOrFail(t, cli, "host \"mods.example\" {\n  services = {\n    \"modules.v1\" = \""+s.URL+"/\"\n  }\n}\n")
	a.env["TF_CLI_CONFIG_FILE"] = cli
	a.write(t, "main.tf", called("m", "mods.example/acme/m/aws", "1.0.0"))
	a.want(t, ExitOK, "", "lock", ".")
	location.Store("git::file://" + other + "?ref=v1")
	a.cache = t.TempDir()
	asked.Store(0)
	a.want(t, ExitOK, "written", "get", ".")
	a.installs(t)
	if n := asked.Load(); n > 0 {
		t.Errorf("the registry was asked %d times", n)
	}
	a.want(t, ExitFinding, "module-moved", "verify", ".", "--verbose")
}

// TestGetOtherBytes gets an archive in whose place a server has another one.
func TestGetOtherBytes(t *testing.T) {
	t.Parallel()
	a := newAttacked(t)
	var text atomic.Value
	text.Store(reviewed)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(tarOf(t, text.Load().(string))) }))
	t.Cleanup(s.Close)
	cli := filepath.Join(t.TempDir(), "cli.tfrc")
	writeOrFail(t, cli, "host \""+s.Listener.Addr().String()+"\" {}\n")
	a.env["TF_CLI_CONFIG_FILE"] = cli
	a.write(t, "main.tf", called("m", s.URL+"/m.tar.gz", ""))
	a.want(t, ExitOK, "", "lock", ".")
	a.cache = t.TempDir()
	a.want(t, ExitOK, "written", "get", ".")
	a.installs(t)
	a.cache = t.TempDir()
	text.Store(evil)
	list, err := os.ReadFile(filepath.Join(a.dir, modulelock.Name))
	if err != nil {
		t.Fatal(err)
	}
	locked := regexp.MustCompile(`h1:[^"]*`).FindString(string(list))
	if err := os.WriteFile(a.modules("m/main.tf"), []byte("changed"), 0o644); err != nil { // so that get fetches
		t.Fatal(err)
	}
	status, said := a.run(t, "get", ".")
	if hashes := regexp.MustCompile(`h1:[0-9A-Za-z+/]{43}=`).FindAllString(said, -1); status != ExitFailed || len(hashes) != 2 || !strings.Contains(said, locked) || hashes[0] == hashes[1] {
		t.Errorf("get ends with %d and says\n%s\nwant both hashes", status, said)
	}
	if text, err := os.ReadFile(a.modules("m/main.tf")); err != nil || string(text) != "changed" {
		t.Errorf("installed is %q, %v; want it untouched", text, err)
	}
}

func tarOf(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "main.tf", Mode: 0o644, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, text)
	w.Close()
	z.Close()
	return b.Bytes()
}

// TestGetCheckAfterInit lets init of the real tool stray, which ends well each time. Only a look
// after it finds that.
func TestGetCheckAfterInit(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"terraform", "tofu"} {
		for name, tt := range map[string]struct {
			says   string
			args   []string
			change func(t *testing.T, a *attacked)
		}{
			"it fetches a call that has no record": {says: "m/main.tf has changed", change: func(t *testing.T, a *attacked) {
				writeOrFail(t, a.modules("modules.json"), `{"Modules":[{"Key":"","Source":"","Dir":"."}]}`)
			}},
			"it fetches a call whose directory is gone": {says: "m/main.tf has changed", change: func(t *testing.T, a *attacked) {
				if err := os.RemoveAll(a.modules("m")); err != nil {
					t.Fatal(err)
				}
			}},
			"it fetches a new call": {says: "does not serve module.n (more.tf:2)", change: func(t *testing.T, a *attacked) {
				a.write(t, "more.tf", called("n", "git::file://"+a.repository+"?ref=v2", ""))
			}},
			"it upgrades": {says: "m/main.tf has changed", args: []string{"-upgrade"}, change: func(*testing.T, *attacked) {}},
			"it upgrades, as the environment says": {says: "m/main.tf has changed", change: func(t *testing.T, a *attacked) {
				a.env["TF_CLI_ARGS_init"] = "-upgrade"
			}},
			"it looks at no content": {says: "m/more.tf is not in the locked package", change: func(t *testing.T, a *attacked) {
				writeOrFail(t, a.modules("m/more.tf"), "")
			}},
			"it takes an emptied directory": {says: "m/main.tf is missing", change: func(t *testing.T, a *attacked) {
				if err := os.Remove(a.modules("m/main.tf")); err != nil {
					t.Fatal(err)
				}
			}},
		} {
			t.Run(tool+"/"+name, func(t *testing.T) {
				t.Parallel()
				program, as := realTool(t, tool)
				a := newAttacked(t)
				a.git(t, "tag", "-f", "v1", a.second)
				a.want(t, ExitOK, "written", append([]string{"get", "."}, as...)...)
				tt.change(t, a)
				cmd := exec.Command(program, append([]string{"init", "-input=false", "-backend=false"}, tt.args...)...)
				cmd.Dir = a.dir
				cmd.Env = []string{"CHECKPOINT_DISABLE=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TF_CLI_ARGS_init=" + a.env["TF_CLI_ARGS_init"]}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s init: %v\n%s", tool, err, out)
				}
				a.want(t, ExitFinding, tt.says, append([]string{"get", ".", "--check"}, as...)...)
			})
		}
	}
}
