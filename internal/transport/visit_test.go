package transport

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/relock-dev/relock/internal/problem"
)

// visit is another program at a URL, which gets no answer for a while.
func visit(t *testing.T, c *Client, url string, patience time.Duration) error {
	t.Helper()
	visiting, leave, err := c.Visit(t.Context(), parse(t, url))
	if err != nil {
		return err
	}
	select {
	case <-visiting.Done():
		err = context.Cause(visiting)
	case <-time.After(patience):
		err = Late("nothing came", patience)
	}
	leave(err)
	return err
}

// TestVisitsCountForTheCircuit has a program that gets no answer at three paths of a
// host: nobody asks that host then, until a short probe has found it well.
func TestVisitsCountForTheCircuit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		for _, path := range []string{"/a", "/b", "/b", "/c"} {
			if down := len(c.Outages()); down != 0 {
				t.Errorf("before %s %d hosts are down, want none", path, down)
			}
			if err := visit(t, c, "ssh://git.test"+path, time.Minute); !Unanswered(err) {
				t.Errorf("visit of %s = %v, want no answer", path, err)
			}
		}
		if down := c.Outages(); len(down) != 1 || down[0].Server != "git.test:22" {
			t.Errorf("hosts that are down: %v, want git.test:22", down)
		}
		for _, want := range []time.Duration{probeTimeout, 0} { // a probe, and what comes after it
			began := time.Now()
			err := visit(t, c, "ssh://git.test/d", time.Minute)
			if took := time.Since(began); !Unanswered(err) || took != want {
				t.Errorf("visit of a host that is down = %v after %s, want no answer after %s", err, took, want)
			}
		}
		time.Sleep(betweenProbes)
		_, leave, err := c.Visit(t.Context(), parse(t, "ssh://git.test/e"))
		if err != nil {
			t.Fatalf("a probe after %s: %v", betweenProbes, err)
		}
		leave(nil)
		if down := c.Outages(); len(down) != 0 {
			t.Errorf("hosts that are down after an answer: %v, want none", down)
		}
	})
}

// TestInterruptedVisitsSayNothing ends a run while a program waits for a host.
func TestInterruptedVisitsSayNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		for _, path := range []string{"/a", "/b", "/c"} {
			ctx, cancel := context.WithCancel(t.Context())
			_, leave, err := c.Visit(ctx, parse(t, "ssh://git.test"+path))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			cancel()
			leave(errors.New("killed"))
		}
		if down := c.Outages(); len(down) != 0 {
			t.Errorf("hosts that are down: %v, want none", down)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := c.Visit(ctx, parse(t, "ssh://git.test/a")); !problem.Coded(err, problem.CodeCancelled) {
			t.Errorf("a visit after the end = %v, want code %q", err, problem.CodeCancelled)
		}
	})
}

// A server that says nothing is known as one, by a question and by a stream. Where
// net/http gave up at the same moment, chance decided that.
func TestSilenceIsUnanswered(t *testing.T) {
	t.Parallel()
	if headerTimeout <= DefaultTimeout || headerTimeout <= standTime {
		t.Errorf("net/http waits %s, a try %s and a stream %s: its own end must come later", headerTimeout, DefaultTimeout, standTime)
	}
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			c := inMemory(t, nil, hang)
			for _, path := range []string{"/a", "/b"} {
				if _, _, err := c.Stream(t.Context(), Request{URL: parse(t, "http://git.test"+path), Limit: 1}); !Unanswered(err) {
					t.Errorf("Unanswered(%v) = false", err)
				}
			}
		})
	}
}
