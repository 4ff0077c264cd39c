package command

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/sandbox"
)

// provenReleases is how many the lock files of proven are about.
const provenReleases = 30

var provenPlatforms = []string{
	"darwin_amd64", "darwin_arm64", "freebsd_386", "freebsd_amd64", "freebsd_arm", "linux_386", "linux_amd64", "linux_arm",
	"linux_arm64", "openbsd_386", "openbsd_amd64", "solaris_amd64", "windows_386", "windows_amd64", "windows_arm64",
}

// proven are two root modules, whose lock files hold every hash of the same releases,
// and a hash cache that knows all packages.
type proven struct {
	session
	sandbox *sandbox.Sandbox
	dir     string
}

func newProven(tb testing.TB, tool string) proven {
	tb.Helper()
	var world strings.Builder
	root := "terraform {\n  required_providers {\n"
	for i := range provenReleases {
		// OpenTofu's registry states the hashes of all packages beside each.
		fmt.Fprintf(&world, "-- registry/registry.terraform.io/acme/p%d --\nalso: [registry.opentofu.org]\npackages: %t\nplatforms: [%s]\nversions: [1.0.0]\n", i, tool == "opentofu", strings.Join(provenPlatforms, ", "))
		root += fmt.Sprintf("    p%d = {\n      source = \"acme/p%[1]d\"\n    }\n", i)
	}
	p := proven{session{home: tb.TempDir()}, serveText(tb, world.String()), tb.TempDir()}
	for _, name := range []string{"one", "two"} {
		write(tb, filepath.Join(p.dir, name, "main.tf"), []byte(root+"  }\n}\n"))
	}
	for _, args := range [][]string{
		{"lock", "--create", "--platform", strings.Join(provenPlatforms, ","), "one", "two"},
		{"verify", "--strict"}, // hashes what a registry alone has stated
	} {
		args = append(args, "--tool", tool, "--cache", "hashes")
		if status, said := p.run(tb, p.sandbox, p.dir, args...); status != ExitOK {
			tb.Fatalf("%v = %d:\n%s", args, status, said)
		}
	}
	return p
}

// verify returns the report of relock verify, and what was asked for it.
func (p proven) verify(tb testing.TB, args ...string) (report []byte, asked []sandbox.Request) {
	tb.Helper()
	p.sandbox.ResetRequests()
	args = append([]string{"verify", "--format", "json", "--cache", "hashes"}, args...)
	status, said := p.run(tb, p.sandbox, p.dir, args...)
	if status != ExitOK {
		tb.Fatalf("%v = %d:\n%s", args, status, said)
	}
	return []byte(said), p.sandbox.Requests()
}

// TestVerifyAsksLittle holds that what the hash cache knows is proven by what a
// registry says of one package, by the list and by its signature.
func TestVerifyAsksLittle(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"terraform", "opentofu"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			p := newProven(t, tool)
			for _, args := range [][]string{
				{}, {"--strict"}, {"--platform", strings.Join(provenPlatforms, ",")}, {"--ledger", "relock.ledger"}, {"--max-download", "0"},
			} {
				report, asked := p.verify(t, append(args, "--tool", tool)...)
				checkProven(t, report)
				about := map[string]int{}
				for _, r := range asked {
					if r.Method != http.MethodGet || strings.HasSuffix(r.Path, ".zip") {
						t.Errorf("verify %v asks about a package: %s", args, r)
					}
					for i := range provenReleases {
						if name := fmt.Sprintf("/acme/p%d/", i); strings.Contains(r.Path, name) {
							about[name]++
						}
					}
				}
				for name, n := range about {
					if n != 3 {
						t.Errorf("verify %v asks %d times about %s, want 3: a package, the list and its signature", args, n, name)
					}
				}
				if len(about) != provenReleases || len(asked) != 3*provenReleases {
					t.Errorf("verify %v asks %d times about %d releases, want %d times about %d", args, len(asked), len(about), 3*provenReleases, provenReleases)
				}
			}
		})
	}
}

