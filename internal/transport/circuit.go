package transport

import (
	"slices"
	"time"
)

// The patience with a host that leaves questions without an answer.
const (
	// pathsInRow is how many different paths without an answer open the circuit of a
	// host. One alone may be broken by itself, however often it is asked.
	pathsInRow = 3
	// hiccup is how long they have to last. It is as long as one question is tried
	// again: a server that refuses for a shorter time, as one that starts again, is
	// not down.
	hiccup = 3 * time.Second
	// probeTimeout is how long a host that did not answer has for its next chance.
	probeTimeout = 10 * time.Second
	// betweenProbes is how long nothing new is asked after a probe that failed.
	betweenProbes = 15 * time.Second
)

// circuit is open while a host leaves questions without an answer.
type circuit struct {
	silent      []string  // different paths without an answer, in a row: pathsInRow at most
	first, last time.Time // when the first of these was asked, and when a question failed last
	cause       error     // of the last
}

func (c *circuit) open() bool {
	return len(c.silent) == pathsInRow && c.last.Sub(c.first) >= hiccup
}

// failed notes a question without an answer. One that is repeated says nothing new
// but how long this lasts.
func (c *circuit) failed(path string, asked time.Time, cause error) {
	if len(c.silent) == 0 {
		c.first = asked
	}
	if len(c.silent) < pathsInRow && !slices.Contains(c.silent, path) {
		c.silent = append(c.silent, path)
	}
	c.last, c.cause = time.Now(), cause
}

// began notes that an answer has begun. It may still fail to come whole, so that one
// more path without an answer opens the circuit again.
func (c *circuit) began() { c.silent = c.silent[:min(len(c.silent), pathsInRow-1)] }

// answered notes a whole answer.
func (c *circuit) answered() { c.silent = nil }

// gate lets one probe at a time pass to what may not answer.
type gate struct {
	probe  chan struct{} // closed at the end of the probe under way; nil if there is none
	failed time.Time     // the end of the last probe that failed
}

// enter reports whether the caller is the probe, which has to call leave. Else the
// caller waits for the probe under way; where there is none, one has just failed.
func (g *gate) enter() (probing bool, wait <-chan struct{}) {
	switch {
	case g.probe != nil:
		return false, g.probe
	case !g.failed.IsZero() && time.Since(g.failed) < betweenProbes:
		return false, nil
	}
	g.probe = make(chan struct{})
	return true, g.probe
}

// leave ends the probe. One that nobody wanted any more has not failed.
func (g *gate) leave(failed bool) {
	close(g.probe)
	g.probe = nil
	if failed {
		g.failed = time.Now()
	}
}
