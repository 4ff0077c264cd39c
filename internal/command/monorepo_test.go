package command

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox"
)

var compared = flag.Int("compared", 50, "compare relock with the tools on `N` root modules, 15 or more")

// BenchmarkMonorepo measures the whole program on a monorepo, against a registry
// on loopback: 10 providers in 5 versions each for 4 platforms, which are 200
// packages, and root modules that require 5 to 9 of the providers. There is no
// lock file at first.
//
//	terraform  terraform init -upgrade and providers lock for one root module after another
//	tofu       tofu init -upgrade and providers lock in the same way
//	tfupdate   tfupdate lock for all root modules, with exact versions in them, which it needs
//	floor      the hashing of all packages, from memory and on all cores, and nothing else
//	cold       relock upgrade --exact, which remembers nothing
//	warm       the same with what a run before has remembered
//	current    the same where the lock files are right, too
//	line       cold on a line with 20 ms and 50 MB/s
//	distant    warm on a line with 100 ms
//
// The first three run if the tools are on PATH. The times are those of programs
// from start to end. x is how many times faster than terraform relock is, x-tofu
// than tofu, x-tfupdate than tfupdate, x-floor how many times longer than the floor, and
// x-line how many times longer than the bytes alone need on the line; cpu-s is what the
// programs used of the processors, and alike in how many lock files tfupdate writes the
// entries that relock writes. The other metrics are of relock's report.
//
// It fails if any package is downloaded less or more often than once, and if a
// lock file differs from terraform's.
//
//	go test -run '^$' -bench 'Monorepo$' -benchtime 1x -timeout 1h ./internal/command
func BenchmarkMonorepo(b *testing.B) {
	m := newMonorepo(b)
	n := *compared
	var terraform, tofu, tfupdate, floor time.Duration
	var judged, alike map[string]string // terraform's lock files, and tofu's
	printVersion(b, "terraform", "version")
	b.Run(fmt.Sprintf("terraform/%d", n), func(b *testing.B) { terraform, judged = m.commands(b, "terraform", m.write(b, n, "~> %d.0")) })
	printVersion(b, "tofu", "version")
	b.Run(fmt.Sprintf("tofu/%d", n), func(b *testing.B) { tofu, alike = m.commands(b, "tofu", m.write(b, n, "~> %d.0")) })
	printVersion(b, "tfupdate", "--version")
	b.Run(fmt.Sprintf("tfupdate/%d", n), func(b *testing.B) { tfupdate = m.tfupdate(b, m.write(b, n, "%d.0.0")) })
	b.Run(fmt.Sprintf("floor/%d", n), func(b *testing.B) { floor = m.floor(b) })
	for _, roots := range []int{n, 500, 5000} {
		b.Run(fmt.Sprintf("cold/%d", roots), func(b *testing.B) {
			dir := m.write(b, roots, "~> %d.0")
			took := m.relock(b, dir, m.sandbox.CLIConfig(), m.forget)
			m.checkDownloads(b, b.N)
			if roots == n {
				reportRatio(b, "x-floor", took, floor)
				reportRatio(b, "x", terraform, took)
				reportRatio(b, "x-tofu", tofu, took)
				reportRatio(b, "x-tfupdate", tfupdate, took)
				checkLocks(b, judged, lockFiles(b, dir))
				checkLocks(b, byTerraform(alike), lockFiles(b, dir))
			}
		})
	}
	for _, roots := range []int{50, 5000} {
		dir := m.write(b, roots, "~> %d.0")
		b.Run(fmt.Sprintf("warm/%d", roots), func(b *testing.B) {
			m.fill(b, dir)
			m.relock(b, dir, m.sandbox.CLIConfig(), unlock)
			m.checkDownloads(b, 0)
		})
		b.Run(fmt.Sprintf("current/%d", roots), func(b *testing.B) {
			m.fill(b, dir)
			m.relock(b, dir, m.sandbox.CLIConfig(), func(*testing.B, string) {})
			m.checkDownloads(b, 0)
		})
	}
	b.Run("line/50", func(b *testing.B) {
		dir := m.write(b, 50, "~> %d.0")
		line := newSlowLine(b, m.sandbox.URL(), 20*time.Millisecond, 50e6)
		took := m.relock(b, dir, strings.ReplaceAll(m.sandbox.CLIConfig(), m.sandbox.URL(), line.url), m.forget)
		m.checkDownloads(b, b.N)
		reportRatio(b, "x-line", took, line.alone(m.bytes))
	})
	b.Run("distant/50", func(b *testing.B) {
		dir := m.write(b, 50, "~> %d.0")
		m.fill(b, dir)
		line := newSlowLine(b, m.sandbox.URL(), 100*time.Millisecond, 50e6)
		m.relock(b, dir, strings.ReplaceAll(m.sandbox.CLIConfig(), m.sandbox.URL(), line.url), unlock)
		m.checkDownloads(b, 0)
	})
}

