package registry

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// watcher notes the calls about downloads. In these tests downloads run one after the
// other.
type watcher struct {
	mu   sync.Mutex
	told []string
	read int64
}

func (w *watcher) watch(name string, size int64) Download {
	w.note("begun %s of %d", name, size)
	return w
}

func (w *watcher) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, fmt.Sprintf(format, args...))
}

func (w *watcher) Read(n int64) { w.read += n }

func (w *watcher) Done(err error) {
	w.note("done with %d, failed: %v", w.read, err != nil)
	w.read = 0
}

func TestDownloadsAreWatched(t *testing.T) {
	t.Parallel()
	// This server does not say how long a package is.
	chunked := func(w http.ResponseWriter, data []byte) {
		w.Write(data[:10])
		http.NewResponseController(w).Flush()
		w.Write(data[10:])
	}
	cut := func(w http.ResponseWriter, data []byte) {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data[:10])
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	f := newFixture(t)
	size := len(f.zips[linux])
	name := filename(linux)
	tests := []struct {
		name  string
		serve func(w http.ResponseWriter, data []byte)
		tool  provider.Tool
		want  []string
	}{
		{"whole", nil, terraform, []string{
			fmt.Sprintf("begun %s of %d", name, size), fmt.Sprintf("done with %d, failed: false", size)}},
		{"size_not_known", chunked, terraform, []string{
			fmt.Sprintf("begun %s of 0", name), fmt.Sprintf("done with %d, failed: false", size)}},
		{"size_of_the_registry", chunked, opentofu, []string{
			fmt.Sprintf("begun %s of %d", name, size), fmt.Sprintf("done with %d, failed: false", size)}},
		{"broken", cut, terraform, []string{
			fmt.Sprintf("begun %s of %d", name, size), "done with 10, failed: true"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.zips[linux] = pack(map[string]string{"terraform-provider-alpha_v1.1.0": "binary for " + linux.String()})
			f.states(t, nil)
			f.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if tt.serve == nil || !strings.HasSuffix(r.URL.Path, "/files/linux_amd64") {
					return false
				}
				tt.serve(w, f.zips[linux])
				return true
			}
			var w watcher
			var arrived atomic.Int64
			_, err := f.client(t, Options{Watch: w.watch, Arrived: func() { arrived.Add(1) }}, "").Hashes(t.Context(), tt.tool, want(opentofuHost, linux))
			if broken := tt.name == "broken"; (err != nil) != broken {
				t.Errorf("Hashes = %v", err)
			} else if (arrived.Load() > 0) == broken {
				t.Errorf("%d packages arrived", arrived.Load())
			}
			if diff := cmp.Diff(tt.want, w.told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyDownloadsAreWatched(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := filepath.Join(t.TempDir(), "hashes")
	for run, want1 := range []int{2, 0} {
		var w watcher
		c := f.client(t, Options{Watch: w.watch, Cache: openCache(t, path)}, "")
		for range 2 {
			if _, err := c.Hashes(t.Context(), terraform, want(terraformHost, linux)); err != nil {
				t.Fatal(err)
			}
		}
		if len(w.told) != want1 {
			t.Errorf("run %d: told %q, want %d lines", run, w.told, want1)
		}
	}
}

// TestBrokenDownloadGoesOn truncates every answer with the package.
func TestBrokenDownloadGoesOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.zips[linux] = pack(map[string]string{"terraform-provider-alpha_v1.1.0": strings.Repeat("a large binary ", 1000)})
	f.list = fmt.Sprintf("%s  %s\n", sha256Hex(f.zips[linux]), filename(linux))
	half := len(f.zips[linux]) / 2
	f.hook = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/files/linux_amd64") {
			return false
		}
		w.Header().Set("Etag", `"v1"`)
		if r.Header.Get("Range") == "" {
			w.Header().Set("Content-Length", fmt.Sprint(len(f.zips[linux])))
			w.Write(f.zips[linux][:half])
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(f.zips[linux])))
		return true
	}
	var w watcher
	conn := transport.New(transport.Options{RetryWait: time.Nanosecond})
	c := clientOver(t, conn, t.TempDir(), Options{Watch: w.watch}, f.config(""))
	h, err := c.Hashes(t.Context(), terraform, want(terraformHost, linux))
	if err != nil || h.Sum.H1 != f.sum(t, linux).Sum.H1 || c.Packages() != 1 {
		t.Errorf("Hashes = %+v, %v with %d downloads; want those of the package, and one", h, err, c.Packages())
	}
	size := len(f.zips[linux])
	if diff := cmp.Diff([]string{
		fmt.Sprintf("begun %s of %d", filename(linux), size), fmt.Sprintf("done with %d, failed: false", size),
	}, w.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if asked := f.askedFor("/files/linux_amd64"); len(asked) != 2 {
		t.Errorf("asked for %v, want the package and its rest", asked)
	}
}
