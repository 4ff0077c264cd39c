package registry

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/provider"
)

// The size of a download comes from its server. No answer about it fails anything.
func TestSize(t *testing.T) {
	t.Parallel()
	head := func(answer func(http.ResponseWriter, *http.Request)) func(*fixture) {
		return func(f *fixture) {
			f.hook = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodHead {
					answer(w, r)
				}
				return r.Method == http.MethodHead
			}
		}
	}
	const served = -1 // the size of the package
	for _, tt := range []struct {
		name string
		tool provider.Tool
		edit func(*fixture)
		// patience is how long to wait for the server; 0: long enough.
		patience time.Duration
		want     int64
	}{
		{name: "as its server says", tool: terraform, want: served},
		{name: "as the registry says", tool: opentofu, edit: func(f *fixture) {
			f.states(t, func(packages map[string]any) { packages["linux_amd64"].(map[string]any)["package_size"] = 7 })
		}, want: 7},
		{name: "too much by a header", tool: terraform, edit: head(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(int64(math.MaxInt64)))
		})},
		{name: "no length", tool: terraform, edit: head(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Transfer-Encoding", "chunked")
		})},
		{name: "no HEAD", tool: terraform, edit: head(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
		})},
		{name: "no answer", tool: terraform, edit: head(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}), patience: time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if tt.edit != nil {
				tt.edit(f)
			}
			c := f.client(t, Options{}, "")
			c.fetch.patience = cmp.Or(tt.patience, c.fetch.patience)
			if tt.want == served {
				tt.want = int64(len(f.zips[linux]))
			}
			if got, err := c.Size(t.Context(), tt.tool, want(privateHost, linux)); err != nil || got != tt.want {
				t.Errorf("Size = %d, %v, want %d", got, err, tt.want)
			}
		})
	}
}
