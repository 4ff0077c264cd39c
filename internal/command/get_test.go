package command

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/module/moduletest"
)

const recordedModules = "../../testdata/modules"

// checkout is a scratch checkout of a root module, with the sources of the recorded cases.
type checkout struct {
	dir     string
	sources *moduletest.Sources
	cache   string // empty: there is none
	env     map[string]string
}

// newCheckout makes the checkout of a case.
func newCheckout(t *testing.T, sources *moduletest.Sources, files map[string]moduletest.CaseFile) *checkout {
	t.Helper()
	cli := filepath.Join(t.TempDir(), "cli.tfrc")
	c := &checkout{dir: filepath.Join(t.TempDir(), "root"), sources: sources, cache: t.TempDir(), env: map[string]string{"TF_CLI_CONFIG_FILE": cli}}
	writeOrFail(t, cli, sources.CLIConfig())
	for name, f := range files {
		c.write(t, name, sources.Named(f.Text))
		if f.Link != "" {
			at := filepath.Join(c.dir, name)
			if err := os.Remove(at); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(f.Link, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

func writeOrFail(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c *checkout) write(t *testing.T, name, text string) {
	t.Helper()
	writeOrFail(t, filepath.Join(c.dir, filepath.FromSlash(name)), text)
}

// run runs relock, and returns its status and all that it says.
func (c *checkout) run(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	status := Main(ctx, Env{
		Args: args, Stdout: &out, Stderr: &out, WorkDir: c.dir, Home: c.dir, CacheDir: c.cache, GOOS: runtime.GOOS, Now: time.Now(),
		Getenv: func(name string) string { return c.env[name] },
	})
	return status, out.String()
}

// want runs relock, and fails if it ends with another status or does not say a text.
func (c *checkout) want(t *testing.T, status int, says string, args ...string) {
	t.Helper()
	got, said := c.run(t, args...)
	if got != status || !strings.Contains(said, says) {
		t.Fatalf("relock %s ends with %d and says\n%s\nwant %d and %q", strings.Join(args, " "), got, said, status, says)
	}
}

// modulesIn are the files below a directory as they are in the recorded cases, and apart from
// them modules.json.
func modulesIn(t *testing.T, dir string) (files map[string]string, manifest string) {
	t.Helper()
	files = map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		shown, _ := filepath.Rel(dir, name)
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(name)
			files[shown] = "link " + target
			return err
		}
		data, err := os.ReadFile(name)
		if shown == "modules.json" {
			manifest = string(data)
			return err
		}
		info, _ := d.Info()
		kind := "file "
		if info.Mode()&0o111 != 0 {
			kind = "exec "
		}
		sum := sha256.Sum256(data)
		files[shown] = kind + hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, manifest
}

// TestGetRecorded locks each recorded configuration, gets its modules, and compares them with
// those of init. Where init fails, nothing must be installed.
func TestGetRecorded(t *testing.T) {
	t.Parallel()
	sources := moduletest.NewSources(t, recordedModules)
	for _, c := range moduletest.Cases(t, recordedModules) {
		for _, tool := range []string{"terraform", "opentofu"} {
			want := c.Of(tool == "opentofu")
			version := map[string]string{"terraform": "1.11.4", "opentofu": "1.12.6"}[tool]
			as := []string{"--tool", tool, "--tool-version", version}
			t.Run(c.ID+"/"+tool, func(t *testing.T) {
				t.Parallel()
				at := newCheckout(t, sources, c.Files)
				status, said := at.run(t, append([]string{"lock", ".", "--module-lock"}, as...)...)
				get := append([]string{"get", "."}, as...)
				if want.Exit != 0 || strings.Contains(said, "is a branch and a tag") {
					if status, said := at.run(t, append(get, "--require")...); status == ExitOK {
						t.Errorf("get succeeds, want a failure:\n%s", said)
					}
					if _, err := os.Lstat(filepath.Join(at.dir, ".terraform")); err == nil {
						t.Error("something is installed")
					}
					return
				}
				if status != ExitOK {
					t.Fatalf("lock ends with %d:\n%s", status, said)
				}
				at.want(t, ExitOK, "", get...)
				compareInstalled(t, sources, filepath.Join(at.dir, ".terraform", "modules"), want)
				at.want(t, ExitOK, "nothing to change", get...)
				at.want(t, ExitOK, "the locked ones", append(get, "--check")...)
			})
		}
	}
}

// compareInstalled compares a directory of modules with that of init. One file of a fixture has
// an attribute by which git changes its line ends, and relock does not.
func compareInstalled(t *testing.T, sources *moduletest.Sources, dir string, want moduletest.Expected) {
	t.Helper()
	got, manifest := modulesIn(t, dir)
	if expected := sources.Named(want.Manifest); manifest != expected {
		t.Errorf("modules.json is\n%s\nwant\n%s", manifest, expected)
	}
	for name, content := range want.Files {
		now, ok := got[name]
		kind, sum, _ := strings.Cut(now, " ")
		switch {
		case !ok:
			t.Errorf("%s is missing", name)
		case strings.HasSuffix(name, "/doc.md") && kind == "file", sources.Placed(sum):
		case now != sources.Named(content):
			t.Errorf("%s is %s, want %s", name, now, content)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is there, want no such file", name)
	}
}

const calls = `module "net" {
  source = "git::file://@FIXTURES@/net.git?ref=v1.0.0"
}
module "arch" {
  source  = "mods.example/acme/arch/aws"
  version = "1.0.0"
}
module "top" {
  source  = "mods.example/acme/subdir/aws"
  version = "1.0.0"
}
module "got" {
  source = "@SERVER@/get/plain"
}
`

// locked is a checkout with a lock file of modules.
func lockedCheckout(t *testing.T) *checkout {
	t.Helper()
	c := newCheckout(t, moduletest.NewSources(t, recordedModules), map[string]moduletest.CaseFile{"main.tf": {Text: calls}, ".terraform-version": {Text: "1.11.4\n"}})
	c.want(t, ExitOK, "", "lock", ".", "--module-lock")
	return c
}

// modules is the path of an installed file.
func (c *checkout) modules(name string) string {
	return filepath.Join(c.dir, ".terraform", "modules", filepath.FromSlash(name))
}

// withoutSources takes the sources away.
func (c *checkout) withoutSources(t *testing.T) {
	t.Helper()
	c.sources.Server.Close()
	if err := os.Rename(filepath.Join(c.sources.Dir, "net.git"), filepath.Join(c.sources.Dir, "gone.git")); err != nil {
		t.Fatal(err)
	}
}

func TestGetAsksOnce(t *testing.T) {
	t.Parallel()
	c := lockedCheckout(t)
	c.want(t, ExitFinding, "not in the cache", "get", ".", "--check")
	c.want(t, ExitOK, "4 modules of 3 packages written", "get", ".")
	before, manifest := modulesIn(t, c.modules("."))
	c.withoutSources(t)
	was, err := os.Stat(c.modules("."))
	if err != nil {
		t.Fatal(err)
	}
	c.want(t, ExitOK, "nothing to change", "get", ".")
	c.want(t, ExitOK, "the locked ones", "get", ".", "--check")
	if now, err := os.Stat(c.modules(".")); err != nil || !os.SameFile(was, now) {
		t.Errorf("the directory was made again, %v", err)
	}
	if err := os.RemoveAll(c.modules(".")); err != nil {
		t.Fatal(err)
	}
	c.want(t, ExitOK, "written", "get", ".")
	if after, again := modulesIn(t, c.modules(".")); !maps.Equal(before, after) || manifest != again {
		t.Errorf("from the cache come %v, want %v", after, before)
	}
}

// TestGetCheck changes what get has made: each change must be found, but for what is no module
// of the configuration.
func TestGetCheck(t *testing.T) {
	t.Parallel()
	c := lockedCheckout(t)
	change := func(name, text string) func(*testing.T) {
		return func(t *testing.T) { writeOrFail(t, c.modules(name), text) }
	}
	remove := func(name string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.RemoveAll(c.modules(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	manifest := func(old, now string) func(*testing.T) {
		return func(t *testing.T) {
			_, text := modulesIn(t, c.modules("."))
			if !strings.Contains(text, old) {
				t.Fatalf("%s has no %s", text, old)
			}
			writeOrFail(t, c.modules("modules.json"), strings.Replace(text, old, now, 1))
		}
	}
	for name, tt := range map[string]struct {
		change func(*testing.T)
		says   string // empty: nothing is wrong
	}{
		"changed":           {change("net/main.tf", "output \"version\" {\n  value = \"9.0.0\"\n}\n"), "net/main.tf has changed"},
		"longer":            {change("net/main.tf", "longer than the locked file, with one more line\n\n\n\n"), "net/main.tf has changed"},
		"missing":           {remove("net/README.md"), "net/README.md is missing"},
		"additional":        {change("net/extra.tf", ""), "net/extra.tf is not in the locked package"},
		"additional below":  {change("arch/more/extra.tf", ""), "arch/more is not in the locked package"},
		"x bit":             {func(t *testing.T) { chmodOrFail(t, c.modules("net/main.tf"), 0o755) }, "net/main.tf has another x bit"},
		"a link":            {func(t *testing.T) { linkOrFail(t, "README.md", c.modules("net/main.tf")) }, "net/main.tf is of another type"},
		"a linked dir":      {func(t *testing.T) { linkOrFail(t, c.modules("arch/modules"), c.modules("net/modules")) }, "net/modules is of another type"},
		"a linked package":  {func(t *testing.T) { linkOrFail(t, "arch", c.modules("got")) }, "got is not there"},
		"another source":    {manifest("net.git?ref=v1.0.0", "net.git?ref=v1.1.0"), "net is recorded as"},
		"another version":   {manifest("\"Version\":\"1.0.0\"", "\"Version\":\"1.1.0\""), "is recorded as"},
		"another directory": {manifest("top/plain-1.0.0", "top/plain-1.0.0/modules/x"), "top is recorded as"},
		"no record":         {manifest("\"Key\":\"net\"", "\"Key\":\"other\""), "net is not in modules.json"},
		"no list":           {remove("modules.json"), "there is no modules.json"},
		"nothing":           {remove("."), "there is no modules.json"},
		"git":               {change("net/.git/HEAD", "ref: refs/heads/main\n"), ""},
		"another record":    {manifest("{\"Key\":\"net\"", "{\"Key\":\"gone\",\"Source\":\"./gone\",\"Dir\":\"gone\"},{\"Key\":\"net\""), ""},
		"another package":   {change("gone/main.tf", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			remove(".")(t)
			c.want(t, ExitOK, "written", "get", ".")
			tt.change(t)
			if tt.says == "" {
				c.want(t, ExitOK, "the locked ones", "get", ".", "--check")
				return
			}
			c.want(t, ExitFinding, tt.says, "get", ".", "--check")
			c.want(t, ExitFinding, "TF_CLI_ARGS_init", "get", ".", "--check")
			c.want(t, ExitOK, "written", "get", ".")
			c.want(t, ExitOK, "the locked ones", "get", ".", "--check")
		})
	}
}

func chmodOrFail(t *testing.T, name string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// linkOrFail puts a link in the place of a file or a directory.
func linkOrFail(t *testing.T, target, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestGetCallAdded(t *testing.T) {
	t.Parallel()
	c := lockedCheckout(t)
	c.want(t, ExitOK, "written", "get", ".")
	before, manifest := modulesIn(t, c.modules("."))
	c.write(t, "more.tf", c.sources.Named("module \"more\" {\n  source = \"git::file://@FIXTURES@/net.git?ref=v2.0.0\"\n}\n"))
	for _, args := range [][]string{{"get", "."}, {"get", ".", "--check"}} {
		c.want(t, ExitFinding, "does not serve module.more (more.tf:2)", args...)
		c.want(t, ExitFinding, "relock lock .", args...)
	}
	if after, again := modulesIn(t, c.modules(".")); !maps.Equal(before, after) || manifest != again {
		t.Errorf("the directory has %v, want it unchanged: %v", after, before)
	}
	c.want(t, ExitOK, "", "lock", ".")
	c.want(t, ExitOK, "5 modules of 4 packages written", "get", ".")
}

func TestGetMoved(t *testing.T) {
	t.Parallel()
	c := lockedCheckout(t)
	text, err := os.ReadFile(filepath.Join(c.dir, ".modules.lock.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := "h1:" + strings.Repeat("A", 43) + "="
	changed := regexp.MustCompile(`h1:[^"]*`).ReplaceAllString(string(text), wrong)
	c.write(t, ".modules.lock.hcl", changed)
	c.want(t, ExitFailed, wrong, "get", ".")
	if _, err := os.Lstat(c.modules(".")); err == nil {
		t.Error("modules are installed")
	}
}

func TestGetRepairsTheCache(t *testing.T) {
	t.Parallel()
	c := lockedCheckout(t)
	c.want(t, ExitOK, "written", "get", ".")
	saved, err := filepath.Glob(filepath.Join(c.cache, "relock", "modules", "*.whole"))
	if err != nil || len(saved) != 3 {
		t.Fatalf("the cache has %v, %v; want 3 packages", saved, err)
	}
	for _, name := range saved {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		writeOrFail(t, name, strings.ReplaceAll(string(text), "output", "OUTPUT"))
	}
	c.want(t, ExitFinding, "not in the cache", "get", ".", "--check")
	c.want(t, ExitOK, "nothing to change", "get", ".")
	c.want(t, ExitOK, "the locked ones", "get", ".", "--check")
}

func TestGetRefusesLinks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".terraform", ".terraform/modules"} {
		c := lockedCheckout(t)
		away := t.TempDir()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(c.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		linkOrFail(t, away, filepath.Join(c.dir, name))
		c.want(t, ExitFailed, "it is a link", "get", ".")
		c.want(t, ExitFinding, "it is a link", "get", ".", "--check")
		if entries, err := os.ReadDir(away); err != nil || len(entries) > 0 {
			t.Errorf("behind %s there is %v, %v", name, entries, err)
		}
	}
}

// TestGetRefusesPackages gets packages with files that must not be written.
func TestGetRefusesPackages(t *testing.T) {
	t.Parallel()
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 12\n"
	for name, tt := range map[string]struct {
		commit moduletest.Commit
		status int
		says   string
	}{
		"a link out":       {moduletest.Commit{Links: map[string]string{"l": "../../../x"}}, ExitFailed, `"l": it is a link`},
		"an absolute one":  {moduletest.Commit{Links: map[string]string{"l": "/etc"}}, ExitFailed, `"l": it is a link`},
		"two links out":    {moduletest.Commit{Links: map[string]string{"a": ".", "sub/b": "../a/.."}}, ExitFailed, "cannot be followed"},
		"a loop":           {moduletest.Commit{Links: map[string]string{"a": "b", "b": "a"}}, ExitFailed, "cannot be followed"},
		"a broken link":    {moduletest.Commit{Links: map[string]string{"a": "gone"}}, ExitOK, "written"},
		"a pointer":        {moduletest.Commit{Files: map[string]string{"big.bin": pointer}}, ExitOK, "pointers of Git LFS in place of files, as they are committed: big.bin"},
		"a pointer as .tf": {moduletest.Commit{Files: map[string]string{"x/main.tf": pointer}}, ExitFailed, "m/x/main.tf is a pointer of Git LFS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.commit.Tag = "v1"
			if tt.commit.Files == nil {
				tt.commit.Files = map[string]string{}
			}
			tt.commit.Files["main.tf"] = ""
			repository := filepath.Join(t.TempDir(), "m.git")
			moduletest.Repository(t, repository, tt.commit)
			c := newCheckout(t, moduletest.NewSources(t, recordedModules), map[string]moduletest.CaseFile{
				"main.tf": {Text: "module \"m\" {\n  source = \"git::file://" + repository + "?ref=v1\"\n}\n"}, "tool.tofu": {},
			})
			c.want(t, ExitOK, "", "lock", ".", "--module-lock")
			c.want(t, tt.status, tt.says, "get", ".")
			if left, err := filepath.Glob(filepath.Join(c.dir, ".terraform", "*")); err != nil || tt.status != ExitOK && len(left) > 0 {
				t.Errorf("in .terraform there is %v, %v", left, err)
			}
		})
	}
}

func TestGetStatus(t *testing.T) {
	t.Parallel()
	c := lockedCheckout(t)
	c.write(t, "local/main.tf", "module \"l\" {\n  source = \"./l\"\n}\n")
	c.write(t, "local/l/main.tf", "")
	c.write(t, "bare/main.tf", c.sources.Named(calls))
	c.write(t, "broken/main.tf", "module \"b\" {\n  source = \"./gone\"\n}\n")
	c.want(t, ExitOK, "", "get", "local", "broken", "--require")
	if _, err := os.Lstat(filepath.Join(c.dir, "local", ".terraform")); err == nil {
		t.Error("something is installed for a root module without remote modules")
	}
	for _, args := range [][]string{{"get", "bare"}, {"get", "bare", "--check"}} {
		c.want(t, ExitOK, "bare: its modules are left to init, since there is no .modules.lock.hcl", args...)
		c.want(t, ExitFinding, "bare: its modules are left to init", append(args, "--require")...)
	}
	c.write(t, "bare/bad.tf", "module \"b\" {\n  source = \"./gone\"\n}\n")
	c.want(t, ExitOK, "bare: its modules are left to init", "get", "bare")
	c.write(t, "bare/.modules.lock.hcl", "module {\n")
	c.want(t, ExitFailed, "bare/.modules.lock.hcl:1", "get", "bare")
	if err := os.Remove(filepath.Join(c.dir, ".terraform-version")); err != nil {
		t.Fatal(err)
	}
	c.want(t, ExitUsage, "--tool terraform or --tool opentofu", "get", ".")
	c.want(t, ExitUsage, "no set of values called gone", "get", ".", "--set", "gone", "--tool", "terraform")
	c.want(t, ExitUsage, "gone", "get", "gone")
}

func TestGetDataDir(t *testing.T) {
	t.Parallel()
	c := lockedCheckout(t)
	for _, dir := range []string{"./data/", filepath.Join(t.TempDir(), "data")} {
		c.env["TF_DATA_DIR"] = dir
		c.want(t, ExitOK, "written", "get", ".")
		if _, err := os.Lstat(filepath.Join(c.dir, ".terraform")); err == nil {
			t.Error("something is in .terraform")
		}
		at := filepath.Clean(dir)
		if !filepath.IsAbs(at) {
			at = filepath.Join(c.dir, at)
		}
		_, manifest := modulesIn(t, filepath.Join(at, "modules"))
		if want := `"Dir":"` + filepath.Clean(dir) + `/modules/net"`; !strings.Contains(manifest, want) {
			t.Errorf("modules.json is %s, want %s in it", manifest, want)
		}
		c.want(t, ExitOK, "the locked ones", "get", ".", "--check")
	}
	c.write(t, "other/main.tf", c.sources.Named(calls))
	c.want(t, ExitOK, "", "lock", "other", "--module-lock")
	c.want(t, ExitUsage, "TF_DATA_DIR is absolute, and 2 root modules would share it", "get", ".", "other")
}

// TestGetIsEnoughForInit takes the sources away after get: init of the real tool and validate
// must succeed, and leave what get has made.
func TestGetIsEnoughForInit(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"terraform", "tofu"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			program, as := realTool(t, tool)
			c := lockedCheckout(t)
			c.want(t, ExitOK, "written", append([]string{"get", "."}, as...)...)
			files, manifest := modulesIn(t, c.modules("."))
			c.withoutSources(t)
			for _, args := range [][]string{{"init", "-input=false", "-backend=false"}, {"validate"}} {
				cmd := exec.Command(program, args...)
				cmd.Dir, cmd.Env = c.dir, []string{"CHECKPOINT_DISABLE=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + c.env["TF_CLI_CONFIG_FILE"]}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s %v: %v\n%s", tool, args, err, out)
				}
			}
			if after, again := modulesIn(t, c.modules(".")); !maps.Equal(files, after) || manifest != again {
				t.Errorf("init leaves %v and %s\nwant %v and %s", after, again, files, manifest)
			}
			c.want(t, ExitOK, "the locked ones", append([]string{"get", ".", "--check"}, as...)...)
		})
	}
}

// TestGetSets names one of two sets of values that call other modules.
func TestGetSets(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, moduletest.NewSources(t, recordedModules), map[string]moduletest.CaseFile{
		"main.tofu":          {Text: "variable \"tag\" {\n  type = string\n}\nmodule \"n\" {\n  source = \"git::file://@FIXTURES@/net.git?ref=${var.tag}\"\n}\n"},
		".opentofu-version":  {Text: "1.12.6\n"},
		".github/relock.yml": {Text: "version: 1\nmodule-vars:\n  - name: old\n    values: {tag: v1.0.0}\n  - name: new\n    values: {tag: v2.0.0}\n"},
	})
	c.want(t, ExitOK, "", "lock", ".", "--module-lock")
	c.want(t, ExitUsage, "other modules are called in . with the sets old and new", "get", ".")
	for set, ref := range map[string]string{"old": "v1.0.0", "new": "v2.0.0"} {
		c.want(t, ExitOK, "1 module of 1 package written", "get", ".", "--set", set)
		if _, manifest := modulesIn(t, c.modules(".")); !strings.Contains(manifest, "?ref="+ref) {
			t.Errorf("with the set %s modules.json is %s, want %s in it", set, manifest, ref)
		}
		c.want(t, ExitOK, "the locked ones", "get", ".", "--set", set, "--check")
	}
	c.want(t, ExitUsage, "no set of values called other", "get", ".", "--set", "other")
}

// TestGetInterrupted ends get again and again: the directory is always one that get has made whole.
func TestGetInterrupted(t *testing.T) {
	t.Parallel()
	c := lockedCheckout(t)
	c.want(t, ExitOK, "written", "get", ".")
	files, manifest := modulesIn(t, c.modules("."))
	for i := range 20 {
		writeOrFail(t, c.modules("net/main.tf"), "changed") // so that get writes
		changed, _ := modulesIn(t, c.modules("."))
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		Main(ctx, Env{Args: []string{"get", "."}, Stdout: io.Discard, Stderr: io.Discard, WorkDir: c.dir, Home: c.dir, CacheDir: c.cache, GOOS: runtime.GOOS, Now: time.Now(), Getenv: func(name string) string { return c.env[name] }})
		cancel()
		now, list := modulesIn(t, c.modules("."))
		if list != manifest || !maps.Equal(now, files) && !maps.Equal(now, changed) {
			t.Fatalf("after %d ms the directory has %v", i, now)
		}
	}
	c.want(t, ExitOK, "", "get", ".")
	if left, err := os.ReadDir(filepath.Join(c.dir, ".terraform")); err != nil || len(left) != 1 {
		t.Errorf("in .terraform there is %v, %v; want the modules alone", left, err)
	}
}
