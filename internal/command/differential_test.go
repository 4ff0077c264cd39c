package command

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/sandbox"
)

var (
	rounds = flag.Int("rounds", 25, "random worlds in which TestTerraformAgrees compares us with the real terraform")
	seed   = flag.Uint64("seed", 1, "seed of the first of them")
)

// TestTerraformAgrees makes a random configuration, lock file and registry from
// a seed, lets the real terraform run init -upgrade and providers lock, and
// compares the bytes with those of relock upgrade --exact.
//
//	go test ./internal/command -run TerraformAgrees -rounds 2000
func TestTerraformAgrees(t *testing.T) {
	t.Parallel()
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is not on PATH")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the random worlds' first platform is linux_amd64")
	}
	version := terraformVersion(t, terraform)
	for i := range *rounds {
		seed := *seed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newRandomWorld(seed)
			s := w.start(t)
			root := filepath.Join(t.TempDir(), "repository", "root")
			w.write(t, s, root)

			theirs := filepath.Join(t.TempDir(), "repository")
			if err := os.CopyFS(theirs, os.DirFS(filepath.Dir(root))); err != nil {
				t.Fatal(err)
			}
			judged, output := judge(t, terraform, s, filepath.Join(theirs, "root"))
			args := []string{"upgrade", "--exact", "--tool", "terraform", "--tool-version", version}
			for _, p := range judgedPlatforms {
				args = append(args, "--platform", p)
			}
			before := readLock(t, root)
			status, ours := runIn(t, s, root, append(args, ".")...)
			want := before // what a failure of either step leaves
			if judged {
				want = readLock(t, filepath.Join(theirs, "root"))
			}
			if got := status == ExitOK; got != judged {
				t.Errorf("relock succeeded: %v, terraform: %v\n%s\nrelock:\n%s\nterraform:\n%s", got, judged, w, ours, output)
			}
			if diff := cmp.Diff(want, readLock(t, root)); diff != "" {
				t.Errorf("lock file (-terraform +relock):\n%s\n%s", diff, w)
			}
		})
	}
}

// judgedPlatforms are locked by both; terraform runs on the first.
var judgedPlatforms = []string{"linux_amd64", "darwin_arm64"}

