package transport

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url, reason string // "" admits
	}{
		{"ssh://git@127.0.0.1/o/r.git", "an address of this machine"},
		{"git://[::1]/r.git", "an address of this machine"},
		{"https://localhost/r.git", "an address of this machine"},
		{"https://0.0.0.0/r.git", "an address of this machine"},
		{"ssh://git@169.254.169.254/r.git", "a metadata service"},
		{"https://[fe80::1]/r.git", "a link-local address"},
		{"https://2130706433/r.git", "an address in an unusual notation"},
		{"https:///r.git", "a URL without a host"},
		{"https://203.0.113.1/r.git", ""},
		{"ssh://git@127.0.0.1:2222/r.git", ""},
	}
	c := New(Options{})
	c.Admit("127.0.0.1:2222")
	for _, tt := range tests {
		_, _, err := c.Resolve(t.Context(), parse(t, tt.url), nil)
		if tt.reason == "" && err != nil {
			t.Errorf("Resolve(%q) = %v, want nil", tt.url, err)
		}
		if tt.reason == "" {
			continue
		}
		e := wantCode(t, err, problem.CodeUnreachable)
		if !strings.Contains(e.Error(), "refused: "+tt.reason) || strings.Contains(e.Error(), "git@") || !Refused(err) {
			t.Errorf("Resolve(%q) = %v, want the refusal of %q", tt.url, e, tt.reason)
		}
	}
}

func TestResolveReturnsWhatWasChecked(t *testing.T) {
	t.Parallel()
	c := New(Options{})
	c.Admit("localhost:80")
	got, _, err := c.Resolve(t.Context(), parse(t, "http://localhost/r.git"), nil)
	if err != nil || len(got) == 0 || slices.ContainsFunc(got, func(ip netip.Addr) bool { return !ip.IsLoopback() || ip.Is4In6() }) {
		t.Errorf("Resolve = %v, %v; want the addresses of localhost", got, err)
	}
}

// A program that looks the name up by itself could find what was not checked.
func TestResolveFailsForAnUnknownName(t *testing.T) {
	t.Parallel()
	_, _, err := New(Options{}).Resolve(t.Context(), parse(t, "ssh://git@alias.invalid/r.git"), nil)
	if e := wantCode(t, err, problem.CodeUnreachable); Refused(e) {
		t.Errorf("Resolve = %v, want an error that is no refusal", e)
	}
}

func TestResolveWithReferrer(t *testing.T) {
	t.Parallel()
	s := serve(t, func(http.ResponseWriter, *http.Request) {})
	c := newClient(s)
	here, target := parse(t, s.URL), parse(t, "http://127.0.0.1:1/r.git")
	if _, _, err := c.Resolve(t.Context(), target, here); err == nil {
		t.Error("a server that was never found on this machine admits another one here")
	}
	if _, err := c.Do(t.Context(), Request{URL: here}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Resolve(t.Context(), target, here); err != nil {
		t.Errorf("Resolve = %v, want that an admitted server on this machine may refer to another one", err)
	}
	if _, _, err := c.Resolve(t.Context(), target, parse(t, "http://registry.example")); err == nil {
		t.Error("a stranger admits a server on this machine")
	}
}

func TestResolveBehindProxy(t *testing.T) {
	t.Parallel()
	const proxy = "http://proxy.example:3128"
	c := New(Options{Proxy: func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }})
	for _, text := range []string{"https://localhost/r.git", "https://203.0.113.1/r.git"} {
		addrs, by, err := c.Resolve(t.Context(), parse(t, text), nil)
		if err != nil || len(addrs) != 0 || by == nil || by.String() != proxy {
			t.Errorf("Resolve(%q) = %v, %v, %v; want that the proxy decides", text, addrs, by, err)
		}
	}
	if _, _, err := c.Resolve(t.Context(), parse(t, "https://169.254.169.254/r.git"), nil); err == nil {
		t.Error("Resolve of an address = nil, want a refusal")
	}
}

func TestResolveWhenInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := New(Options{}).Resolve(ctx, parse(t, "https://203.0.113.1/"), nil)
	wantCode(t, err, problem.CodeCancelled)
}
