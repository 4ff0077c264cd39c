package transport

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

func TestCheckHost(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url, reason string // "" admits
	}{
		{"ssh://git@127.0.0.1/o/r.git", "an address of this machine"},
		{"git://[::1]/r.git", "an address of this machine"},
		{"https://localhost/r.git", "an address of this machine"},
		{"https://0.0.0.0/r.git", "an address of this machine"},
		{"ssh://git@169.254.169.254/r.git", "a link-local address"},
		{"https://[fe80::1]/r.git", "a link-local address"},
		{"https://2130706433/r.git", "an address in an unusual notation"},
		{"https:///r.git", "a URL without a host"},
		{"https://203.0.113.1/r.git", ""},
		{"ssh://git@alias.invalid/r.git", ""}, // ssh may know it
		{"ssh://git@127.0.0.1:2222/r.git", ""},
	}
	c := New(Options{})
	c.Admit("127.0.0.1:2222")
	for _, tt := range tests {
		err := c.CheckHost(t.Context(), parse(t, tt.url), nil)
		if tt.reason == "" && err != nil {
			t.Errorf("CheckHost(%q) = %v, want nil", tt.url, err)
		}
		if tt.reason == "" {
			continue
		}
		if e := wantCode(t, err, provider.CodeUnreachable); !strings.Contains(e.Error(), "refused: "+tt.reason) || strings.Contains(e.Error(), "git@") {
			t.Errorf("CheckHost(%q) = %v, want %q", tt.url, e, tt.reason)
		}
	}
}

func TestCheckHostOfReferrer(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	c := newClient(s)
	here, target := parse(t, s.URL), parse(t, "http://127.0.0.1:1/r.git")
	if err := c.CheckHost(t.Context(), target, here); err == nil {
		t.Error("a server that was never found on this machine admits another one here")
	}
	if _, err := c.Do(t.Context(), Request{URL: here}); err != nil {
		t.Fatal(err)
	}
	if err := c.CheckHost(t.Context(), target, here); err != nil {
		t.Errorf("CheckHost = %v, want that an admitted server on this machine may refer to another one", err)
	}
	if err := c.CheckHost(t.Context(), target, parse(t, "http://registry.example")); err == nil {
		t.Error("a stranger admits a server on this machine")
	}
}

func TestCheckHostBehindProxy(t *testing.T) {
	t.Parallel()
	c := New(Options{})
	c.guard.proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://proxy.example:3128") }
	if err := c.CheckHost(t.Context(), parse(t, "https://localhost/r.git"), nil); err != nil {
		t.Errorf("CheckHost of a name = %v, want that the proxy decides", err)
	}
	if err := c.CheckHost(t.Context(), parse(t, "https://169.254.169.254/r.git"), nil); err == nil {
		t.Error("CheckHost of an address = nil, want a refusal")
	}
}

func TestCheckHostWhenInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCode(t, New(Options{}).CheckHost(ctx, parse(t, "https://203.0.113.1/"), nil), provider.CodeCancelled)
}
