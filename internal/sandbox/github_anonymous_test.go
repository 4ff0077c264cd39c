package sandbox

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Requests without a token are refused as GitHub does it [docs.github.com, "Rate
// limits for the REST API"; "Forming calls with GraphQL"].
func TestAnonymousCallers(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	for _, path := range []string{
		"/repos/octo/infra", "/repos/octo/infra/pulls?state=all", "/repos/octo/infra/git/matching-refs/heads/relock/",
		"/repos/octo/infra/commits?sha=main", "/repos/octo/infra/git/trees/main?recursive=1", "/repos/octo/infra/compare/main...release/1.0",
	} {
		if resp, body := h.send(t, "GET", path, ""); resp.StatusCode != http.StatusOK {
			t.Errorf("GET %s of a public repository = %s %s, want 200", path, resp.Status, body)
		}
	}
	resp, _ := h.send(t, "GET", "/repos/octo/infra", "")
	for name, want := range map[string]string{
		"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "53", "X-RateLimit-Used": "7", "X-RateLimit-Resource": "core",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	reset, err := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64)
	if left := time.Until(time.Unix(reset, 0)); err != nil || left <= 0 || left > time.Hour {
		t.Errorf("X-RateLimit-Reset is in %v, %v, want within the hour", left, err)
	}

	h.configure(t, func(s *Settings) { s.Private = true })
	if resp, _ := h.send(t, "GET", "/repos/octo/infra", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("GET of a private repository = %s, want 404", resp.Status)
	}
	if resp, _ := h.send(t, "GET", codeloadPath+"/octo/infra/legacy.tar.gz/main", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the archive of a private repository = %s, want 404", resp.Status)
	}

	h.LimitRate("", 0)
	resp, body := h.send(t, "GET", "/repos/octo/infra", "")
	if resp.StatusCode != http.StatusForbidden || resp.Header.Get("X-RateLimit-Remaining") != "0" || !strings.Contains(body, "Authenticated requests get a higher rate limit") {
		t.Errorf("GET with nothing left = %s %s %v, want GitHub's 403", resp.Status, body, resp.Header)
	}
	if resp, _ := h.send(t, "GET", "/repos/octo/infra", "", authorized); resp.StatusCode != http.StatusOK {
		t.Errorf("GET with a token = %s, want 200: limits are apart", resp.Status)
	}
}
