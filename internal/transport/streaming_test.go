package transport

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/provider"
)

// get asks with a library's client.
func get(t *testing.T, client *http.Client, url string) (string, *http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer t0ken")
	resp, err := client.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), resp, err
}

func TestStreamingTriesAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "answer")
	})
	got, _, err := get(t, newClient(s).Streaming(), s.URL)
	if err != nil || got != "answer" {
		t.Errorf("answer = %q, %v after %d requests; want the third one", got, err, asked.Load())
	}
}

func TestStreamingOutlastsTheTimeoutOfRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "first")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	c := New(Options{Timeout: time.Nanosecond, Retries: -1})
	c.Admit(s.Listener.Addr().String())
	c.stall = 10 * time.Millisecond
	data, _, err := get(t, c.Streaming(), s.URL)
	e := wantCode(t, err, provider.CodeUnreachable)
	if data != "first" || !strings.Contains(e.Error(), "less than 65536 bytes for 10ms") {
		t.Errorf("answer = %q, %v; want the first part and that too little came", data, err)
	}
}

func TestStreamingKeepsTheRules(t *testing.T) {
	t.Parallel()
	var seen atomic.Value
	elsewhere := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen.Store(r.Header.Get("Authorization")) })
	home := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	})
	_, resp, err := get(t, newClient(home, elsewhere).Streaming(), home.URL)
	if err != nil || resp.StatusCode != http.StatusOK || seen.Load() != "" {
		t.Errorf("answer after a redirect = %v, %v, credentials %q; want one without credentials", resp, err, seen.Load())
	}
	if _, _, err := get(t, newClient().Streaming(), home.URL); err == nil || !strings.Contains(err.Error(), "an address of this machine") {
		t.Errorf("request to this machine, which nobody admitted: %v; want a refusal", err)
	}
}