// monorepo is the registry, relock as it is built, and the home of all programs.
type monorepo struct {
	sandbox  *sandbox.Sandbox
	shape    registryShape
	packages int
	bytes    int64 // of all packages
	program  string
	home     string
	cpu      time.Duration // that programs have used
	more     []string      // of the environment of programs
}

var (
	// monorepoPlatforms begins with the one that the programs run on.
	monorepoPlatforms = []string{runtime.GOOS + "_" + runtime.GOARCH, "freebsd_amd64", "windows_386", "solaris_amd64"}
	// monorepoSizes are those of the providers' zips in MB: a few large ones and
	// many small ones, as on a public registry.
	monorepoSizes = []float64{20, 12, 8, 6, 4, 3, 2.5, 2, 1.5, 1}
	// monorepoVersions are those that root modules select; others are listed, too.
	monorepoVersions = []string{"1.0.0", "2.0.0", "3.0.0", "4.0.0", "5.0.0"}
)

// registryShape is what a registry has of each provider.
type registryShape struct {
	sizes               []float64 // in MB, of the zips of each provider
	versions, platforms []string
}

func newMonorepo(b *testing.B) *monorepo {
	b.Helper()
	return serveMonorepo(b, registryShape{monorepoSizes, monorepoVersions, monorepoPlatforms})
}

// serveMonorepo serves the providers p0, p1 and so on.
func serveMonorepo(b *testing.B, shape registryShape) *monorepo {
	b.Helper()
	m := &monorepo{home: b.TempDir(), program: built(b), shape: shape}
	var listed []string
	for minor := range 300 {
		listed = append(listed, fmt.Sprintf("0.%d.0", minor+1))
	}
	var providers []sandbox.LargeProvider
	for i, size := range shape.sizes {
		providers = append(providers, sandbox.LargeProvider{
			Addr:     provider.Addr{Host: provider.Terraform.DefaultHost(), Namespace: "acme", Type: fmt.Sprintf("p%d", i)},
			Also:     []string{string(provider.OpenTofu.DefaultHost())},
			Versions: shape.versions, Listed: listed, Platforms: shape.platforms, Size: int(size * 1e6),
		})
	}
	world, err := sandbox.NewLarge(providers)
	if err != nil {
		b.Fatal(err)
	}
	packages, bytes := world.Packages()
	m.packages, m.bytes = packages/2, bytes/2 // two registries serve the same, and a program asks one
	if m.sandbox, err = sandbox.Start(world); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(m.sandbox.Close)
	return m
}

// built returns the program, built as tests find the code.
func built(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "relock")
	build := exec.CommandContext(b.Context(), "go", "build", "-o", program, "github.com/relock-dev/relock")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("building relock: %v\n%s", err, out)
	}
	return program
}

// write lays root modules out, and a module that each of them calls. The
// constraint has the number of the major version to select.
func (m *monorepo) write(b *testing.B, roots int, constraint string) string {
	b.Helper()
	return m.lay(b, roots, func(i int) string { return rootModule(i, constraint) })
}

