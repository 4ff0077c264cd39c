package command

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox"
)

// adviceWorld makes a root module of a seed, the modules that it calls, and their registry.
// Several providers, constraints and modules hold each other.
type adviceWorld struct {
	*rand.Rand
	files map[string]string // of the repository
	world strings.Builder
	git   string // the path of a git repository with a module; empty: none
}

var advisedProviders = []string{"alpha", "beta", "gamma"}

// constraint is a random constraint about releases up to a major version.
func (w *adviceWorld) constraint(most int) string {
	major, minor := 1+w.IntN(most), w.IntN(3)
	switch w.IntN(8) {
	case 0:
		return fmt.Sprintf("~> %d.%d", major, minor)
	case 1:
		return fmt.Sprintf("~> %d.%d.0", major, minor)
	case 2:
		return fmt.Sprintf("< %d", major+1)
	case 3:
		return fmt.Sprintf(">= %d, < %d", major, major+1)
	case 4:
		return fmt.Sprintf("%d.%d.0", major, minor)
	case 5:
		return fmt.Sprintf(">= %d, != 4.2.0", major)
	case 6:
		return fmt.Sprintf("<= %d.%d.0", major, minor)
	}
	return fmt.Sprintf(">= %d", major)
}

// module is the text of a module that requires each provider by chance, always the first. It
// also is the lines of a registry's list.
func (w *adviceWorld) module(most int) (text string, listed []string) {
	text = "terraform {\n  required_providers {\n"
	for i, name := range advisedProviders {
		if i == 0 || w.IntN(2) == 0 {
			c := w.constraint(most)
			text += fmt.Sprintf("    %s = { source = \"hashicorp/%[1]s\", version = %q }\n", name, c)
			listed = append(listed, fmt.Sprintf(". %s hashicorp/%[1]s %s", name, c))
		}
	}
	text += "  }\n"
	if w.IntN(6) == 0 {
		text += "  required_version = \">= 99\"\n"
	}
	return text + "}\n", listed
}

// newAdviceWorld makes the world of a seed.
func newAdviceWorld(t *testing.T, seed uint64) *adviceWorld {
	t.Helper()
	w := &adviceWorld{Rand: rand.New(rand.NewPCG(seed, 1)), files: map[string]string{".git/HEAD": ""}}
	for _, name := range advisedProviders {
		fmt.Fprintf(&w.world, "-- registry/registry.terraform.io/hashicorp/%s --\nplatforms: [linux_amd64]\nversions:\n", name)
		for v := range 12 {
			published := "2020-01-01"
			if v == 11 && seed%4 == 1 {
				published = "2999-01-01"
			}
			fmt.Fprintf(&w.world, "  %d.%d.0: {published: %s}\n", 1+v/3, v%3, published)
		}
	}
	for _, name := range []string{"one", "two"} {
		var list string
		for n, release := range []string{"1.0.0", "1.1.0", "2.0.0", "2.1.0"} {
			text, listed := w.module(1 + n)
			text = strings.ReplaceAll(text, ">= 99", []string{">= 1", ">= 1", ">= 99", ">= 99"}[n])
			if name == "one" && seed%5 == 2 {
				text += fmt.Sprintf("module \"nested\" {\n  source  = \"acme/two/aws\"\n  version = \"%d.1.0\"\n}\n", 1+n/2)
			}
			fmt.Fprintf(&w.world, "-- modules/registry.terraform.io/acme/%s/aws/%s/main.tf --\n%s", name, release, text)
			for _, line := range listed {
				list += release + " " + line + "\n"
			}
		}
		if seed%2 == 0 {
			fmt.Fprintf(&w.world, "-- listings/registry.terraform.io/acme/%s/aws --\n%s", name, list)
		}
	}
	root, _ := w.module(2)
	root = strings.ReplaceAll(root, "  required_version = \">= 99\"\n", "")
	if w.IntN(4) > 0 {
		root += fmt.Sprintf("module \"one\" {\n  source  = \"acme/one/aws\"\n  version = %q\n}\n", []string{"1.0.0", "~> 1.0", "~> 1.0.0", ">= 1, < 2"}[w.IntN(4)])
	}
	if w.IntN(2) == 0 {
		root += "module \"local\" {\n  source = \"../modules/local\"\n}\n"
		local, _ := w.module(2)
		w.files["modules/local/main.tf"] = strings.ReplaceAll(local, ">= 99", ">= 1") + "module \"two\" {\n  source  = \"acme/two/aws\"\n  version = \"~> 1.0\"\n}\n"
	}
	if seed%4 == 3 {
		w.git = w.repository(t)
		root += fmt.Sprintf("module \"git\" {\n  source = \"git::file://%s?ref=v1.0.0\"\n}\n", w.git)
	}
	w.files["live/main.tf"] = root
	switch seed % 4 {
	case 1:
		w.files[".github/relock.yml"] = "version: 1\nrules:\n  - minimum-age: 7d\n"
	case 2:
		w.files[".github/relock.yml"] = "version: 1\nrules:\n  - providers: [beta]\n    allow-versions: \"< 4\"\n"
	}
	return w
}

