package registry

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/relock-dev/relock/internal/hash"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox"
	"github.com/relock-dev/relock/internal/sandbox/bubble"
	"github.com/relock-dev/relock/internal/transport"
)

// registryShop is a registry in memory for measurements: some providers with many versions.
// A few versions have packages for several platforms under one signed list.
type registryShop struct {
	sandbox *sandbox.Sandbox
	network *bubble.Net
	addrs   []provider.Addr
	wanted  []provider.Want // every package
	home    string
	cache   *hash.Cache // nil remembers nothing
}

func newRegistryShop(b *testing.B) *registryShop {
	b.Helper()
	s := &registryShop{network: &bubble.Net{}, home: b.TempDir()}
	platforms := []provider.Platform{linux, darwin, windows, {OS: "freebsd", Arch: "amd64"}}
	var texts, versions, listed []string
	for _, p := range platforms {
		texts = append(texts, p.String())
	}
	for minor := range 300 {
		listed = append(listed, fmt.Sprintf("0.%d.0", minor+1))
	}
	for major := range 5 {
		versions = append(versions, fmt.Sprintf("%d.0.0", major+1))
	}
	var providers []sandbox.LargeProvider
	for i := range 4 {
		addr := provider.Addr{Host: terraformHost, Namespace: "acme", Type: fmt.Sprintf("p%d", i)}
		providers = append(providers, sandbox.LargeProvider{
			Addr: addr, Also: []string{string(opentofuHost)}, Versions: versions, Listed: listed, Platforms: texts, Size: 4 << 10,
		})
		s.addrs = append(s.addrs, addr)
		for major := range versions {
			for _, p := range platforms {
				s.wanted = append(s.wanted, provider.Want{Addr: addr, Version: provider.Version{Major: int64(major + 1)}, Platform: p})
			}
		}
	}
	world, err := sandbox.NewLarge(providers)
	if err != nil {
		b.Fatal(err)
	}
	if s.sandbox, err = sandbox.StartOn(world, s.network.Listen); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.sandbox.Close)
	return s
}

// measure runs ask with a new client for each run of the benchmark, and reports the
// requests of a run.
func (s *registryShop) measure(b *testing.B, ask func(c *Client)) {
	b.Helper()
	asked, runs := len(s.sandbox.Requests()), 0
	b.ReportAllocs()
	for b.Loop() {
		conn := transport.New(transport.Options{Retries: -1, Dial: s.network.Dial})
		ask(clientOver(b, conn, s.home, Options{Cache: s.cache}, s.sandbox.CLIConfig()))
		runs++
	}
	b.ReportMetric(float64(len(s.sandbox.Requests())-asked)/float64(runs), "requests/op")
}

// hashAll asks for every package.
func (s *registryShop) hashAll(b *testing.B, c *Client) {
	b.Helper()
	for _, w := range s.wanted {
		if h, err := c.Hashes(b.Context(), terraform, w); err != nil || len(h.Listed) == 0 {
			b.Fatalf("Hashes(%v) = %+v, %v; want the hashes of a signed list", w, h, err)
		}
	}
}

// BenchmarkVersions asks for the versions of four providers, with two tools. Each question
// is asked twice, and the second time costs no request.
func BenchmarkVersions(b *testing.B) {
	s := newRegistryShop(b)
	s.measure(b, func(c *Client) {
		for range 2 {
			for _, addr := range s.addrs {
				for _, tool := range []provider.Tool{terraform, opentofu} {
					if offer, err := c.Versions(b.Context(), tool, addr); err != nil || len(offer.Releases) != 305 {
						b.Fatalf("Versions = %d releases, %v; want 305", len(offer.Releases), err)
					}
				}
			}
		}
	})
}

// BenchmarkHashes asks for the 80 packages of 20 releases. Each list and its signature are
// verified once. cold downloads the packages. warm downloads none and asks a registry about
// one package of a release.
func BenchmarkHashes(b *testing.B) {
	s := newRegistryShop(b)
	b.Run("cold", func(b *testing.B) { s.measure(b, func(c *Client) { s.hashAll(b, c) }) })
	cache, err := hash.OpenCache(filepath.Join(b.TempDir(), "hashes"))
	if err != nil {
		b.Fatal(err)
	}
	s.cache = cache
	s.hashAll(b, clientOver(b, transport.New(transport.Options{Retries: -1, Dial: s.network.Dial}), s.home, Options{Cache: s.cache}, s.sandbox.CLIConfig()))
	b.Run("warm", func(b *testing.B) { s.measure(b, func(c *Client) { s.hashAll(b, c) }) })
}

// BenchmarkListing asks for the lists of 20 releases by each of their packages. Only the
// first package of a release costs requests.
func BenchmarkListing(b *testing.B) {
	s := newRegistryShop(b)
	s.measure(b, func(c *Client) {
		for _, w := range s.wanted {
			if l, err := c.Listing(b.Context(), terraform, w); err != nil || !l.Signed() || len(l.Files) != 4 {
				b.Fatalf("Listing(%v) = %+v, %v; want a signed list of four files", w, l, err)
			}
		}
	})
}
