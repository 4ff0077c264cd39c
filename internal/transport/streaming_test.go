package transport

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relock-dev/relock/internal/problem"
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

func TestStreamingOutlastsTheTimeOfQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := inMemory(t, nil, func(w http.ResponseWriter, r *http.Request) {
			for range 40 { // a floor in 40 s, and not quite another one
				w.Write(make([]byte, floorSize/20))
				w.(http.Flusher).Flush()
				time.Sleep(2 * time.Second)
			}
			<-r.Context().Done()
		})
		began := time.Now()
		data, _, err := get(t, c.Streaming(), "http://registry.test/")
		e := wantCode(t, err, problem.CodeUnreachable)
		if len(data) != 40*(floorSize/20) || !strings.Contains(e.Error(), "less than 65536 bytes within 60 s") {
			t.Errorf("answer of %d bytes, %v; want the first part and that no more came", len(data), err)
		}
		if took, want := time.Since(began), 40*time.Second+questionTime; took != want {
			t.Errorf("it took %s, want %s", took, want)
		}
	})
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