// repository makes a git repository with two releases of a module.
func (w *adviceWorld) repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, said)
		}
	}
	git("init", "-q", "-b", "main")
	for n, tag := range []string{"v1.0.0", "v2.0.0"} {
		text, _ := w.module(1 + 3*n)
		writeAll(t, dir, map[string]string{"main.tf": strings.ReplaceAll(text, ">= 99", ">= 1")})
		git("add", ".")
		git("commit", "-qm", tag)
		git("tag", tag)
	}
	return dir
}

// writeAll writes files below a directory.
func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The changes of an advice, as people read them.
var (
	adviceLine   = regexp.MustCompile(`(?m)^ +to take (it|[0-9.]+), (.+)$|^ +next: (change "|remove ")(.+)$`)
	adviceChange = regexp.MustCompile(`(change|remove) (?:"(.+?)"|(.+?)) (?:to (?:"(.+?)"|(.+?)) )?at (\S+?):([0-9]+)`)
)

// follow does to the files what the advice says, and reports how much that is. Each text must
// be on the line that the advice names.
func follow(t *testing.T, repository, advice string) int {
	t.Helper()
	changes := adviceChange.FindAllStringSubmatch(advice, -1)
	for _, c := range changes {
		name, from, to := filepath.Join(repository, c[6]), c[2]+c[3], c[4]+c[5]
		at, _ := strconv.Atoi(c[7])
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		if !strings.Contains(lines[at-1], from) {
			t.Fatalf("%q is not on the line %q of %s", from, lines[at-1], c[6])
		}
		whole := from
		if c[1] == "remove" { // with its comma
			whole = from + ", "
			if !strings.Contains(lines[at-1], whole) {
				whole = ", " + from
			}
		}
		lines[at-1] = strings.Replace(lines[at-1], whole, to, 1)
		writeAll(t, filepath.Dir(name), map[string]string{filepath.Base(name): strings.Join(lines, "\n")})
	}
	return len(changes)
}

// lockedBy is the version of each provider that terraform locks; false if init fails.
func lockedBy(t *testing.T, program string, s *sandbox.Sandbox, root string) (map[string]provider.Version, string, bool) {
	t.Helper()
	for _, name := range []string{".terraform", lockfile.Name} {
		if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	ok, said := runTools(t, program, s, root, t.TempDir(), "", []string{"init", "-upgrade", "-input=false", "-no-color"})
	if !ok {
		return nil, said, false
	}
	lock, problems := lockfile.Parse([]byte(readLock(t, root)), lockfile.Name)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	versions := map[string]provider.Version{}
	for _, l := range lock.Locks {
		versions[l.Addr.Type] = l.Version
	}
	return versions, said, true
}

// TestTerraformAgreesWithAdvice follows what why says in random root modules. Then the real
// "init -upgrade" succeeds, and selects a newer version of that provider than before. Where
// it could not select any before, it selects one.
func TestTerraformAgreesWithAdvice(t *testing.T) {
	t.Parallel()
	program, as := realTool(t, "terraform")
	advised := make([]int, 4**rounds)
	t.Run("worlds", func(t *testing.T) {
		for seed := range uint64(len(advised)) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				w := newAdviceWorld(t, seed)
				s := serveText(t, w.world.String())
				repository := t.TempDir()
				root := filepath.Join(repository, "live")
				writeAll(t, repository, w.files)
				before, _, _ := lockedBy(t, program, s, root)
				for _, name := range advisedProviders {
					_, said := runIn(t, s, repository, slices.Concat([]string{"why", name, "live"}, as)...)
					advice := adviceLine.FindString(said)
					if advice == "" {
						continue
					}
					changes := follow(t, repository, advice)
					if changes == 0 {
						t.Fatalf("nothing can be done by %q", advice)
					}
					after, output, ok := lockedBy(t, program, s, root)
					if !ok || after[name].Precedence(before[name]) <= 0 {
						t.Errorf("%s: %s selects %s before and %s after:\n%s\n%s\n%s", name, "terraform", before[name], after[name], said, output, w.files["live/main.tf"])
					}
					advised[seed]++
					writeAll(t, repository, w.files)
				}
			})
		}
	})
	worlds := 0
	for _, n := range advised {
		if n > 0 {
			worlds++
		}
	}
	if worlds < len(advised)/2 { // a world without advice proves nothing
		t.Errorf("advice was followed in %d of %d worlds", worlds, len(advised))
	}
}
