package command

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/lockfile"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/bubble"
)

// mostAfter is how long a run may take after the last byte of an answer that it used:
// the minute of a question, and its second chance.
const mostAfter = 70 * time.Second

// An estate is a repository of root modules below live, the servers that it needs,
// and what the lock files were made by.
type estate struct {
	world   string            // of the sandbox
	files   map[string]string // of the repository; ADDRESS is the server with TLS
	earlier map[string]string // as they were when the lock files were made
	cli     string            // more of the CLI configuration
	serves  bool              // the server with TLS is a registry by its own name, too
	args    []string
	locks   map[string]string // by root module
}

// outcome is what a run of relock has left in an estate.
type outcome struct {
	status  int
	output  string
	locks   map[string]string // by root module
	entries map[string]string // by root module and provider
	asked   []string          // the paths of requests
	took    time.Duration
	after   time.Duration // the last answer that was not spoilt
}

// startInBubble serves a world in a bubble, in the November in which its keys are valid: the time
// of a bubble begins years before. The caller closes it before the bubble ends.
func startInBubble(t *testing.T, text string) (*sandbox.Sandbox, *bubble.Net) {
	t.Helper()
	world, err := sandbox.ParseWorld(txtar.Parse([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	network := &bubble.Net{}
	s, err := sandbox.StartOn(world, network.Listen)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)))
	return s, network
}

// run runs relock in the estate, in virtual time. It must be called in a bubble.
func (e *estate) run(t *testing.T, files map[string]string, faults []string, args ...string) outcome {
	t.Helper()
	s, network := startInBubble(t, e.world)
	defer s.Close()
	if e.serves {
		s.Mount("/.well-known/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"providers.v1": "%[1]s/registry.terraform.io/v1/providers/", "modules.v1": "%[1]s/registry.terraform.io/v1/modules/"}`, s.SecureURL())
		}))
	}
	address := strings.TrimPrefix(s.SecureURL(), "https://")
	dir := t.TempDir()
	for name, text := range files {
		mustWriteFile(t, filepath.Join(dir, name), strings.ReplaceAll(text, "ADDRESS", address))
	}
	for root, text := range e.locks {
		mustWriteFile(t, filepath.Join(dir, root, lockfile.Name), text)
	}
	spoilt := map[string]bool{}
	for _, line := range faults {
		f, err := sandbox.ParseFault(line)
		if err != nil {
			t.Fatal(err)
		}
		spoilt[f.Path] = true
		s.Inject(f)
	}
	var mu sync.Mutex
	began := time.Now()
	last := began
	s.After(func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !spoilt[r.URL.Path] {
			last = time.Now()
		}
	})
	o := outcome{locks: map[string]string{}, entries: map[string]string{}}
	in := session{cli: strings.ReplaceAll(e.cli, "ADDRESS", address), home: t.TempDir(), dial: network.Dial}
	o.status, o.output = in.run(t, s, dir, append(slices.Clone(args), e.args...)...)
	o.took, o.after = time.Since(began), time.Since(last)
	for _, r := range s.Requests() {
		if !slices.Contains(o.asked, r.Path) {
			o.asked = append(o.asked, r.Path)
		}
	}
	for _, root := range e.roots() {
		o.locks[root] = readLock(t, filepath.Join(dir, root))
		file, _ := lockfile.Parse([]byte(o.locks[root]), lockfile.Name)
		for _, l := range file.Locks {
			o.entries[root+" "+l.Addr.String()] = string((&lockfile.File{Tool: provider.Terraform, Locks: []lockfile.Lock{l}}).Print())
		}
	}
	return o
}

// roots are the root modules.
func (e *estate) roots() []string {
	var roots []string
	for name := range e.files {
		if dir, ok := strings.CutSuffix(name, "/main.tf"); ok && strings.HasPrefix(dir, "live/") {
			roots = append(roots, dir)
		}
	}
	slices.Sort(roots)
	return roots
}

// lock makes the lock files as they were earlier, and returns their entries.
func (e *estate) lock(t *testing.T) map[string]string { return e.lockOf(t, e.roots()...) }

// lockOf does so for some root modules.
func (e *estate) lockOf(t *testing.T, roots ...string) map[string]string {
	t.Helper()
	var was outcome
	synctest.Test(t, func(t *testing.T) { was = e.run(t, e.earlier, nil, append([]string{"upgrade"}, roots...)...) })
	if was.status != ExitOK {
		t.Fatalf("in a faultless world the status is %d:\n%s", was.status, was.output)
	}
	e.locks = was.locks
	return was.entries
}

func mustWriteFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// twentyOne are the entries of three root modules: two that need the same seven
// providers, and one that needs seven others, all of one host.
func twentyOne() *estate {
	e := &estate{files: map[string]string{}, earlier: map[string]string{}, args: []string{"--platform", "linux_amd64"}}
	var world strings.Builder
	for i := range 14 {
		fmt.Fprintf(&world, "-- registry/registry.terraform.io/hashicorp/p%d --\nversions: [1.0.0, 1.1.0]\nplatforms: [linux_amd64]\n", i)
	}
	e.world = world.String()
	for root, first := range map[string]int{"live/a/main.tf": 0, "live/b/main.tf": 0, "live/c/main.tf": 7} {
		var names []string
		for i := range 7 {
			names = append(names, fmt.Sprintf("hashicorp/p%d", first+i))
		}
		e.files[root], e.earlier[root] = requirementsOf("~> 1.0", names...), requirementsOf("1.0.0", names...)
	}
	return e
}

// requirementsOf is a configuration that requires providers.
func requirementsOf(constraint string, sources ...string) string {
	var b strings.Builder
	b.WriteString("terraform {\n  required_providers {\n")
	for i, source := range sources {
		fmt.Fprintf(&b, "    p%d = { source = %q, version = %q }\n", i, source, constraint)
	}
	return b.String() + "  }\n}\n"
}

// TestOneBadURLFailsWhatNeedsIt has lists that hang, or are busy for a week.
func TestOneBadURLFailsWhatNeedsIt(t *testing.T) {
	t.Parallel()
	versions := func(i int) string {
		return fmt.Sprintf("GET /registry.terraform.io/v1/providers/hashicorp/p%d/versions ", i)
	}
	sums := "GET /registry.terraform.io/files/hashicorp/p0/1.1.0/terraform-provider-p0_1.1.0_SHA256SUMS "
	tests := map[string]struct {
		faults  []string
		args    []string
		old     int
		longest time.Duration
	}{
		"versions_hang":                  {[]string{versions(0) + "hang"}, nil, 2, time.Minute},
		"versions_hang_with_little_time": {[]string{versions(0) + "hang"}, []string{"--timeout", "20s"}, 2, 10 * time.Second},
		"versions_hang_one_at_a_time":    {[]string{versions(0) + "hang"}, []string{"--jobs", "1"}, 2, time.Minute},
		"checksums_hang":                 {[]string{sums + "hang"}, nil, 2, time.Minute},
		"two_hang":                       {[]string{versions(0) + "hang", versions(7) + "hang"}, nil, 3, time.Minute},
		"three_hang":                     {[]string{versions(0) + "hang", versions(7) + "hang", sums + "hang"}, nil, 3, 2 * time.Minute},
		"three_lists_hang":               {[]string{versions(0) + "hang", versions(7) + "hang", versions(8) + "hang"}, nil, 4, time.Minute},
		"busy_for_a_week":                {[]string{versions(0) + "503 header=Retry-After:604800"}, nil, 2, 0},
		"busy_for_a_while":               {[]string{versions(0) + "503 header=Retry-After:30 times=1"}, nil, 0, 30 * time.Second},
		"two_busy_for_a_week":            {[]string{versions(0) + "503 header=Retry-After:604800", versions(7) + "429 header=Retry-After:604800"}, nil, 3, 0},
	}
	e := twentyOne()
	was := e.lock(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := e.run(t, e.files, tt.faults, append([]string{"upgrade", "live"}, tt.args...)...)
				old := 0
				for key, entry := range o.entries {
					if entry == was[key] {
						old++
					}
				}
				if len(o.entries) != 21 || old != tt.old || o.took > tt.longest {
					t.Errorf("of %d entries %d are old after %s, want %d of 21 after %s at most\n%s", len(o.entries), old, o.took, tt.old, tt.longest, o.output)
				}
				if failed := o.status == ExitFailed; failed != (tt.old > 0) {
					t.Errorf("status = %d with %d old entries\n%s", o.status, old, o.output)
				}
			})
		})
	}
}

