package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox"
)

// publicCall is a call of a public module, and the release that lets its provider go on.
type publicCall struct{ name, system, path, version, release string }

func (c publicCall) String() string {
	return strings.ReplaceAll(fmt.Sprint(c.name, "-", c.path, "-", c.version), "/", "-")
}

// configuration is a root module that calls the module in a version.
func (c publicCall) configuration(version string) string {
	source := fmt.Sprintf("terraform-%s-modules/%s/%[1]s", c.system, c.name)
	if c.path != "." {
		source += "//" + c.path
	}
	return fmt.Sprintf("module \"this\" {\n  source  = %q\n  version = %q\n}\n", source, version)
}

// publicCalls are the recorded calls, and a world whose modules require what is recorded of
// them. Its lists say so, or have versions alone.
func publicCalls(t *testing.T, detailed bool) ([]publicCall, *sandbox.Sandbox) {
	t.Helper()
	recorded, err := txtar.ParseFile(filepath.Join("testdata", "module-calls.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var calls []publicCall
	var world txtar.Archive
	for _, f := range recorded.Files {
		kind, module, _ := strings.Cut(f.Name, "/")
		if kind == "calls" {
			for line := range strings.Lines(string(f.Data)) {
				words := strings.Fields(line)
				calls = append(calls, publicCall{words[0], words[1], words[2], words[3], words[4]})
			}
			continue
		}
		if kind != "listings" || detailed {
			world.Files = append(world.Files, f)
		}
		if kind != "listings" {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			words := strings.Fields(line)
			name := strings.Join([]string{"modules", module, words[0], filepath.ToSlash(filepath.Join(words[1], "versions.tf"))}, "/")
			text := fmt.Sprintf("terraform {\n  required_providers {\n    %s = {\n      source  = %q\n      version = %q\n    }\n  }\n}\n", words[2], words[3], strings.Join(words[4:], " "))
			world.Files = append(world.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	return calls, serveText(t, string(txtar.Format(&world)))
}

// helped is what relock says in JSON of the one provider that is held.
func helped(t *testing.T, said string) (kind, becomes string, to provider.Version) {
	t.Helper()
	var doc struct {
		Modules []struct {
			Held []struct {
				To   string `json:"help_to"`
				Help []struct {
					Kind    string
					Becomes string `json:"call_becomes"`
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(said), &doc); err != nil || len(doc.Modules) != 1 || len(doc.Modules[0].Held) != 1 || len(doc.Modules[0].Held[0].Help) != 1 {
		t.Fatalf("nothing, or more than one thing, helps (%v):\n%s", err, said)
	}
	held := doc.Modules[0].Held[0]
	to, err := provider.ParseVersion(held.To)
	if err != nil {
		t.Fatal(err)
	}
	return held.Help[0].Kind, held.Help[0].Becomes, to
}

// TestWhatWouldHelpIsTrueForTerraform plays recorded calls of public modules: upgrade names a
// release by the registry's list, why names it after reading it, and with that version
// written in the real terraform selects the version that was named.
func TestWhatWouldHelpIsTrueForTerraform(t *testing.T) {
	t.Parallel()
	program, as := realTool(t, "terraform")
	calls, s := publicCalls(t, true)
	if len(calls) < 20 {
		t.Fatalf("%d calls are recorded, want 20", len(calls))
	}
	for _, c := range calls {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(version string) {
				if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(c.configuration(version)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(c.version)
			status, said := runIn(t, s, dir, slices.Concat([]string{"upgrade", "--platform", "linux_amd64", "--format", "json", "."}, as)...)
			if kind, becomes, _ := helped(t, said); status != ExitOK || kind != "listed" || becomes != c.release {
				t.Errorf("upgrade ends with %d and names %s as %s, want %s as listed", status, becomes, kind, c.release)
			}
			status, said = runIn(t, s, dir, slices.Concat([]string{"why", c.system, ".", "--format", "json"}, as)...)
			kind, becomes, to := helped(t, said)
			if status != ExitOK || kind != "read" || becomes != c.release {
				t.Errorf("why ends with %d and names %s as %s, want %s as read", status, becomes, kind, c.release)
			}
			write(becomes)
			if ok, output := runTools(t, program, s, dir, t.TempDir(), "", []string{"init", "-upgrade", "-input=false", "-no-color"}); !ok {
				t.Fatal(output)
			}
			lock, problems := lockfile.Parse([]byte(readLock(t, dir)), lockfile.Name)
			if len(problems) > 0 || len(lock.Locks) != 1 || lock.Locks[0].Version.Compare(to) < 0 {
				t.Errorf("terraform selects %v, want %s or newer", lock.Locks, to)
			}
		})
	}
}

// TestWhatWouldHelpCostsNothing holds that an upgrade asks the same where lists say what the
// releases of modules require and where they do not.
func TestWhatWouldHelpCostsNothing(t *testing.T) {
	t.Parallel()
	var asked [2][]string
	for i, detailed := range []bool{false, true} {
		calls, s := publicCalls(t, detailed)
		dir := t.TempDir()
		for n, c := range calls {
			root := filepath.Join(dir, fmt.Sprint("root", n))
			if err := os.Mkdir(root, 0o700); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"main.tf": c.configuration(c.version), lockfile.Name: ""} {
				if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		status, said := runIn(t, s, dir, "upgrade", "--platform", "linux_amd64", "--format", "json", ".")
		if got := strings.Count(said, `"kind": "listed"`); status != ExitOK || detailed != (got >= len(calls)) {
			t.Errorf("upgrade ends with %d and names %d releases of %d modules:\n%s", status, got, len(calls), said)
		}
		for _, r := range s.Requests() {
			asked[i] = append(asked[i], r.Method+" "+r.Path)
		}
		slices.Sort(asked[i])
	}
	if !slices.Equal(asked[0], asked[1]) {
		t.Errorf("without detail %d requests, with it %d", len(asked[0]), len(asked[1]))
	}
	t.Logf("%d requests", len(asked[0]))
}
