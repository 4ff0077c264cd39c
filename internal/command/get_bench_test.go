package command

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/module/moduletest"
	"github.com/relock-dev/relock/internal/modulelock"
)

// What root modules call: each package once, and some of them again.
const (
	calledPackages = 8
	callsOfRoot    = 12
)

// moduleHost serves packages: four git repositories, three to which a registry leads, and an
// archive. It counts what it is asked.
type moduleHost struct {
	url, cli string

	mu                sync.Mutex
	requests, fetches int // fetches are those of packages
	sent              int64
}

// newModuleHost serves packages of 60 files with some 400 kB. Each repository has so many commits, of
// which each changes five of the files.
func newModuleHost(tb testing.TB, commits int) *moduleHost {
	tb.Helper()
	const files = 60
	random := rand.New(rand.NewPCG(1, 20))
	text := func(name string) string {
		var b strings.Builder
		for b.Len() < 6500 {
			fmt.Fprintf(&b, "variable \"%s_%d\" {\n  type    = string\n  default = \"%x\"\n}\n\n", name, b.Len(), random.Uint64())
		}
		return b.String()
	}
	dir := tb.TempDir()
	for n := range calledPackages - 1 {
		content := map[string]string{}
		for i := range files {
			content[fmt.Sprintf("f%d.tf", i)] = text(fmt.Sprintf("f%d", i))
		}
		var history []moduletest.Commit
		for c := range commits {
			now := map[string]string{}
			for name, text := range content {
				now[name] = text
			}
			for range 5 {
				i := random.IntN(files)
				now[fmt.Sprintf("f%d.tf", i)] = text(fmt.Sprintf("f%d", i))
			}
			history, content = append(history, moduletest.Commit{Files: now}), now
			if c == commits-1 {
				history[c].Tag = "v1.0.0"
			}
		}
		moduletest.Repository(tb, filepath.Join(dir, fmt.Sprintf("p%d.git", n)), history...)
	}
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	to := tar.NewWriter(zipped)
	for i := range files {
		content := text(fmt.Sprintf("f%d", i))
		if err := to.WriteHeader(&tar.Header{Name: fmt.Sprintf("f%d.tf", i), Mode: 0o644, Size: int64(len(content))}); err != nil {
			tb.Fatal(err)
		}
		io.WriteString(to, content)
	}
	if err := to.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		tb.Fatal(err)
	}
	h := &moduleHost{}
	git := moduletest.Handler(tb, dir)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted := &countingWriter{ResponseWriter: w}
		fetch := r.URL.Path == "/p7.tar.gz" && r.Method == http.MethodGet
		name, version, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/acme/"), "/aws/")
		switch {
		case r.URL.Path == "/p7.tar.gz":
			counted.Write(archive.Bytes())
		case version == "versions":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(counted, `{"modules": [{"versions": [{"version": "1.0.0"}]}]}`)
		case strings.HasSuffix(version, "/download"):
			w.Header().Set("X-Terraform-Get", "git::"+h.url+"/"+name+".git?ref=v1.0.0")
			w.WriteHeader(http.StatusNoContent)
		default:
			fetch = asksForPackage(tb, r)
			git.ServeHTTP(counted, r)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.requests++
		h.sent += counted.sent
		if fetch {
			h.fetches++
		}
	}))
	tb.Cleanup(s.Close)
	h.url = s.URL
	h.cli = "host \"mods.example\" {\n  services = {\n    \"modules.v1\" = \"" + s.URL + "/v1/\"\n  }\n}\nhost \"" + s.Listener.Addr().String() + "\" {}\n"
	return h
}

// asksForPackage reports whether a request asks by git's protocol for objects. The request can
// still be read.
func asksForPackage(tb testing.TB, r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		tb.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Header.Get("Content-Encoding") == "gzip" {
		if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, _ = io.ReadAll(z)
		}
	}
	return bytes.Contains(body, []byte("command=fetch"))
}

// countingWriter counts the bytes of an answer.
type countingWriter struct {
	http.ResponseWriter
	sent int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.sent += int64(n)
	return n, err
}

// counted are the requests, the fetches of packages and the bytes since the last look.
func (h *moduleHost) counted() (requests, fetches int, sent int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	requests, fetches, sent = h.requests, h.fetches, h.sent
	h.requests, h.fetches, h.sent = 0, 0, 0
	return requests, fetches, sent
}

// root is the configuration of root module number i.
func (h *moduleHost) root(i int) string {
	var b strings.Builder
	b.WriteString("terraform {\n  backend \"local\" {}\n}\n")
	for n := range callsOfRoot {
		name := fmt.Sprintf("m%d", n)
		switch p := (i + n) % calledPackages; {
		case p == calledPackages-1:
			b.WriteString(called(name, h.url+"/p7.tar.gz", ""))
		case p > 3:
			b.WriteString(called(name, fmt.Sprintf("mods.example/acme/p%d/aws", p), "~> 1.0"))
		default:
			b.WriteString(called(name, fmt.Sprintf("git::%s/p%d.git?ref=v1.0.0", h.url, p), ""))
		}
	}
	return b.String()
}