// lay lays root modules of these texts out.
func (m *monorepo) lay(b *testing.B, roots int, text func(i int) string) string {
	b.Helper()
	dir := b.TempDir()
	put := func(name, content string) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	put(".git/HEAD", "ref: refs/heads/main\n")
	put("modules/common/main.tf", "terraform {\n  required_providers {\n    p0 = {\n      source = \"acme/p0\"\n    }\n  }\n}\n")
	for i := range roots {
		put(fmt.Sprintf("live/%02d/%04d/main.tf", i%50, i), text(i))
	}
	return dir
}

// rootModule requires 5 to 9 providers, the first one always. Any 45 in a row
// require every provider in every version. It has a backend, without which a
// search takes no module without a lock file for a root module.
func rootModule(i int, constraint string) string {
	var required, resources strings.Builder
	constraint = fmt.Sprintf(constraint, 1+i%len(monorepoVersions))
	for k := range 5 + i%5 {
		name := "p0"
		if k > 0 {
			name = fmt.Sprintf("p%d", 1+(i+k)%(len(monorepoSizes)-1))
		}
		fmt.Fprintf(&required, "    %s = {\n      source  = \"acme/%[1]s\"\n      version = %q\n    }\n", name, constraint)
		fmt.Fprintf(&resources, "resource \"%s_thing\" \"main\" {\n  name = \"${local.name}-main\"\n  tags = local.tags\n}\n", name)
	}
	return fmt.Sprintf(`terraform {
  backend "local" {}

  required_providers {
%s  }
}

locals {
  name = "root-%d"
  tags = { managed = "yes" }
}

module "common" {
  source = "../../../modules/common"
}

%s`, &required, i, &resources)
}

// commands returns how long terraform or tofu takes for all root modules, and their
// lock files.
func (m *monorepo) commands(b *testing.B, name, dir string) (time.Duration, map[string]string) {
	program := tool(b, name)
	lock := []string{"providers", "lock"}
	for _, p := range monorepoPlatforms {
		lock = append(lock, "-platform="+p)
	}
	roots := rootsIn(b, dir)
	cli := m.sandbox.CLIConfig()
	before := m.cpu
	for b.Loop() {
		for _, root := range roots {
			m.exec(b, cli, root, program, "init", "-upgrade", "-input=false")
			m.exec(b, cli, root, program, lock...)
			b.StopTimer()
			if err := os.RemoveAll(filepath.Join(root, ".terraform")); err != nil { // it is large
				b.Fatal(err)
			}
			b.StartTimer()
		}
		b.StopTimer()
		packages, bytes := m.sandbox.Downloads()
		m.sandbox.ResetRequests()
		b.ReportMetric(float64(packages), "packages")
		b.ReportMetric(float64(bytes)/1e6, "MB")
		b.StartTimer()
	}
	b.ReportMetric((m.cpu-before).Seconds()/float64(b.N), "cpu-s")
	return b.Elapsed() / time.Duration(b.N), lockFiles(b, dir)
}

