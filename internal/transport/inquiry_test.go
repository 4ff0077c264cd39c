package transport

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relock-dev/relock/internal/problem"
)

// stream asks for the whole body of a URL.
func stream(t *testing.T, c *Client, url string) reply {
	t.Helper()
	began := time.Now()
	resp, body, err := c.Stream(t.Context(), Request{URL: parse(t, "http://"+url)})
	if err != nil {
		return reply{err: err, took: time.Since(began)}
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return reply{status: resp.Status, err: err, took: time.Since(began)}
}

// trickle sends a byte every so often, and never ends.
func trickle(every time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for {
			select {
			case <-time.After(every):
			case <-r.Context().Done():
				return
			}
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}
}

// TestQuestionHasAMinute has servers that never give a whole answer.
func TestQuestionHasAMinute(t *testing.T) {
	never := map[string]http.HandlerFunc{
		"hangs": hang,
		"hangs_in_the_body": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "h")
			w.(http.Flusher).Flush()
			hang(w, r)
		},
		"trickles": trickle(7 * time.Second),
		"hangs_behind_a_redirect": func(w http.ResponseWriter, r *http.Request) {
			if r.Host == "registry.test" {
				http.Redirect(w, r, "http://cdn.test"+r.URL.Path, http.StatusFound)
				return
			}
			hang(w, r)
		},
	}
	for name, handler := range never {
		for way, do := range map[string]func(t *testing.T, c *Client) reply{
			"do":     func(t *testing.T, c *Client) reply { return ask(t, c, "registry.test/1")["registry.test/1"] },
			"stream": func(t *testing.T, c *Client) reply { return stream(t, c, "registry.test/1") },
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := do(t, inMemory(t, nil, handler))
					wantCode(t, r.err, problem.CodeUnreachable)
					if r.took != questionTime {
						t.Errorf("it took %s, want %s with all tries", r.took, questionTime)
					}
				})
			})
		}
	}
}

// TestOperatorMayGiveMoreTime has an answer that takes longer than a question has.
func TestOperatorMayGiveMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := inMemory(t, nil, func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			time.Sleep(90 * time.Second)
			io.WriteString(w, "here")
		})
		resp, err := c.Do(t.Context(), Request{URL: parse(t, "http://registry.test/"), Timeout: 100 * time.Second})
		if err != nil || string(resp.Body) != "here" {
			t.Errorf("Do = %v, %v; want the late answer", resp, err)
		}
	})
}

// TestStuckURLHasLessTime asks again for what has not been answered in its time.
func TestStuckURLHasLessTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := false
		c := inMemory(t, nil, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/1" && r.Method == http.MethodGet && !up {
				hang(w, r)
			}
			io.WriteString(w, "here")
		})
		for i, want := range []time.Duration{questionTime, probeTimeout, 0} {
			r := ask(t, c, "registry.test/1")["registry.test/1"]
			wantCode(t, r.err, problem.CodeUnreachable)
			if r.took != want {
				t.Errorf("question %d took %s, want %s", i+1, r.took, want)
			}
		}
		if _, err := c.Do(t.Context(), Request{Method: http.MethodHead, URL: parse(t, "http://registry.test/1")}); err != nil {
			t.Errorf("another method: %v", err)
		}
		wantWell(t, ask(t, c, "registry.test/2"), 0)
		up = true
		time.Sleep(betweenProbes)
		for range 2 {
			wantWell(t, ask(t, c, "registry.test/1"), 0)
		}
		up = false
		if r := stream(t, c, "registry.test/1"); r.took != questionTime {
			t.Errorf("after an answer a question took %s, want %s", r.took, questionTime)
		}
	})
}

// TestCancelledQuestionSpendsNothing ends questions before their time.
func TestCancelledQuestionSpendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := inMemory(t, nil, hang)
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
			_, err := c.Do(ctx, Request{URL: parse(t, "http://registry.test/1")})
			wantCode(t, err, problem.CodeCancelled)
			cancel()
		}
		if r := ask(t, c, "registry.test/1")["registry.test/1"]; r.took != questionTime {
			t.Errorf("after questions that were cancelled one took %s, want %s", r.took, questionTime)
		}
	})
}
