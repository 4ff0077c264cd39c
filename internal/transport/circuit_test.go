package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relock-dev/relock/internal/problem"
)

// reply is what became of a question.
type reply struct {
	status int
	err    error
	took   time.Duration
}

func (r reply) well() bool { return r.err == nil && r.status == http.StatusOK }

// ask asks for URLs side by side.
func ask(t *testing.T, c *Client, urls ...string) map[string]reply {
	t.Helper()
	var mu sync.Mutex
	replies := map[string]reply{}
	var all sync.WaitGroup
	for _, url := range urls {
		all.Go(func() {
			began := time.Now()
			resp, err := c.Do(t.Context(), Request{URL: parse(t, "http://"+url)})
			r := reply{err: err, took: time.Since(began)}
			if err == nil {
				r.status = resp.Status
			}
			mu.Lock()
			defer mu.Unlock()
			replies[url] = r
		})
	}
	all.Wait()
	return replies
}

// wantWell says that all were answered, each after this time.
func wantWell(t *testing.T, replies map[string]reply, took time.Duration) {
	t.Helper()
	for url, r := range replies {
		if !r.well() || r.took != took {
			t.Errorf("%s: status %d, error %v after %s; want an answer after %s", url, r.status, r.err, r.took, took)
		}
	}
}

// paths are those of a host, from the first to the last.
func paths(first, last int) []string {
	var urls []string
	for i := first; i <= last; i++ {
		urls = append(urls, fmt.Sprintf("registry.test/%d", i))
	}
	return urls
}

// TestHangingPathsFailNoOthers lets some paths of a host hang, and asks for others
// beside them, and after them.
func TestHangingPathsFailNoOthers(t *testing.T) {
	for _, hanging := range []int{1, 2, pathsInRow} {
		t.Run(fmt.Sprint(hanging), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := inMemory(t, nil, func(w http.ResponseWriter, r *http.Request) {
					n := 0
					fmt.Sscanf(r.URL.Path, "/%d", &n)
					if n <= hanging {
						hang(w, r)
					}
					io.WriteString(w, "here")
				})
				began := time.Now()
				replies := ask(t, c, paths(1, 20)...)
				for _, url := range paths(1, hanging) {
					wantCode(t, replies[url].err, problem.CodeUnreachable)
					delete(replies, url)
				}
				wantWell(t, replies, 0)
				if took := time.Since(began); took > questionTime {
					t.Errorf("it took %s, want %s at most", took, questionTime)
				}
				wantWell(t, ask(t, c, paths(21, 40)...), 0)
				if out := c.Outages(); len(out) > 0 {
					t.Errorf("Outages() = %v, want none", out)
				}
			})
		})
	}
}

// refusing is a host that refuses connections until it is up.
func refusing(up *atomic.Bool) func(string) error {
	return func(string) error {
		if up.Load() {
			return nil
		}
		return &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
}

func TestRepeatedQuestionsOpenNoCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := inMemory(t, refusing(new(atomic.Bool)), answer("here"))
		for range 2 * pathsInRow {
			ask(t, c, "registry.test/1", "registry.test/2")
		}
		if out := c.Outages(); len(out) > 0 {
			t.Errorf("Outages() = %v, want none for two paths", out)
		}
	})
}

func TestCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		c := inMemory(t, refusing(&up), answer("here"))
		ask(t, c, paths(1, pathsInRow)...)
		if out := c.Outages(); len(out) != 1 || out[0].Server != "registry.test:80" || out[0].Reason != "the connection was refused" {
			t.Fatalf("Outages() = %v, want the refusals of the host", out)
		}
		before := c.Stats().Requests
		for url, r := range ask(t, c, paths(11, 15)...) {
			wantCode(t, r.err, problem.CodeUnreachable)
			if r.took > 0 {
				t.Errorf("%s failed after %s, want at once", url, r.took)
			}
		}
		if asked := c.Stats().Requests - before; asked != 1 {
			t.Errorf("%d requests were sent to a host that refuses, want one probe", asked)
		}
		up.Store(true)
		r := ask(t, c, "registry.test/16")["registry.test/16"]
		if e := wantCode(t, r.err, problem.CodeUnreachable); !strings.Contains(e.Error(), "registry.test:80 does not answer") {
			t.Errorf("after a probe that failed: %v, want that the host does not answer", e)
		}
		wantWell(t, ask(t, c, "other.test/"), 0)
		time.Sleep(betweenProbes)
		wantWell(t, ask(t, c, paths(17, 20)...), 0)
		if out := c.Outages(); len(out) > 0 {
			t.Errorf("Outages() = %v, want none", out)
		}
	})
}

// TestOthersWaitForTheProbe has a host that hangs until some time.
func TestOthersWaitForTheProbe(t *testing.T) {
	tests := map[string]struct {
		up     time.Duration
		cancel bool // the question that is the probe
		sent   int64
		took   time.Duration
		well   bool
	}{
		"that_succeeds":     {up: 65 * time.Second, sent: 5, took: 4 * time.Second, well: true},
		"that_fails":        {up: time.Hour, sent: 1, took: probeTimeout},
		"that_nobody_wants": {up: 65 * time.Second, cancel: true, sent: 6, took: 4 * time.Second, well: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c := inMemory(t, nil, func(w http.ResponseWriter, r *http.Request) {
					select {
					case <-time.After(time.Until(began.Add(tt.up))):
						io.WriteString(w, "here")
					case <-r.Context().Done():
					}
				})
				ask(t, c, paths(1, pathsInRow)...)
				time.Sleep(time.Until(began.Add(61 * time.Second)))
				before := c.Stats().Requests
				if tt.cancel {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					time.AfterFunc(time.Second, cancel)
					go c.Do(ctx, Request{URL: parse(t, "http://registry.test/probe")})
					synctest.Wait()
				}
				for url, r := range ask(t, c, paths(11, 15)...) {
					if r.well() != tt.well || r.took != tt.took {
						t.Errorf("%s: %d, %v after %s; want an answer %v after %s", url, r.status, r.err, r.took, tt.well, tt.took)
					}
				}
				if sent := c.Stats().Requests - before; sent != tt.sent {
					t.Errorf("%d requests were sent, want %d", sent, tt.sent)
				}
			})
		})
	}
}

// TestEndOfARunOpensNoCircuit ends what a library asks, which has no question.
func TestEndOfARunOpensNoCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := inMemory(t, nil, hang)
		ctx, cancel := context.WithTimeoutCause(t.Context(), hiccup+time.Second, errors.New("the run's time is over"))
		defer cancel()
		var all sync.WaitGroup
		for _, url := range paths(1, 2*pathsInRow) {
			all.Go(func() {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+url, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if resp, err := c.HTTP().Do(req); err == nil {
					resp.Body.Close()
				}
			})
		}
		all.Wait()
		if out := c.Outages(); len(out) > 0 {
			t.Errorf("Outages() = %v, want none for what nobody waited for", out)
		}
	})
}