// tfupdate returns how long tfupdate takes for all root modules. Of a lock file it
// completes the entries, and it begins with no line of it.
func (m *monorepo) tfupdate(b *testing.B, dir string) time.Duration {
	program := tool(b, "tfupdate")
	args := []string{"lock", "-r"}
	for _, p := range monorepoPlatforms {
		args = append(args, "--platform="+p)
	}
	host := string(provider.Terraform.DefaultHost()) // its command lock has no setting for another
	m.more = openProxy(b, host, m.sandbox.URL()+"/"+host)
	defer func() { m.more = nil }()
	before := m.cpu
	for b.Loop() {
		b.StopTimer()
		for _, root := range rootsIn(b, dir) { // it changes lock files and makes none
			if err := os.WriteFile(filepath.Join(root, lockfile.Name), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		m.exec(b, m.sandbox.CLIConfig(), dir, program, append(args, "live")...)
	}
	packages, bytes := m.sandbox.Downloads()
	b.ReportMetric(float64(packages)/float64(b.N), "packages")
	b.ReportMetric(float64(bytes)/1e6/float64(b.N), "MB")
	b.ReportMetric((m.cpu-before).Seconds()/float64(b.N), "cpu-s")
	files := lockFiles(b, dir)
	m.fill(b, dir)
	b.ReportMetric(float64(alike(b, files, lockFiles(b, dir))), "alike")
	return b.Elapsed() / time.Duration(b.N)
}

// alike counts the lock files that have the same entries with the same hashes as ours.
func alike(b *testing.B, theirs, ours map[string]string) int {
	b.Helper()
	n := 0
	for name, text := range ours {
		want, problems := lockfile.Parse([]byte(text), name)
		got, more := lockfile.Parse([]byte(theirs[name]), name)
		if len(problems)+len(more) > 0 {
			b.Fatal(problems, more)
		}
		slices.SortFunc(got.Locks, lockfile.Lock.Compare)
		if slices.EqualFunc(want.Locks, got.Locks, lockfile.Lock.Equal) {
			n++
		}
	}
	return n
}

// floor returns how long the packages take where nothing is done but to hash them: what
// no run can go below that must prove them all on this machine.
func (m *monorepo) floor(b *testing.B) time.Duration {
	for b.Loop() {
		for _, version := range m.shape.versions { // all versions would take more memory than some machines have
			b.StopTimer()
			packages := m.fetch(b, version)
			b.StartTimer()
			var g errgroup.Group
			g.SetLimit(runtime.GOMAXPROCS(0))
			for _, p := range packages {
				g.Go(func() error {
					_, err := hash.Stream(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(p)), nil }, "")
					return err
				})
			}
			if err := g.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	}
	took := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(float64(m.bytes)/1e6/took.Seconds(), "MB/s")
	m.sandbox.ResetRequests()
	return took
}

// fetch returns the packages of a version of each provider, for all platforms.
func (m *monorepo) fetch(b *testing.B, version string) [][]byte {
	b.Helper()
	var packages [][]byte
	for i := range m.shape.sizes {
		for _, p := range m.shape.platforms {
			url := fmt.Sprintf("%s/%s/files/acme/p%d/%s/terraform-provider-p%[3]d_%[4]s_%s.zip", m.sandbox.URL(), provider.Terraform.DefaultHost(), i, version, p)
			resp, err := http.Get(url)
			if err != nil {
				b.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				b.Fatalf("fetching %s: %s, %v", url, resp.Status, err)
			}
			packages = append(packages, body)
		}
	}
	return packages
}

// printVersion prints which release of a tool is on PATH, in the form in which results
// of benchmarks have their surroundings: a key and a value.
func printVersion(b *testing.B, name, argument string) {
	b.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		return
	}
	out, err := exec.CommandContext(b.Context(), program, argument).Output()
	if err != nil {
		b.Fatalf("%s %s: %v", name, argument, err)
	}
	fmt.Printf("%s: %s\n", name, regexp.MustCompile(`\d+\.\d+\.\d+\S*`).Find(out)) // tofu begins with warnings
}

func tool(b *testing.B, name string) string {
	b.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		b.Skipf("%s is not on PATH", name)
	}
	return program
}

// relock returns how long relock takes for all root modules. Before each run the
// scene is prepared.
func (m *monorepo) relock(b *testing.B, dir, cli string, prepare func(*testing.B, string)) time.Duration {
	b.Helper()
	var out []byte
	before := m.cpu
	for b.Loop() {
		b.StopTimer()
		prepare(b, dir)
		b.StartTimer()
		out = m.upgrade(b, dir, cli)
	}
	b.ReportMetric((m.cpu-before).Seconds()/float64(b.N), "cpu-s")
	reportStats(b, out)
	return b.Elapsed() / time.Duration(b.N)
}

func (m *monorepo) upgrade(b *testing.B, dir, cli string) []byte {
	b.Helper()
	args := []string{"upgrade", "--exact", "--create", "--tool", "terraform", "--format", "json"}
	for _, p := range m.shape.platforms {
		args = append(args, "--platform", p)
	}
	return m.exec(b, cli, dir, m.program, append(args, "live/...")...)
}

// fill lets a run remember everything, and write all lock files.
func (m *monorepo) fill(b *testing.B, dir string) {
	b.Helper()
	m.forget(b, dir)
	m.upgrade(b, dir, m.sandbox.CLIConfig())
	m.sandbox.ResetRequests()
}