// checkProven holds that every hash of the lock files is proven: the signed list has
// one for each package, and of each package one is known of its content.
func checkProven(tb testing.TB, document []byte) {
	tb.Helper()
	var report struct {
		Modules []struct {
			Counts   map[string]int
			Findings []json.RawMessage
		}
	}
	if err := json.Unmarshal(document, &report); err != nil {
		tb.Fatalf("%v:\n%s", err, document)
	}
	n, want := map[string]int{}, 2*provenReleases*len(provenPlatforms)
	for _, m := range report.Modules {
		n["findings"] += len(m.Findings)
		for verdict, hashes := range m.Counts {
			n[verdict] += hashes
		}
	}
	if n["hashes"] != 2*want || n["list"] != want || n["cache"] != want || n["findings"] != 0 {
		tb.Fatalf("counts %v, want %d hashes, half in the lists and half known by the cache", n, 2*want)
	}
}

// BenchmarkVerify measures the whole program on two root modules that require the same
// 30 providers for 15 platforms, from a hash cache that knows all of their packages. It
// fails if a hash is not proven.
//
//	go test -run '^$' -bench Verify -benchtime 10x ./internal/command
func BenchmarkVerify(b *testing.B) {
	for _, tool := range []string{"terraform", "opentofu"} {
		b.Run(tool, func(b *testing.B) {
			p := newProven(b, tool)
			var report []byte
			var asked []sandbox.Request
			for b.Loop() {
				report, asked = p.verify(b, "--tool", tool)
			}
			checkProven(b, report)
			packages, _ := p.sandbox.Downloads()
			b.ReportMetric(float64(len(asked))/provenReleases, "requests/release")
			b.ReportMetric(float64(packages), "packages")
			b.ReportMetric(float64(2*2*provenReleases*len(provenPlatforms)), "hashes")
			reportStats(b, report)
		})
	}
}

// TestChangedLockFileIsFoundByTheProgram plays changes of one character through the whole
// program: those of hashes, of the version and of the provider's name.
func TestChangedLockFileIsFoundByTheProgram(t *testing.T) {
	t.Parallel()
	s := serveText(t, "-- registry/registry.terraform.io/acme/one --\nplatforms: [linux_amd64, darwin_arm64]\nversions: [1.0.0, 1.0.1]\n")
	o, dir := session{home: t.TempDir()}, t.TempDir()
	lock := filepath.Join(dir, "live", lockfile.Name)
	write(t, lock, []byte("provider \"registry.terraform.io/acme/one\" {\n  version = \"1.0.0\"\n}\n"))
	if status, said := o.run(t, s, dir, "lock", "live", "--platform", "linux_amd64,darwin_arm64", "--cache", "hashes"); status != ExitOK {
		t.Fatalf("lock = %d:\n%s", status, said)
	}
	text, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(text []byte) (int, string) {
		write(t, lock, text)
		return o.run(t, s, dir, "verify", "live", "--cache", "hashes")
	}
	if status, said := verify(text); status != ExitOK {
		t.Fatalf("verify of a sound lock file = %d:\n%s", status, said)
	}
	places := regexp.MustCompile(`acme/one|1\.0\.0|(h1|zh):[^"]+`).FindAllIndex(text, -1)
	if len(places) != 6 {
		t.Fatalf("%d places in\n%s", len(places), text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, at := range places {
		for range 6 {
			mutant, i := slices.Clone(text), at[0]+r.IntN(at[1]-at[0])
			if mutant[i] ^= 1; r.IntN(3) == 0 && mutant[i]|0x20 >= 'a' && mutant[i]|0x20 <= 'z' {
				mutant[i] = text[i] ^ 0x20 // of the other case
			}
			if status, said := verify(mutant); status == ExitOK {
				t.Errorf("verify = %d though %q is changed into %q:\n%s", status, text[at[0]:at[1]], mutant[at[0]:at[1]], said)
			}
		}
	}
}