// TestHangingHostEndsTheRun has a host of modules and providers of which nobody learns
// what it serves: it is asked by the modules, and once more by the providers.
func TestHangingHostEndsTheRun(t *testing.T) {
	t.Parallel()
	e := &estate{
		world: "-- registry/registry.terraform.io/hashicorp/a --\nversions: [1.0.0, 1.1.0]\nplatforms: [linux_amd64]\n" +
			"-- modules/registry.terraform.io/acme/m/null/1.0.0/main.tf --\n",
		files: map[string]string{
			"live/a/main.tf": requirementsOf("~> 1.0", "ADDRESS/hashicorp/a"),
			"live/b/main.tf": "module \"m\" {\n  source  = \"ADDRESS/acme/m/null\"\n  version = \"1.0.0\"\n}\n",
		},
		earlier: map[string]string{"live/a/main.tf": requirementsOf("1.0.0", "ADDRESS/hashicorp/a")},
		cli:     "credentials \"ADDRESS\" {\n  token = \"secret\"\n}\n", serves: true, args: []string{"--platform", "linux_amd64"},
	}
	was := e.lockOf(t, "live/a")
	synctest.Test(t, func(t *testing.T) {
		o := e.run(t, e.files, []string{"GET /.well-known/terraform.json hang"}, "upgrade", "live/a", "live/b")
		if key := "live/a ADDRESS/hashicorp/a"; o.status != ExitFailed || o.entries[key] != was[key] || o.took > mostAfter {
			t.Errorf("status %d after %s, want %d after %s at most\n%s", o.status, o.took, ExitFailed, mostAfter, o.output)
		}
	})
}

// TestHangingModuleLeavesTimeForOthers has a module that never comes, and a run whose
// time is limited.
func TestHangingModuleLeavesTimeForOthers(t *testing.T) {
	t.Parallel()
	e := twentyOne()
	e.world += "-- modules/registry.terraform.io/acme/m/null/1.0.0/main.tf --\n"
	e.files["live/a/main.tf"] += "module \"m\" {\n  source  = \"acme/m/null\"\n  version = \"1.0.0\"\n}\n"
	was := e.lock(t)
	synctest.Test(t, func(t *testing.T) {
		o := e.run(t, e.files, []string{"GET /registry.terraform.io/v1/modules/acme/m/null/versions hang"}, "upgrade", "--timeout", "20s", "live")
		for key, entry := range o.entries {
			if old := entry == was[key]; old != strings.HasPrefix(key, "live/a ") {
				t.Errorf("%s is old: %v\n%s", key, old, o.output)
			}
		}
		if o.status != ExitFailed || o.took > 10*time.Second {
			t.Errorf("status %d after %s, want %d after half of the time\n%s", o.status, o.took, ExitFailed, o.output)
		}
	})
}

// TestOneBadURLIsIsolated makes a repository and the servers that it needs from a
// seed, spoils one of the URLs that a faultless run asks for, and holds that
//
//   - every entry that does not need that URL is that of the faultless run: a
//     faultless run for its root module and provider alone does not ask for it;
//   - every other entry is that, or the old one, and then the status says so;
//   - and the run ends within mostAfter after the last answer that it used.
//
// To look for longer, and to repeat a failure:
//
//	go test ./internal/command -run OneBadURLIsIsolated -rounds 500
//	go test ./internal/command -run OneBadURLIsIsolated -rounds 1 -seed 4711
func TestOneBadURLIsIsolated(t *testing.T) {
	t.Parallel()
	for i := range max(*rounds/5, 1) {
		seed := *seed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			e, r := randomEstate(seed)
			e.checkIsolation(t, r)
		})
	}
}

// spoiling are what may become of a URL.
var spoiling = []string{
	"hang", "hang", "stall", "trickle", "drop", "reset", "429", "500", "403", "404", "garbage", "long", "loop", "refused",
	"503 header=Retry-After:604800", "429 header=Retry-After:30", "429 header=Retry-After:30 times=1", "hang times=1",
}

// mostSpoilt is how many URLs of an estate are spoilt.
const mostSpoilt = 6

