package transport

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/relock-dev/relock/internal/sandbox/trusted"
)

// So many questions are open at a host at once, and one more waits: no server is
// asked more, and none is asked less where the machine has one core.
func TestQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	open, most := 0, 0
	full, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		if open++; open == atOncePerHost && most < open {
			close(full)
		}
		most = max(most, open)
		mu.Unlock()
		<-release
		mu.Lock()
		open--
		mu.Unlock()
		io.WriteString(w, "yes")
	})
	c := newClient(s)
	var all sync.WaitGroup
	for range 2 * atOncePerHost {
		all.Go(func() {
			if _, err := c.Do(t.Context(), Request{URL: parse(t, s.URL)}); err != nil {
				t.Error(err)
			}
		})
	}
	<-full // it would wait for ever if fewer were open
	close(release)
	all.Wait()
	if most != atOncePerHost {
		t.Errorf("%d questions were open at once, want %d", most, atOncePerHost)
	}
}

// Where a server offers HTTP/2 all questions to it share one connection.
func TestSpeaksHTTP2(t *testing.T) {
	t.Parallel()
	trusted.Needed(t)
	offering := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	offering.EnableHTTP2 = true
	offering.StartTLS()
	t.Cleanup(offering.Close)
	resp, err := newClient(offering).Do(t.Context(), Request{URL: parse(t, offering.URL)})
	if err != nil || string(resp.Body) != "HTTP/2.0" {
		t.Errorf("the server was asked by %q, error %v, want HTTP/2.0", resp.Body, err)
	}
}
