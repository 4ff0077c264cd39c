package command

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/provider"
)

var (
	moduleHistories = flag.Int("module-histories", 1, "TestModuleHistories plays so many of them")
	moduleSeed      = flag.Uint64("module-seed", 1, "the seed of the first history of TestModuleHistories")
)

const moduleSteps = 10

// TestModuleHistories plays random histories of a root module with locked modules and of its
// sources. After each step, lock must keep what is locked, and upgrade must select what
// terraform init -upgrade selects, but for tags that were moved.
func TestModuleHistories(t *testing.T) {
	t.Parallel()
	for i := range *moduleHistories {
		seed := *moduleSeed + uint64(i)
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			t.Parallel()
			h := newModuleHistory(t, rand.New(rand.NewPCG(seed, 61)))
			for s := range moduleSteps {
				h.step(t)
				if t.Failed() || testing.Verbose() && s == moduleSteps-1 {
					t.Logf("the history:\n%s", strings.Join(h.told, "\n"))
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// moduleHistory is a root module and the sources of its modules: a registry, two git
// repositories and an archive.
type moduleHistory struct {
	*checkout
	random *rand.Rand
	git    string // the directory of the repositories
	server *httptest.Server
	calls  map[string]string // the texts of the calls by their names
	told   []string          // the steps
	n      int               // of the last commit
	first  string            // the first commit of net.git

	archive []byte

	mu       sync.Mutex
	releases []string
	down     bool // the server answers 503
	asked    map[string]int
	gone     bool // net.git has another name
	behind   bool // the registry names a server that names the repository
}

func newModuleHistory(t *testing.T, random *rand.Rand) *moduleHistory {
	h := &moduleHistory{random: random, git: t.TempDir(), calls: map[string]string{}, asked: map[string]int{}}
	h.server = httptest.NewServer(h)
	t.Cleanup(h.server.Close)
	h.releases = []string{"1.0.0", "1.1.0", "2.0.0"}
	commits := []moduletest.Commit{{Files: contentOf(1), Tag: "r1.0.0"}, {Files: contentOf(2), Tag: "r1.1.0"}, {Files: contentOf(3), Tag: "r2.0.0"}}
	commits[0].Annotated, commits[1].Annotated = "v1", "v2"
	writeOrFail(t, filepath.Join(h.git, "plain", "main.tf"), contentOf(0)["main.tf"])
	h.first = moduletest.Repository(t, filepath.Join(h.git, "net.git"), commits...)[0]
	h.n = len(commits)
	var archive bytes.Buffer
	writer := zip.NewWriter(&archive)
	if err := writer.AddFS(os.DirFS(h.git + "/plain")); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	h.archive = archive.Bytes()
	moduletest.Repository(t, filepath.Join(h.git, "nest.git"), moduletest.Commit{Files: map[string]string{
		"main.tf": called("net", "mods.example/acme/net/aws", ">= 1.1.0") + called("v2", h.source("?ref=v2"), ""),
	}})
	cli := filepath.Join(t.TempDir(), "cli.tfrc")
	h.checkout = &checkout{dir: filepath.Join(t.TempDir(), "root"), cache: t.TempDir(), env: map[string]string{
		"TF_CLI_CONFIG_FILE": cli, "TF_REGISTRY_DISCOVERY_RETRY": "0",
	}}
	writeOrFail(t, cli, "host \"mods.example\" {\n  services = {\n    \"modules.v1\" = \""+h.server.URL+"/\"\n  }\n}\n")
	h.write(t, ".terraform-version", "1.11.4\n")
	h.calls["a"], h.calls["b"] = h.someCall("a"), h.someCall("b")
	h.configure(t)
	h.want(t, ExitOK, "", "lock", ".", "--module-lock")
	return h
}

// TestRegistryBehindAServer locks a module whose registry names a server that names a git
// repository: the hash is a commit, and no repository is the registry's word.
func TestRegistryBehindAServer(t *testing.T) {
	t.Parallel()
	h := newModuleHistory(t, rand.New(rand.NewPCG(1, 61)))
	h.behind = true
	for _, call := range []string{called("net", "mods.example/acme/net/aws", "1.0.0"), called("net", h.server.URL+"/far/1.0.0", "")} {
		if err := os.Remove(filepath.Join(h.dir, modulelock.Name)); err != nil {
			t.Fatal(err)
		}
		h.write(t, "main.tf", call)
		h.want(t, ExitOK, "", "lock", ".", "--module-lock")
		locked := string(h.file(t).Source)
		if !strings.Contains(locked, `hash = "git:`+h.first+`"`) || strings.Contains(locked, "package") {
			t.Errorf("locked is\n%s\nwant the commit %s alone", locked, h.first)
		}
		for _, args := range [][]string{{"check"}, {"check", "--lock"}, {"verify"}, {"upgrade"}, {"get"}, {"get", "--check"}} {
			h.want(t, ExitOK, "", append(args, ".")...)
		}
		if now := string(h.file(t).Source); now != locked {
			t.Errorf("the file became\n%s", now)
		}
		other := strings.Replace(locked, h.first, strings.Repeat("1", 40), 1)
		h.write(t, modulelock.Name, other)
		h.want(t, ExitFailed, "is locked, and it is git:"+h.first+" now", "verify", ".")
	}
}

// contentOf are the files of net.git in its commit number n.
func contentOf(n int) map[string]string {
	text := fmt.Sprintf("output \"n\" {\n  value = %d\n}\n", n)
	return map[string]string{"main.tf": text, "sub/main.tf": text}
}

func called(name, source, version string) string {
	text := fmt.Sprintf("module %q {\n  source = %q\n", name, source)
	if version != "" {
		text += fmt.Sprintf("  version = %q\n", version)
	}
	return text + "}\n"
}

// source is the address of net.git with a query.
func (h *moduleHistory) source(rest string) string {
	return "git::file://" + h.git + "/net.git" + rest
}

// ServeHTTP is the registry mods.example, and serves one archive.
func (h *moduleHistory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[r.URL.Path]++
	version := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/acme/net/aws/"), "/download")
	switch {
	case h.down:
		w.WriteHeader(http.StatusServiceUnavailable)
	case version == "versions":
		var listed []string
		for _, v := range h.releases {
			listed = append(listed, fmt.Sprintf(`{"version": %q}`, v))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"modules": [{"versions": [%s]}]}`, strings.Join(listed, ", "))
	case slices.Contains(h.releases, version) && h.behind:
		w.Header().Set("X-Terraform-Get", h.server.URL+"/far/"+version)
		w.WriteHeader(http.StatusNoContent)
	case slices.Contains(h.releases, version):
		w.Header().Set("X-Terraform-Get", h.source("?ref=r"+version))
		w.WriteHeader(http.StatusNoContent)
	case strings.HasPrefix(r.URL.Path, "/far/"):
		w.Header().Set("X-Terraform-Get", h.source("?ref=r"+path.Base(r.URL.Path)))
	case r.URL.Path == "/net.zip":
		w.Write(h.archive)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// someCall is a random call.
func (h *moduleHistory) someCall(name string) string {
	constraint := h.any("", "~> 1.0", "1.0.0", ">= 1.1.0", "< 2.0.0", "2.0.0")
	kind := h.random.IntN(5)
	if name == "t" {
		kind = 1 // a test file can call nothing else
	}
	switch kind {
	case 0:
		return called(name, h.server.URL+"/net.zip", "")
	case 1:
		return called(name, "mods.example/acme/net/aws"+h.any("", "//sub"), constraint)
	case 2:
		return called(name, "git::file://"+h.git+"/nest.git"+h.any("", "?ref=main"), "")
	}
	return called(name, h.source(h.any("", "?ref=main", "?ref=main&depth=1", "?ref=v1", "?ref=v2", "//sub?ref=v1", "?ref="+h.first)), "")
}

func (h *moduleHistory) any(of ...string) string { return of[h.random.IntN(len(of))] }

// configure writes the configuration. The call t is that of a test file.
func (h *moduleHistory) configure(t *testing.T) {
	t.Helper()
	main, tests := "", ""
	for _, name := range slices.Sorted(maps.Keys(h.calls)) {
		if name != "t" {
			main += h.calls[name]
			continue
		}
		tests = "run \"t\" {\n" + strings.Replace(h.calls[name], "module \"t\"", "module", 1) + "}\n"
	}
	h.write(t, "main.tf", main)
	h.write(t, "tests/t.tftest.hcl", tests)
}

// edit adds, changes or removes a call, and returns what it did.
func (h *moduleHistory) edit() string {
	name := h.any("a", "b", "c", "d", "t")
	if h.calls[name] != "" && len(h.calls) > 1 && h.random.IntN(3) == 0 {
		delete(h.calls, name)
		return "remove " + name
	}
	h.calls[name] = h.someCall(name)
	return "write " + h.calls[name]
}

// commit adds a commit to the branch main of net.git, and lets a tag name it, if any.
func (h *moduleHistory) commit(t *testing.T, tag string) {
	t.Helper()
	h.n++
	var b strings.Builder
	b.WriteString("commit refs/heads/main\ncommitter relock <relock@example.com> 1700000000 +0000\ndata 1\nc\nfrom refs/heads/main^0\n")
	for name, text := range contentOf(h.n) {
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	if tag != "" {
		fmt.Fprintf(&b, "reset refs/tags/%s\nfrom refs/heads/main^0\n\n", tag)
	}
	moduletest.Git(t, h.repository(), strings.NewReader(b.String()), "fast-import", "--quiet", "--force")
}

func (h *moduleHistory) repository() string {
	if h.gone {
		return filepath.Join(h.git, "gone.git")
	}
	return filepath.Join(h.git, "net.git")
}

// vanish takes a source away, or brings it back.
func (h *moduleHistory) vanish(t *testing.T) string {
	t.Helper()
	if h.random.IntN(2) == 0 {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.down = !h.down
		return fmt.Sprintf("the server is down: %t", h.down)
	}
	was := h.repository()
	h.gone = !h.gone
	if err := os.Rename(was, h.repository()); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("net.git is gone: %t", h.gone)
}

// file is the lock file of modules.
func (h *moduleHistory) file(t *testing.T) *modulelock.File {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, modulelock.Name))
	if err != nil {
		t.Fatal(err)
	}
	f, problems := modulelock.Read(text, modulelock.Name, nil)
	if f == nil {
		t.Fatalf("%v in\n%s", problems, text)
	}
	return f
}

// byHand edits the lock file as a person does.
func (h *moduleHistory) byHand(t *testing.T) string {
	t.Helper()
	f := h.file(t)
	if len(f.Entries) == 0 {
		return "nothing"
	}
	i := h.random.IntN(len(f.Entries))
	e := f.Entries[i]
	f.Entries = slices.Delete(slices.Clone(f.Entries), i, i+1)
	done := "remove the entry of " + e.String()
	switch {
	case e.Version == "v1" || e.Version == "v2":
		e.Hash = "git:" + h.first
		f.Entries = append(f.Entries, e)
		done = "write another commit for " + e.String()
	case !strings.HasSuffix(e.Address, ".zip") && h.random.IntN(2) == 0:
		e.Version = "stray" + e.Version
		if strings.HasPrefix(e.Address, "mods.example/") {
			e.Version = "0.0.1"
		}
		f.Entries = append(h.file(t).Entries, e)
		done = "add an entry of " + e.String()
	}
	h.write(t, modulelock.Name, string(f.Print()))
	return done
}

// merge merges two branches, each with another edit and a lock.
func (h *moduleHistory) merge(t *testing.T) string {
	t.Helper()
	base, before := h.file(t).Source, maps.Clone(h.calls)
	done := h.edit()
	h.configure(t)
	h.run(t, "lock", ".")
	ours, edited := h.file(t).Source, maps.Clone(h.calls)
	h.commit(t, "")
	h.calls = before
	done = "merge: " + done + " and " + h.edit()
	h.write(t, modulelock.Name, string(base))
	h.configure(t)
	h.run(t, "lock", ".")
	maps.Copy(h.calls, edited)
	h.configure(t)
	merged, disputed, problems := modulelock.Merge(base, ours, h.file(t).Source, modulelock.Name)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	h.write(t, modulelock.Name, string(merged))
	return fmt.Sprintf("%s, disputed: %t", done, disputed)
}

// step does something random, and runs lock and upgrade.
func (h *moduleHistory) step(t *testing.T) {
	t.Helper()
	var done string
	switch h.random.IntN(8) {
	case 0:
		tag := h.any("v1", "v2")
		h.commit(t, tag)
		done = "move " + tag
	case 1:
		h.commit(t, "")
		done = "main goes on"
	case 2:
		v := h.any("1.", "2.") + fmt.Sprint(h.n+1) + ".0"
		h.commit(t, "r"+v)
		h.mu.Lock()
		h.releases = append(h.releases, v)
		h.mu.Unlock()
		done = "release " + v
	case 3:
		done = h.vanish(t)
	case 4:
		done = h.byHand(t)
	case 5:
		done = h.merge(t)
	default:
		done = h.edit()
		h.configure(t)
	}
	h.told = append(h.told, done)
	before := h.file(t)
	if h.locks(t, before) && h.random.IntN(2) == 0 {
		h.upgrades(t)
	}
}

// locks runs lock twice, and reports whether the file serves all calls.
func (h *moduleHistory) locks(t *testing.T, before *modulelock.File) (whole bool) {
	t.Helper()
	status, said := h.run(t, "lock", ".")
	after := h.file(t)
	h.told = append(h.told, fmt.Sprintf("lock ends with %d", status))
	away := h.down || h.gone
	if status != ExitOK && !away {
		t.Errorf("lock ends with %d:\n%s", status, said)
	}
	for _, e := range before.Entries {
		now, ok := after.Entry(e.Key)
		switch {
		case before.Disputed[e.Key] != nil:
		case ok && !now.Equal(e):
			t.Errorf("lock has moved %s from %s to %s:\n%s", e, e.Hash, now.Hash, said)
		case !ok && status != ExitOK:
			t.Errorf("lock has not read all, and removes %s:\n%s", e, said)
		}
	}
	h.again(t, status, "lock")
	if status != ExitOK {
		return false
	}
	h.installed(t, after)
	return true
}

// again runs relock a second time: nothing must change, and it must end as before.
func (h *moduleHistory) again(t *testing.T, status int, verb string) {
	t.Helper()
	name := filepath.Join(h.dir, modulelock.Name)
	was, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	before, lists := h.file(t), h.asked["/acme/net/aws/versions"]
	got, said := h.run(t, verb, ".")
	now, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if after := h.file(t); !bytes.Equal(before.Source, after.Source) || !os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()) {
		t.Errorf("the second %s writes the file:\n%s\nbefore:\n%s\n%s", verb, after.Source, before.Source, said)
	}
	if got != status {
		t.Errorf("the second %s ends with %d, want %d as the first:\n%s", verb, got, status, said)
	}
	if asked := h.asked["/acme/net/aws/versions"] - lists; verb == "lock" && status == ExitOK && asked > 0 {
		t.Errorf("the second lock asks %d times for versions", asked)
	}
}

// installed gets the modules, and compares the entries with the records of the calls. It
// returns the files and the records.
func (h *moduleHistory) installed(t *testing.T, f *modulelock.File) (map[string]string, string) {
	t.Helper()
	status, said := h.run(t, "get", ".")
	if status != ExitOK && (h.down || h.gone) {
		return nil, "" // the cache of whole packages may lack one
	}
	if status != ExitOK {
		t.Fatalf("get ends with %d:\n%s", status, said)
	}
	files, manifest := modulesIn(t, h.modules("."))
	needed := map[modulelock.Key]bool{}
	for _, r := range recordsOf(t, manifest) {
		if a, err := moduleaddr.Parse(r.Source, provider.Terraform); err == nil && r.Source != "" {
			address, version := a.Label()
			if r.Version != "" {
				version = r.Version
			}
			needed[modulelock.Key{Address: address, Version: version}] = true
		}
	}
	for _, e := range f.Entries {
		if !needed[e.Key] {
			t.Errorf("no call needs %s", e)
		}
		delete(needed, e.Key)
	}
	if len(needed) > 0 {
		t.Errorf("nothing locks %v", needed)
	}
	return files, manifest
}

// moduleRecord is a record of modules.json.
type moduleRecord struct{ Key, Source, Version, Dir string }

func recordsOf(t *testing.T, manifest string) []moduleRecord {
	t.Helper()
	var doc struct{ Modules []moduleRecord }
	if err := json.Unmarshal([]byte(manifest), &doc); err != nil {
		t.Fatalf("%v in %s", err, manifest)
	}
	return doc.Modules
}

// upgrades runs upgrade twice, and compares what it selects with terraform.
func (h *moduleHistory) upgrades(t *testing.T) {
	t.Helper()
	before := h.file(t)
	status, said := h.run(t, "upgrade", ".")
	if status == ExitOK {
		for _, e := range before.Entries {
			_, stays := h.file(t).Entry(e.Key)
			if h.down && strings.HasPrefix(e.Address, "mods.example/") || h.gone && stays && strings.HasSuffix(e.Address, "/net.git") && e.Version != h.first {
				t.Errorf("upgrade does not say that it could not ask for %s:\n%s", e, said)
			}
		}
	}
	after := h.file(t)
	h.told = append(h.told, fmt.Sprintf("upgrade ends with %d", status))
	moved := map[string]bool{} // the sources of moved tags
	for _, e := range before.Entries {
		now, ok := after.Entry(e.Key)
		tag := e.Version == "v1" || e.Version == "v2"
		if ok && now.Hash != e.Hash && e.Version != "" && e.Version != "main" {
			t.Errorf("upgrade has moved %s from %s to %s", e, e.Hash, now.Hash)
		}
		if !ok && status == ExitFailed {
			t.Errorf("upgrade has not read all, and removes %s:\n%s", e, said)
		}
		commit := moduletest.Git(t, h.repository(), nil, "rev-parse", "main")
		if tag {
			commit = moduletest.Git(t, h.repository(), nil, "rev-parse", e.Version+"^{commit}")
		}
		if ok && tag && !h.gone && "git:"+commit != e.Hash {
			moved[e.Version] = true
			if !strings.Contains(said, e.String()+" was "+e.Hash) {
				t.Errorf("upgrade does not say that %s has moved:\n%s", e, said)
			}
		}
	}
	h.again(t, status, "upgrade")
	if h.down || h.gone {
		return
	}
	if want := map[bool]int{false: ExitOK, true: ExitFinding}[len(moved) > 0]; status != want {
		t.Errorf("upgrade ends with %d, want %d, moved: %v\n%s", status, want, moved, said)
	}
	files, manifest := h.installed(t, after)
	h.compare(t, moved, files, manifest)
}

// compare compares installed modules with those that terraform init -upgrade selects.
func (h *moduleHistory) compare(t *testing.T, moved map[string]bool, files map[string]string, manifest string) {
	t.Helper()
	program, err := exec.LookPath("terraform")
	if err != nil {
		return
	}
	dir := t.TempDir()
	for _, name := range []string{"main.tf", "tests/t.tftest.hcl"} {
		text, err := os.ReadFile(filepath.Join(h.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		writeOrFail(t, filepath.Join(dir, name), string(text))
	}
	cmd := exec.Command(program, "init", "-upgrade", "-backend=false", "-input=false", "-no-color")
	cmd.Dir = dir
	cmd.Env = append(moduletest.Environ(t), "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+h.env["TF_CLI_CONFIG_FILE"])
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("terraform: %v\n%s", err, out)
	}
	want, expected := modulesIn(t, filepath.Join(dir, ".terraform", "modules"))
	if manifest != expected {
		t.Errorf("upgrade selects %s\nterraform %s", manifest, expected)
		return
	}
	for _, r := range recordsOf(t, manifest) {
		_, ref, _ := strings.Cut(r.Source, "?ref=")
		if r.Key == "" || moved[ref] {
			continue
		}
		name := strings.TrimPrefix(r.Dir, ".terraform/modules/") + "/main.tf"
		if files[name] != want[name] || want[name] == "" {
			t.Errorf("%s is %s, terraform has %s", name, files[name], want[name])
		}
	}
}

// TestModuleOfTestsUnread says which module of a test file cannot be locked.
func TestModuleOfTestsUnread(t *testing.T) {
	t.Parallel()
	h := newModuleHistory(t, rand.New(rand.NewPCG(1, 61)))
	h.calls = map[string]string{"a": called("a", h.source("?ref=v1"), "")}
	h.configure(t)
	h.want(t, ExitOK, "", "lock", ".")
	for says, test := range map[string]string{
		"tests/t.tftest.hcl:3: ": called("t", "mods.example/acme/gone/aws", ""),
		"a run can test only":    called("t", h.source("?ref=v1"), ""),
	} {
		h.calls["t"] = test
		h.configure(t)
		h.want(t, ExitFailed, says, "lock", ".")
		h.want(t, ExitFailed, says, "check", "--lock", ".")
	}
}
