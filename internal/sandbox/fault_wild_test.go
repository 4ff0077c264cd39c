package sandbox

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
)

const wildPath = "/registry.terraform.io/v1/providers/hashicorp/plain/versions"

// wildly sends one request that a wild fault spoils, and follows no redirect. It
// reads up to 4 MiB of the body and gives up when the server stops.
func wildly(t *testing.T, s *Sandbox, ctx context.Context, word, base string) (a answer) {
	t.Helper()
	f, err := ParseFault("GET " + wildPath + " " + word)
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(f)
	defer s.Mend()
	client := http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+wildPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	a = answer{status: resp.StatusCode, header: resp.Header}
	a.body, a.err = io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	return a
}

func TestWildFaults(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	all := fetch(t, s.URL()+wildPath)
	tests := map[string]func(a answer) bool{
		"reset":   func(a answer) bool { return errors.Is(a.err, syscall.ECONNRESET) },
		"short":   func(a answer) bool { return a.err == nil && len(a.body) == len(all)/2 && bytes.HasPrefix(all, a.body) },
		"long":    func(a answer) bool { return errors.Is(a.err, io.ErrUnexpectedEOF) && bytes.Equal(a.body, all) },
		"slow":    func(a answer) bool { return a.err == nil && bytes.Equal(a.body, all) },
		"html":    func(a answer) bool { return a.status == 200 && strings.Contains(a.header.Get("Content-Type"), "html") },
		"empty":   func(a answer) bool { return a.status == 200 && a.err == nil && len(a.body) == 0 },
		"garbage": func(a answer) bool { return a.status == 200 && len(a.body) == 4000 },
		"nested":  func(a answer) bool { return len(a.body) == 1<<19 && a.body[0] == '[' },
		"huge":    func(a answer) bool { return len(a.body) == 4<<20 && bytes.HasPrefix(a.body, []byte(`{"versions":[{`)) },
		"bomb":    func(a answer) bool { return len(a.body) == 4<<20 && bytes.HasPrefix(a.body, []byte("    ")) },
		"headers": func(a answer) bool { return a.err != nil && strings.Contains(a.err.Error(), "headers exceeded") },
	}
	for word, spoilt := range tests {
		if a := wildly(t, s, t.Context(), word, s.URL()); !spoilt(a) {
			t.Errorf("with %s: %d, %v, %.100q", word, a.status, a.err, a.body)
		}
	}
}

// These faults end with their client: Close, which waits for them, would hang.
func TestWildFaultsThatWait(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"hang", "stall", "trickle"} {
		s := startWorld(t)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if a := wildly(t, s, ctx, word, s.URL()); !errors.Is(a.err, context.DeadlineExceeded) {
			t.Errorf("with %s: %d, %v, %q; want that it does not end", word, a.status, a.err, a.body)
		}
		cancel()
	}
}

func TestWildRedirects(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	for word, want := range map[string][2]string{
		"loop":      {s.URL(), s.SecureURL()},
		"elsewhere": {s.other.URL, s.other.URL},
		"forbidden": {"http://169.254.169.254", "http://169.254.169.254"},
		"lower":     {strings.Replace(s.URL(), "http:", "ftp:", 1), s.URL()},
		"refused":   {"http://127.0.0.1:1", "https://127.0.0.1:1"},
		"notls":     {strings.Replace(s.URL(), "http:", "https:", 1), strings.Replace(s.URL(), "http:", "https:", 1)},
	} {
		for i, base := range []string{s.URL(), s.SecureURL()} {
			a := wildly(t, s, t.Context(), word, base)
			to, err := url.Parse(a.header.Get("Location"))
			if err != nil || to.String() != want[i]+wildPath || a.status != http.StatusTemporaryRedirect {
				t.Errorf("with %s: %d to %s, want %s", word, a.status, to, want[i]+wildPath)
			}
		}
	}
	client := s.other.Client()
	resp, err := client.Get(s.other.URL + wildPath)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the other server: %v, %v", resp, err)
	}
	resp.Body.Close()
}

// A mounted handler is spoilt and logged like the rest of the world.
func TestMount(t *testing.T) {
	t.Parallel()
	s := startWorld(t)
	s.Mount("/v2/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "mounted") }))
	if got := string(fetch(t, s.URL()+"/v2/x")); got != "mounted" {
		t.Errorf("what is mounted answers %q", got)
	}
	s.Inject(Fault{Method: "GET", Path: "/v2/...", Status: 503})
	if a := get(t, s.URL()+"/v2/x"); a.status != 503 {
		t.Errorf("with a fault it answers %d, want 503", a.status)
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests were noted, want 2", n)
	}
}
