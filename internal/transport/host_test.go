package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// pipes connects a client with a server in memory, so that time is virtual in a
// bubble of synctest. A dial that fails does so with the error.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{} // conns is not: a client may still be connecting
	dial   func(hostport string) error
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// inMemory returns a client of a server in memory, whatever host it asks.
func inMemory(t *testing.T, dial func(hostport string) error, handler http.HandlerFunc) *Client {
	t.Helper()
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{}), dial: dial}
	s := &http.Server{Handler: handler}
	go s.Serve(p)
	c := New(Options{})
	connections := &http.Transport{
		ResponseHeaderTimeout: headerTimeout, MaxIdleConnsPerHost: maxIdlePerHost,
		DialContext: func(ctx context.Context, _, hostport string) (net.Conn, error) {
			if p.dial != nil {
				if err := p.dial(hostport); err != nil {
					return nil, err
				}
			}
			here, there := net.Pipe()
			select {
			case p.conns <- there:
				return here, nil
			case <-p.closed:
				return nil, net.ErrClosed
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
	c.guard.pools[0] = connections
	t.Cleanup(func() {
		connections.CloseIdleConnections()
		s.Close()
	})
	return c
}

// questions asks many of them, eight at a time as a run on two processors does,
// and returns how long that took and how they ended.
func questions(t *testing.T, c *Client, n int, host func(i int) string) (time.Duration, []error) {
	t.Helper()
	began := time.Now()
	errs := make([]error, n)
	jobs := make(chan struct{}, 8)
	var all sync.WaitGroup
	for i := range n {
		jobs <- struct{}{}
		all.Go(func() {
			resp, err := c.Do(t.Context(), Request{URL: parse(t, fmt.Sprintf("http://%s/%d", host(i), i))})
			if err == nil && resp.Status != http.StatusOK {
				err = fmt.Errorf("status %d", resp.Status)
			}
			errs[i] = err
			<-jobs
		})
	}
	all.Wait()
	return time.Since(began), errs
}

func oneHost(int) string { return "registry.test" }

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestOutageCostsLessThanAMinute(t *testing.T) {
	refuse := func(string) error { return &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED} }
	tests := map[string]struct {
		host    func(int) string
		dial    func(string) error
		handler http.HandlerFunc
		longest time.Duration // as docs/reliability.md says
	}{
		"hangs":             {oneHost, nil, hang, 51 * time.Second},
		"hangs_in_the_body": {oneHost, nil, func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); hang(w, r) }, 51 * time.Second},
		"every_host_hangs":  {func(i int) string { return fmt.Sprintf("host%d.test", i) }, nil, hang, 50 * time.Second},
		"refuses":           {oneHost, refuse, hang, 3 * time.Second},
		"429":               {oneHost, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, 4 * time.Second},
		"429_with_a_time":   {oneHost, nil, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "30"); w.WriteHeader(429) }, 30 * time.Second},
		"429_with_two_hours": {oneHost, nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(429)
		}, 0},
		"503_for_ever": {oneHost, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, 4 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took, errs := questions(t, inMemory(t, tt.dial, tt.handler), 17, tt.host)
				t.Logf("%s", took)
				if took > tt.longest {
					t.Errorf("17 questions took %s, want at most %s", took, tt.longest)
				}
				for i, err := range errs {
					if err == nil {
						t.Errorf("question %d was answered", i)
					}
				}
			})
		})
	}
}

// TestHiccupOpensNoCircuit refuses for less time than questions are tried again.
func TestHiccupOpensNoCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		down := func(string) error {
			if time.Since(began) < 2*time.Second {
				return &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			}
			return nil
		}
		c := inMemory(t, down, answer("here"))
		_, errs := questions(t, c, 8, oneHost)
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		if len(c.Outages()) > 0 {
			t.Errorf("outages %v, want none", c.Outages())
		}
	})
}

func TestStatusesOpenNoCircuit(t *testing.T) {
	for _, status := range []int{401, 404, 429, 500} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int64
			c := inMemory(t, nil, func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); w.WriteHeader(status) })
			for i := range 2 * pathsInRow {
				resp, err := c.Do(t.Context(), Request{URL: parse(t, fmt.Sprintf("http://registry.test/%d", i)), NoRetry: true})
				if err != nil || resp.Status != status {
					t.Fatalf("Do = %v, %v, want %d", resp, err, status)
				}
			}
			if asked.Load() != 2*pathsInRow || len(c.Outages()) > 0 {
				t.Errorf("status %d: asked %d times, outages %v; want every question asked", status, asked.Load(), c.Outages())
			}
		})
	}
}

func TestInterruptOpensNoCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := inMemory(t, nil, hang)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		for i := range 2 * pathsInRow {
			all.Go(func() { c.Do(ctx, Request{URL: parse(t, fmt.Sprintf("http://registry.test/%d", i))}) })
		}
		all.Wait()
		if out := c.Outages(); len(out) != 0 {
			t.Errorf("Outages() = %v, want none for what nobody waited for", out)
		}
	})
}

// TestSlowTransferGivesItsPlaceToOthers sends ten bytes a second, which would take
// three hours, and what is just fast enough.
func TestSlowTransferGivesItsPlaceToOthers(t *testing.T) {
	tests := map[string]struct {
		each time.Duration // for 100 bytes
		ends bool
		took time.Duration
		left int
	}{
		// Nothing arrives just when a minute ends: which comes first would be chance.
		"ten_bytes_a_second":     {9700 * time.Millisecond, false, time.Minute, 1},
		"two_kibibytes_a_second": {50 * time.Millisecond, true, time.Minute, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := inMemory(t, nil, func(w http.ResponseWriter, r *http.Request) {
					from := 0
					fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
					p := rest(from, len(content))
					maps.Copy(w.Header(), p.header)
					if from > 0 {
						w.WriteHeader(p.status)
					} else {
						w.Header().Del("Content-Range")
					}
					for part := range slices.Chunk([]byte(p.body), 100) {
						select {
						case <-time.After(tt.each):
						case <-r.Context().Done():
							return
						}
						if _, err := w.Write(part); err != nil {
							return
						}
						w.(http.Flusher).Flush()
					}
				})
				var seen turns
				began := time.Now()
				_, body, err := c.Stream(t.Context(), Request{URL: parse(t, "http://registry.test/zip"), Limit: 1 << 20, Turn: &seen})
				if err != nil {
					t.Fatal(err)
				}
				defer body.Close()
				got, err := io.ReadAll(body)
				if took := time.Since(began); took > tt.took || seen.left != tt.left {
					t.Errorf("it took %s, and the turn was left %d times; want at most %s and %d times", took, seen.left, tt.took, tt.left)
				}
				if tt.ends != (err == nil && string(got) == content) {
					t.Errorf("read %d bytes, %v; want all: %v", len(got), err, tt.ends)
				}
			})
		})
	}
}