// forget removes lock files and what relock remembers.
func (m *monorepo) forget(b *testing.B, dir string) {
	b.Helper()
	if err := os.RemoveAll(filepath.Join(m.home, "cache")); err != nil {
		b.Fatal(err)
	}
	unlock(b, dir)
}

// unlock removes lock files.
func unlock(b *testing.B, dir string) {
	b.Helper()
	for name := range lockFiles(b, dir) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			b.Fatal(err)
		}
	}
}

// exec runs a program to its end, and returns what it prints.
func (m *monorepo) exec(b *testing.B, cli, dir, program string, args ...string) []byte {
	b.Helper()
	rc := filepath.Join(m.home, "terraformrc")
	if err := os.WriteFile(rc, []byte(cli), 0o644); err != nil {
		b.Fatal(err)
	}
	var out, talk bytes.Buffer
	cmd := exec.CommandContext(b.Context(), program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &talk
	cmd.Env = append([]string{
		"HOME=" + m.home, "XDG_CACHE_HOME=" + filepath.Join(m.home, "cache"), "PATH=" + os.Getenv("PATH"),
		"TF_CLI_CONFIG_FILE=" + rc, "CHECKPOINT_DISABLE=1",
	}, m.more...)
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, &out, &talk)
	}
	m.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return out.Bytes()
}

// rootsIn returns the directories of the root modules.
func rootsIn(b *testing.B, dir string) []string {
	b.Helper()
	roots, err := filepath.Glob(filepath.Join(dir, "live", "*", "*"))
	if err != nil {
		b.Fatal(err)
	}
	return roots
}

// lockFiles reads the lock files, by their paths in the directory.
func lockFiles(b *testing.B, dir string) map[string]string {
	b.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "live", "*", "*", lockfile.Name))
	if err != nil {
		b.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		files[strings.TrimPrefix(name, dir)] = string(src)
	}
	return files
}

// checkLocks compares with a tool's lock files, if there are any.
func checkLocks(b *testing.B, want, got map[string]string) {
	b.Helper()
	if diff := cmp.Diff(want, got); want != nil && diff != "" {
		b.Errorf("lock files (-tool +relock):\n%s", diff)
	}
}

// byTerraform are tofu's lock files as terraform would have written them: with the name
// of the tool, and the registry from which it takes what names none.
func byTerraform(files map[string]string) map[string]string {
	alike := strings.NewReplacer("registry.opentofu.org", "registry.terraform.io", `"tofu init"`, `"terraform init"`)
	for name, text := range files {
		files[name] = alike.Replace(text)
	}
	return files
}

// checkDownloads holds that every package was downloaded whole that many times
// since the last look.
func (m *monorepo) checkDownloads(b *testing.B, times int) {
	b.Helper()
	packages, bytes := m.sandbox.Downloads()
	m.sandbox.ResetRequests()
	if packages != times*m.packages || bytes != int64(times)*m.bytes {
		b.Errorf("%d packages with %d bytes were downloaded, want %d times %d with %d bytes", packages, bytes, times, m.packages, m.bytes)
	}
}

// reportStats makes metrics of what relock's report says of the last run.
func reportStats(b *testing.B, document []byte) {
	b.Helper()
	var report struct {
		Stats struct {
			Requests  float64
			Bytes     float64
			PeakBytes float64 `json:"peak_bytes"`
			Stages    []struct {
				Stage   string
				Seconds float64
			}
		}
	}
	if err := json.Unmarshal(document, &report); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(report.Stats.Requests, "requests")
	b.ReportMetric(report.Stats.Bytes/1e6, "MB")
	b.ReportMetric(report.Stats.PeakBytes/(1<<20), "peak-MiB")
	for _, s := range report.Stats.Stages {
		b.ReportMetric(s.Seconds, s.Stage+"-s")
	}
}

// reportRatio says how many times longer the first took, if both are known.
func reportRatio(b *testing.B, unit string, long, short time.Duration) {
	if long > 0 && short > 0 {
		b.ReportMetric(long.Seconds()/short.Seconds(), unit)
	}
}
