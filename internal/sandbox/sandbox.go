// Package sandbox is a small world on loopback: provider registries with signed
// checksum lists and real packages, a network mirror, module registries and a
// GitHub API. The demonstration and the tests run in it. Nothing in it is a stub
// of our own code: any client of these protocols can use it, also the real
// terraform and tofu.
//
// A World is read from a text archive (see ParseWorld for its sections) and
// served by Start. All answers depend on the text only: keys are derived from
// their names, and packages hold no times. So hashes, signatures and key IDs are
// the same on every machine.
//
// Faults, from the text or from Inject, spoil answers on purpose. Hooks run
// before and after each request. Requests returns the log.
//
// The GitHub keeps real git objects in go-git's memory storage, so that every SHA
// is git's own and a clone of one is a repository like any other.
package sandbox

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// Sandbox is a running world. Its methods are safe for concurrent use.
type Sandbox struct {
	world  *World
	github *GitHub
	plain  *httptest.Server
	secure *httptest.Server
	other  *httptest.Server // with TLS, without faults and log
	closed string           // host and port without a listener
	ending sync.Once
	ended  chan struct{} // closed by Close

	mu     sync.Mutex // guards the fields below
	more   []mounted
	log    []*Request
	before []func(*http.Request)
	after  []func(*http.Request)
	faults []*fault
	stale  *staleReads // nil if no read is stale
}

// Start serves the world on two loopback ports, one of them with TLS, because the
// tools demand https for network mirrors. Faults redirect to a third port, with
// TLS. The caller must call Close.
func Start(w *World) (*Sandbox, error) {
	return StartOn(w, func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") })
}

// StartOn is Start with other listeners than those of loopback.
func StartOn(w *World, listen func() (net.Listener, error)) (*Sandbox, error) {
	github, err := newGitHub(w.repositories())
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	for _, app := range w.apps {
		if _, err := github.Register(app); err != nil {
			return nil, fmt.Errorf("starting the sandbox: %w", err)
		}
	}
	s := &Sandbox{world: w, github: github, ended: make(chan struct{})}
	for _, f := range w.faults {
		s.Inject(f)
	}
	handler := s.observe(s.spoil(s.routes()))
	s.plain, err = serverOn(listen, handler)
	if err != nil {
		return nil, err
	}
	s.secure, err = serverOn(listen, handler)
	if err != nil {
		s.plain.Listener.Close()
		return nil, err
	}
	s.other, err = serverOn(listen, s.routes())
	if err != nil {
		s.plain.Listener.Close()
		s.secure.Listener.Close()
		return nil, err
	}
	github.host = s.plain.Listener.Addr().String()
	s.plain.Start()
	s.secure.StartTLS()
	s.other.StartTLS()
	s.closed = "127.0.0.1:1" // tcpmux, which nobody has run for decades
	return s, nil
}

// serverOn prepares a server without starting it. The servers are httptest's for
// its certificate and its Close, which waits for requests under way; the
// listener is ours because httptest's constructor panics without loopback.
func serverOn(listen func() (net.Listener, error), h http.Handler) (*httptest.Server, error) {
	l, err := listen()
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	return &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}, nil
}

// mounted is a handler beside the world.
type mounted struct {
	prefix  string
	handler http.Handler
}

// Mount serves a handler below a path, with the faults and the log of the world.
// It is for servers that a world text cannot describe.
func (s *Sandbox) Mount(prefix string, handler http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more = append(s.more, mounted{prefix, handler})
}

func (s *Sandbox) routes() http.Handler {
	world := s.world.routes(s.github)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		i := slices.IndexFunc(s.more, func(m mounted) bool { return strings.HasPrefix(r.URL.Path, m.prefix) })
		handler := world
		if i >= 0 {
			handler = s.more[i].handler
		}
		s.mu.Unlock()
		handler.ServeHTTP(w, r)
	})
}

// Close ends the servers and their connections.
func (s *Sandbox) Close() {
	s.ending.Do(func() { close(s.ended) })
	for _, server := range []*httptest.Server{s.plain, s.secure, s.other} {
		server.CloseClientConnections()
		server.Close()
	}
}

// URL is the address of the server without TLS, with no trailing slash.
func (s *Sandbox) URL() string { return s.plain.URL }

// GitHub is the sandbox's GitHub, for acts of people without the API.
func (s *Sandbox) GitHub() *GitHub { return s.github }

// GitHubAPI is the base URL of GitHub's REST API, with a trailing slash.
func (s *Sandbox) GitHubAPI() string { return s.URL() + "/github/api/v3/" }

// GraphQL is the URL of GitHub's GraphQL API.
func (s *Sandbox) GraphQL() string { return s.URL() + graphqlPath }

// Mirror is the base URL of a provider network mirror of every registry of the
// world. It is https; Certificate is what its clients must trust.
func (s *Sandbox) Mirror() string { return s.secure.URL + "/mirror/" }

// SecureURL is the address of the server with TLS, with no trailing slash.
func (s *Sandbox) SecureURL() string { return s.secure.URL }

// Certificate is the certificate of the server with TLS in PEM, as SSL_CERT_FILE
// takes it.
func (s *Sandbox) Certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.secure.Certificate().Raw})
}

// CLIConfig is the text of a CLI configuration file that points every host of the
// world at the sandbox. It always has the default registries of both tools: a
// forgotten provider is a 404, not a request to the real registry.
func (s *Sandbox) CLIConfig() string {
	var b strings.Builder
	for _, host := range s.world.hosts() {
		fmt.Fprintf(&b, `host %q {
  services = {
    "providers.v1" = "%[2]s/%[3]s/v1/providers/"
    "modules.v1"   = "%[2]s/%[3]s/v1/modules/"
  }
}
`, host.ForDisplay(), s.URL(), host)
	}
	return b.String()
}