// TestGetFetchesEachPackageOnce counts what root modules with the same packages ask for. With what
// an earlier run has kept, nobody is asked.
func TestGetFetchesEachPackageOnce(t *testing.T) {
	t.Parallel()
	h := newModuleHost(t, 1)
	cli := filepath.Join(t.TempDir(), "cli.tfrc")
	writeOrFail(t, cli, h.cli)
	c := &checkout{dir: t.TempDir(), cache: t.TempDir(), env: map[string]string{"TF_CLI_CONFIG_FILE": cli, "PATH": os.Getenv("PATH")}}
	const roots = 3
	for i := range roots {
		c.write(t, fmt.Sprintf("root%d/main.tf", i), h.root(i))
		c.write(t, fmt.Sprintf("root%d/.terraform.lock.hcl", i), "")
	}
	c.write(t, ".terraform-version", "1.11.4\n")
	c.want(t, ExitOK, "", "lock", "./...", "--module-lock")
	c.cache = t.TempDir()
	h.counted()
	for _, want := range []int{calledPackages, 0} {
		c.want(t, ExitOK, "12 modules of 8 packages written", "get", "./...")
		requests, fetches, _ := h.counted()
		if fetches != want || want == 0 && requests > 0 {
			t.Errorf("get makes %d requests and fetches %d packages, want %d packages", requests, fetches, want)
		}
		for i := range roots {
			if err := os.RemoveAll(filepath.Join(c.dir, fmt.Sprintf("root%d", i), ".terraform")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// BenchmarkGet measures what 50 root modules, or as many as -compared says, take to have the modules of 12 calls each, of 8
// packages on loopback.
//
//	init     terraform init for one root module after another
//	cold     relock get for all of them, which remembers nothing
//	warm     the same with the packages of a run before
//	current  the same where the modules are there, too
//	after    terraform init for one root module after another, after get
//
// The first and the last one run if terraform is on PATH. The times are those of programs from start
// to end, and cpu-s is what the programs used of the processors. disk-MB is what is below
// .terraform/modules afterwards. It fails if cold fetches a package more often than once, and if
// warm, current or after ask anybody.
//
//	go test -run '^$' -bench 'Get$' -benchtime 1x -timeout 1h ./internal/command
func BenchmarkGet(b *testing.B) {
	roots := *compared
	h := newModuleHost(b, 20)
	m := &monorepo{home: b.TempDir(), program: built(b)}
	dir := m.lay(b, roots, h.root)
	get := func() { m.exec(b, h.cli, dir, m.program, "get", "--tool", "terraform", "live/...") }
	initAll := func() {
		for _, root := range rootsIn(b, dir) {
			m.exec(b, h.cli, root, tool(b, "terraform"), "init", "-input=false", "-backend=false")
		}
	}
	m.exec(b, h.cli, dir, m.program, "lock", "--create", "--tool", "terraform", "--module-lock", "live/...")
	var byInit, byGet time.Duration
	b.Run("init", func(b *testing.B) { tool(b, "terraform"); byInit = h.measure(b, m, dir, true, true, initAll) })
	for _, tt := range []struct {
		name          string
		forget, empty bool
		fetches       int
		run           func()
	}{
		{"cold", true, true, calledPackages, get},
		{"warm", false, true, 0, get},
		{"current", false, false, 0, get},
		{"after", false, false, 0, initAll},
	} {
		b.Run(tt.name, func(b *testing.B) {
			if tt.name == "after" {
				tool(b, "terraform")
			}
			took := h.measure(b, m, dir, tt.forget, tt.empty, func() {
				tt.run()
				if h.fetches != tt.fetches || tt.fetches == 0 && h.requests > 0 {
					b.Errorf("%d packages are fetched with %d requests, want %d packages", h.fetches, h.requests, tt.fetches)
				}
			})
			if tt.name == "cold" {
				byGet = took
				reportRatio(b, "x", byInit, took)
			}
			if tt.name == "after" {
				reportRatio(b, "x", byInit, byGet+took)
			}
		})
	}
}

// measure runs something for all root modules, and reports what it took. Before, packages are
// forgotten, and modules are removed.
func (h *moduleHost) measure(b *testing.B, m *monorepo, dir string, forget, empty bool, run func()) time.Duration {
	before := m.cpu
	for b.Loop() {
		b.StopTimer()
		if forget {
			if err := os.RemoveAll(filepath.Join(m.home, "cache")); err != nil {
				b.Fatal(err)
			}
		}
		for _, root := range rootsIn(b, dir) {
			if !empty {
				break
			}
			// Not removed: ext4 is slow to make files where it has just removed others.
			was := filepath.Join(root, ".terraform")
			if err := os.Rename(was, filepath.Join(b.TempDir(), "was")); err != nil && !errors.Is(err, fs.ErrNotExist) {
				b.Fatal(err)
			}
		}
		h.counted()
		b.StartTimer()
		run()
	}
	took := b.Elapsed() / time.Duration(b.N)
	requests, fetches, sent := h.counted()
	b.ReportMetric((m.cpu-before).Seconds()/float64(b.N), "cpu-s")
	b.ReportMetric(float64(requests), "requests")
	b.ReportMetric(float64(fetches), "fetches")
	b.ReportMetric(float64(sent)/1e6, "MB")
	var disk int64
	for _, root := range rootsIn(b, dir) {
		if _, err := os.Stat(filepath.Join(root, modulelock.Name)); err != nil {
			b.Fatal(err)
		}
		err := filepath.WalkDir(filepath.Join(root, ".terraform", "modules"), func(_ string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			disk += info.Size()
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(disk)/1e6, "disk-MB")
	return took
}
