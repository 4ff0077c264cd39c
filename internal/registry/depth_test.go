package registry

import (
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox/waves"
)

// Without a cache, the packages of a release take three round trips: the answer about one
// package; the answers about the others, with the list and its signature; the packages.
func TestRoundTripsOfNewPackages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := waves.New(
		[]string{"download/linux/amd64"},
		[]string{"download/darwin/arm64", "download/windows/amd64", "SHA256SUMS", "SHA256SUMS.sig"},
		[]string{"files/linux_amd64", "files/darwin_arm64", "files/windows_amd64"},
	)
	f.hook = func(_ http.ResponseWriter, r *http.Request) bool { w.Hold(r); return false }
	askAtOnce(t, f.client(t, Options{}, ""))
	if missed := w.Missed(); len(missed) > 0 {
		t.Errorf("not asked in their turn: %v", missed)
	}
}

// With a cache that knows the packages, they take two round trips and three questions.
func TestRoundTripsOfKnownPackages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.versions = served
	cache := openCache(t, filepath.Join(t.TempDir(), "hashes"))
	askAtOnce(t, f.client(t, Options{Cache: cache}, ""))
	w := waves.New([]string{"versions"}, []string{"download/linux/amd64"}, []string{"SHA256SUMS", "SHA256SUMS.sig"})
	f.hook = func(_ http.ResponseWriter, r *http.Request) bool { w.Hold(r); return false }
	c := f.client(t, Options{Cache: cache}, "")
	if _, err := c.Versions(t.Context(), terraform, alpha(privateHost)); err != nil {
		t.Fatal(err)
	}
	askAtOnce(t, c)
	if missed := w.Missed(); len(missed) > 0 {
		t.Errorf("not asked in their turn: %v", missed)
	}
}

// askAtOnce asks for the packages at the same time, but starts with the first one.
// Otherwise chance decides which package is the first.
func askAtOnce(t *testing.T, c *Client) {
	t.Helper()
	d := c.tools[provider.Terraform].origin
	if _, err := d.firstDescribed(t.Context(), terraform, want(privateHost, platformsServed[0])); err != nil {
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
