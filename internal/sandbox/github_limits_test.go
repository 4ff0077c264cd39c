package sandbox

import (
	"net/http"
	"testing"
	"time"
)

// TestPointsOfAMinute checks that a read costs a point and a write five. Requests
// beyond the limit are refused as GitHub does, and the next minute is free.
func TestPointsOfAMinute(t *testing.T) {
	t.Parallel()
	h := startOrganization(t)
	now := time.Now()
	h.SetMachine(func() time.Time { return now })
	h.LimitPoints(7)
	send := func(method, path, body string, want int) *http.Response {
		t.Helper()
		resp, answer := h.send(t, method, path, body, "Authorization: Bearer "+UserToken)
		if resp.StatusCode != want {
			t.Errorf("%s %s = %d, want %d: %s", method, path, resp.StatusCode, want, answer)
		}
		return resp
	}
	send("POST", "/repos/acme/app/issues/1/comments", `{"body": "for nobody"}`, http.StatusNotFound)
	send("GET", "/repos/acme/app", "", http.StatusOK)
	send("GET", "/repos/acme/app", "", http.StatusOK)
	if resp := send("GET", "/repos/acme/app", "", http.StatusForbidden); resp.Header.Get("Retry-After") != "60" {
		t.Errorf("a refusal has Retry-After %q, want a minute", resp.Header.Get("Retry-After"))
	}
	now = now.Add(time.Minute)
	send("GET", "/repos/acme/app", "", http.StatusOK)
	if most, refused := h.Points(); most != 8 || refused != 1 {
		t.Errorf("at most %d points in a minute and %d refused, want 8 and 1", most, refused)
	}
}