func terraformVersion(t *testing.T, terraform string) string {
	t.Helper()
	out, err := exec.Command(terraform, "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimPrefix(line, "Terraform v")
}

// judge runs the two commands and reports whether both succeeded.
func judge(t *testing.T, terraform string, s *sandbox.Sandbox, dir string) (bool, string) {
	t.Helper()
	rc := filepath.Join(t.TempDir(), "terraformrc")
	if err := os.WriteFile(rc, []byte(s.CLIConfig()), 0o644); err != nil {
		t.Fatal(err)
	}
	lock := []string{"providers", "lock"}
	for _, p := range judgedPlatforms {
		lock = append(lock, "-platform="+p)
	}
	var output bytes.Buffer
	for _, args := range [][]string{{"init", "-upgrade", "-input=false", "-no-color"}, lock} {
		cmd := exec.Command(terraform, args...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + rc, "CHECKPOINT_DISABLE=1"}
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Run(); err != nil {
			return false, output.String()
		}
	}
	return true, output.String()
}

func readLock(t *testing.T, dir string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(dir, lockfile.Name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(src)
}

// randomWorld is a registry, a configuration and what led to its lock file.
type randomWorld struct {
	rand      *rand.Rand
	archive   txtar.Archive
	providers []randomProvider
	root      string // main.tf
	child     string // of the module that root calls
	earlier   string // main.tf at the time of the old lock file; empty: none
	spoil     func(string) string
}

type randomProvider struct {
	name, source string
	versions     []string
}

func (w *randomWorld) String() string {
	return fmt.Sprintf("%s-- root/main.tf --\n%s-- child/main.tf --\n%s-- earlier --\n%s", txtar.Format(&w.archive), w.root, w.child, w.earlier)
}

func newRandomWorld(seed uint64) *randomWorld {
	w := &randomWorld{rand: rand.New(rand.NewPCG(seed, 0))}
	for _, name := range []string{"alpha", "beta", "gamma", "delta"}[:1+w.rand.IntN(4)] {
		w.addProvider(name)
	}
	w.root = w.config(w.providers, `module "child" {
  source = "../child"
}
`)
	w.child = w.config(w.providers[:w.rand.IntN(len(w.providers)+1)], "")
	if w.chance(70) {
		w.earlier = w.pinned()
	}
	w.spoil = w.spoiler()
	return w
}

func (w *randomWorld) chance(percent int) bool { return w.rand.IntN(100) < percent }

func pick[T any](w *randomWorld, list ...T) T { return list[w.rand.IntN(len(list))] }

func (w *randomWorld) addProvider(name string) {
	p := randomProvider{name: name, source: pick(w, "hashicorp/", "acme/", "reg.example/acme/") + name}
	seen := map[string]bool{}
	for range 2 + w.rand.IntN(6) {
		v := fmt.Sprintf("%d.%d.%d", w.rand.IntN(3), w.rand.IntN(12), w.rand.IntN(3))
		if seen[v] || v == "0.0.0" {
			continue
		}
		seen[v] = true
		switch {
		case w.chance(10):
			v += pick(w, "-beta1", "-rc.2")
		case w.chance(5):
			v += "+build.7"
		}
		p.versions = append(p.versions, v)
	}
	host := "registry.terraform.io/" + p.source
	if strings.Count(p.source, "/") == 2 {
		host = p.source
	}
	platforms := pick(w, "linux_amd64, darwin_arm64, windows_amd64", "linux_amd64, darwin_arm64", "darwin_arm64, linux_amd64, linux_arm64")
	if w.chance(5) {
		platforms = "linux_amd64"
	}
	text := fmt.Sprintf("platforms: [%s]\nversions: [%s]\n", platforms, strings.Join(p.versions, ", "))
	w.archive.Files = append(w.archive.Files, txtar.File{Name: "registry/" + host, Data: []byte(text)})
	w.providers = append(w.providers, p)
}

// config requires the providers, each by some constraints that versions of it
// may or may not meet.
func (w *randomWorld) config(providers []randomProvider, rest string) string {
	var b strings.Builder
	b.WriteString("terraform {\n  required_providers {\n")
	for _, p := range providers {
		fmt.Fprintf(&b, "    %s = {\n      source = %q\n", p.name, p.source)
		if c := w.constraints(p); c != "" {
			fmt.Fprintf(&b, "      version = %q\n", c)
		}
		b.WriteString("    }\n")
	}
	b.WriteString("  }\n}\n" + rest)
	return b.String()
}

func (w *randomWorld) constraints(p randomProvider) string {
	near := pick(w, p.versions...)
	core, _, _ := strings.Cut(near, "-")
	core, _, _ = strings.Cut(core, "+")
	minor := core[:strings.LastIndex(core, ".")]
	term := func() string {
		switch w.rand.IntN(9) {
		case 0:
			return near
		case 1:
			return "~> " + minor
		case 2:
			return "~> " + core
		case 3:
			return ">= " + minor
		case 4:
			return "<= " + core
		case 5:
			return "!= " + core
		case 6:
			return "> 0.1"
		case 7:
			return "< 3"
		}
		return ">= 0"
	}
	switch w.rand.IntN(4) {
	case 0:
		return ""
	case 1:
		return term() + ", " + term()
	}
	return term()
}

// pinned is a configuration that selected some version of some providers.
func (w *randomWorld) pinned() string {
	providers := slices.Clone(w.providers)
	if len(providers) > 1 && w.chance(30) {
		providers = providers[1:]
	}
	var b strings.Builder
	b.WriteString("terraform {\n  required_providers {\n")
	for _, p := range providers {
		fmt.Fprintf(&b, "    %s = {\n      source  = %q\n      version = %q\n    }\n", p.name, p.source, pick(w, p.versions...))
	}
	b.WriteString("  }\n}\n")
	return b.String()
}

// spoiler alters a lock file in a way that the tools read.
func (w *randomWorld) spoiler() func(string) string {
	n := w.rand.IntN(8)
	return func(lock string) string {
		lines := strings.SplitAfter(lock, "\n")
		switch n {
		case 0: // the h1 hashes are lost
			lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, `"h1:`) })
		case 1: // a hash of a scheme that nobody knows
			for i, l := range lines {
				if strings.Contains(l, "hashes = [") {
					lines[i] = l + "    \"h2:unknown\",\n"
				}
			}
		case 2: // a comment, and no header
			lines = append([]string{"# by hand\n"}, lines[2:]...)
		case 3: // the hashes in another order
			first := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"zh:`) })
			if first >= 0 && strings.Contains(lines[first+1], `"zh:`) {
				lines[first], lines[first+1] = lines[first+1], lines[first]
			}
		case 4: // other constraints
			for i, l := range lines {
				if strings.Contains(l, "constraints") {
					lines[i] = "  constraints = \">= 0.1.0\"\n"
				}
			}
		}
		return strings.Join(lines, "")
	}
}

func (w *randomWorld) start(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	world, err := sandbox.ParseWorld(&w.archive)
	return serve(t, world, err)
}

// write lays the root module, its child and the old lock file out.
func (w *randomWorld) write(t *testing.T, s *sandbox.Sandbox, root string) {
	t.Helper()
	child := filepath.Join(filepath.Dir(root), "child")
	for _, dir := range []string{root, child} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	main := filepath.Join(root, "main.tf")
	if w.earlier != "" {
		writeFile(t, main, w.earlier)
		platform := pick(w, "linux_amd64", "darwin_arm64")
		if status, _ := runIn(t, s, root, "upgrade", "--platform", "linux_amd64", "--platform", platform, "."); status == ExitOK {
			writeFile(t, filepath.Join(root, lockfile.Name), w.spoil(readLock(t, root)))
		}
	}
	writeFile(t, main, w.root)
	writeFile(t, filepath.Join(child, "main.tf"), w.child)
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
