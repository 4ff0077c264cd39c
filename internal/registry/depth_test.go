package registry

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

// waves answer questions in groups: none of a group before all of it are asked. So
// whoever asks one of them only with the answer to another waits for ever, and the
// number of groups is how many round trips there are in sequence.
type waves struct {
	mu    sync.Mutex
	left  [][]string      // ends of paths
	begun []chan struct{} // closed when all of the group are asked
	other []string        // what was asked out of turn
}

func newWaves(groups ...[]string) *waves {
	w := &waves{}
	for _, g := range groups {
		w.left, w.begun = append(w.left, slices.Clone(g)), append(w.begun, make(chan struct{}))
	}
	return w
}

// hold is a fixture's hook: it waits until the group of the question is complete.
func (w *waves) hold(_ http.ResponseWriter, r *http.Request) bool {
	w.mu.Lock()
	for i, group := range w.left {
		at := slices.IndexFunc(group, func(end string) bool { return strings.HasSuffix(r.URL.Path, end) })
		if at < 0 {
			continue
		}
		if i > 0 && len(w.left[i-1]) > 0 {
			break // before the answers to the group before
		}
		w.left[i] = slices.Delete(group, at, at+1)
		if len(w.left[i]) == 0 {
			close(w.begun[i])
		}
		w.mu.Unlock()
		select {
		case <-w.begun[i]:
		case <-r.Context().Done():
		}
		return false
	}
	w.other = append(w.other, r.URL.Path)
	w.mu.Unlock()
	return false
}

// missed are the questions that were not asked, or out of turn.
func (w *waves) missed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Concat(slices.Concat(w.left...), w.other)
}

// Cold, the packages of a release take three round trips: what is said of one, then
// of the others beside the list and its signature, then the packages.
func TestRoundTripsOfNewPackages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := newWaves(
		[]string{"download/linux/amd64"},
		[]string{"download/darwin/arm64", "download/windows/amd64", "SHA256SUMS", "SHA256SUMS.sig"},
		[]string{"files/linux_amd64", "files/darwin_arm64", "files/windows_amd64"},
	)
	f.hook = w.hold
	askAtOnce(t, f.client(t, Options{}, ""))
	if missed := w.missed(); len(missed) > 0 {
		t.Errorf("not asked in their turn: %v", missed)
	}
}

// With a cache that knows the packages they take two, and three questions.
func TestRoundTripsOfKnownPackages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.versions = served
	cache := openCache(t, filepath.Join(t.TempDir(), "hashes"))
	askAtOnce(t, f.client(t, Options{Cache: cache}, ""))
	w := newWaves([]string{"versions"}, []string{"download/linux/amd64"}, []string{"SHA256SUMS", "SHA256SUMS.sig"})
	f.hook = w.hold
	c := f.client(t, Options{Cache: cache}, "")
	if _, err := c.Versions(t.Context(), terraform, alpha(privateHost)); err != nil {
		t.Fatal(err)
	}
	askAtOnce(t, c)
	if missed := w.missed(); len(missed) > 0 {
		t.Errorf("not asked in their turn: %v", missed)
	}
}

// askAtOnce asks for the packages at once, but begins with the first one: which of
// them is asked about first is else chance.
func askAtOnce(t *testing.T, c *Client) {
	t.Helper()
	d := c.tools[provider.Terraform].origin
	if _, err := d.anyDescribed(t.Context(), terraform, want(privateHost, platformsServed[0])); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, p := range platformsServed {
		all.Go(func() {
			if _, err := c.Hashes(t.Context(), terraform, want(privateHost, p)); err != nil {
				t.Errorf("Hashes(%s): %v", p, err)
			}
		})
	}
	all.Wait()
}