func (e *estate) checkIsolation(t *testing.T, r *rand.Rand) {
	was := e.lock(t)
	upgrade := []string{"upgrade", "live"}
	var faultless outcome
	synctest.Test(t, func(t *testing.T) { faultless = e.run(t, e.files, nil, upgrade...) })
	if faultless.status != ExitOK {
		t.Fatalf("in a faultless world the status is %d:\n%s", faultless.status, faultless.output)
	}
	needs := map[string][]string{} // the paths that an entry needs
	for key := range faultless.entries {
		root, addr, _ := strings.Cut(key, " ")
		synctest.Test(t, func(t *testing.T) {
			needs[key] = e.run(t, e.files, nil, "upgrade", root, "--provider", addr).asked
		})
	}
	urls := slices.Sorted(slices.Values(faultless.asked))
	r.Shuffle(len(urls), func(i, j int) { urls[i], urls[j] = urls[j], urls[i] })
	for _, url := range urls[:min(len(urls), mostSpoilt)] {
		fault := "* " + url + " " + spoiling[r.IntN(len(spoiling))]
		synctest.Test(t, func(t *testing.T) {
			got := e.run(t, e.files, []string{fault}, upgrade...)
			differs := false
			for _, key := range slices.Sorted(maps.Keys(faultless.entries)) {
				is := got.entries[key]
				if is == faultless.entries[key] {
					continue
				}
				differs = true
				if !slices.Contains(needs[key], url) {
					t.Errorf("%s: %s does not need it, and is not new\n%s", fault, key, got.output)
				} else if is != was[key] {
					t.Errorf("%s: %s is neither old nor new:\n%s", fault, key, is)
				}
			}
			if differs != (got.status == ExitFailed) || !differs && got.status != ExitOK {
				t.Errorf("%s: status %d, and an entry is not new: %v\n%s", fault, got.status, differs, got.output)
			}
			if got.after > mostAfter {
				t.Errorf("%s: the run ended %s after the last answer that it used, after %s\n%s", fault, got.after, got.took, got.output)
			}
		})
	}
}

// randomEstate makes the estate of a seed.
func randomEstate(seed uint64) (*estate, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 32))
	chance := func(percent int) bool { return r.IntN(100) < percent }
	e := &estate{files: map[string]string{}, earlier: map[string]string{}, serves: chance(40)}
	var world strings.Builder
	var sources []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f"}[:2+r.IntN(5)] {
		host := "registry.terraform.io"
		if chance(25) {
			host = "reg.example"
		}
		fmt.Fprintf(&world, "-- registry/%s/hashicorp/%s --\nversions:\n  1.0.0: {modified: 2024-01-01}\n  1.1.0: {modified: 2024-05-01}\nplatforms: [linux_amd64, darwin_arm64]\n", host, name)
		if e.serves && host != "reg.example" && chance(50) {
			host = "ADDRESS"
		}
		sources = append(sources, host+"/hashicorp/"+name)
	}
	some := func(most int) []string {
		part := slices.Clone(sources)
		r.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		return part[:1+r.IntN(min(most, len(part)))]
	}
	modules := 1 + r.IntN(3)
	for i := range modules {
		fmt.Fprintf(&world, "-- modules/registry.terraform.io/acme/m%d/null/1.0.0/main.tf --\n%s", i, requirementsOf(">= 1.0.0", slices.DeleteFunc(some(2), func(s string) bool { return strings.HasPrefix(s, "ADDRESS") })...))
	}
	for i := range 2 + r.IntN(2) {
		root, required, calls := fmt.Sprintf("live/r%d/main.tf", i), some(4), ""
		for m := range modules {
			if chance(30) {
				host := ""
				if e.serves && chance(50) {
					host = "ADDRESS/"
				}
				calls += fmt.Sprintf("module \"m%[1]d\" {\n  source  = \"%[2]sacme/m%[1]d/null\"\n  version = \"~> 1.0\"\n}\n", m, host)
			}
		}
		e.files[root], e.earlier[root] = requirementsOf("~> 1.0", required...)+calls, requirementsOf("1.0.0", sources...)
	}
	e.world = world.String()
	if chance(30) {
		e.cli = "provider_installation {\n  network_mirror {\n    url = \"https://ADDRESS/mirror/\"\n    include = [\"reg.example/*/*\"]\n  }\n  direct {\n    exclude = [\"reg.example/*/*\"]\n  }\n}\n"
	}
	if e.serves {
		e.cli += "credentials \"ADDRESS\" {\n  token = \"secret\"\n}\n"
	}
	e.args = []string{"--platform", "linux_amd64", "--platform", "darwin_arm64"}
	if chance(30) {
		e.files[".relock.yml"] = "version: 1\nrules:\n  - minimum-age: 3d\n"
	}
	if chance(30) {
		e.args = append(e.args, "--jobs", fmt.Sprint(1+r.IntN(3)))
	}
	return e, r
}
