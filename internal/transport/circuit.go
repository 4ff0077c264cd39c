package transport

import (
	"slices"
	"time"
)

// The patience with a silent host.
const (
	// pathsInRow is the number of different paths without an answer that open the
	// circuit of a host. A single path may be broken by itself.
	pathsInRow = 3
	// hiccup is how long the silence must last. It is as long as the tries of one
	// question: a server that restarts faster is not down.
	hiccup = 3 * time.Second
	// probeTimeout is the time for a probe of a silent host.
	probeTimeout = 10 * time.Second
	// betweenProbes is the pause after a failed probe, in which nothing new is
	// asked.
	betweenProbes = 15 * time.Second
)

// circuit is open while a host is silent.
type circuit struct {
	silent      []string  // different paths without an answer, in a row; at most pathsInRow
	first, last time.Time // when the first of these was asked, and when the last question failed
	cause       error     // of the last failure
}

func (c *circuit) open() bool {
	return len(c.silent) == pathsInRow && c.last.Sub(c.first) >= hiccup
}

// failed records a question without an answer. A repeated path only prolongs the
// silence.
func (c *circuit) failed(path string, asked time.Time, cause error) {
	if len(c.silent) == 0 {
		c.first = asked
	}
	if len(c.silent) < pathsInRow && !slices.Contains(c.silent, path) {
		c.silent = append(c.silent, path)
	}
	c.last, c.cause = time.Now(), cause
}

// began records that an answer has begun. It may still be cut off, so one more
// path without an answer opens the circuit again.
func (c *circuit) began() { c.silent = c.silent[:min(len(c.silent), pathsInRow-1)] }

// answered records a complete answer.
func (c *circuit) answered() { c.silent = nil }

// gate lets one probe at a time pass to a host or URL that may be silent.
type gate struct {
	probe  chan struct{} // closed when the present probe ends; nil without one
	failed time.Time     // when the last failed probe ended
}

// enter reports whether the caller is the probe; then it must call leave.
// Otherwise the caller waits on wait. A nil wait means that a probe has just
// failed.
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

// leave ends the probe. A cancelled probe has not failed.
func (g *gate) leave(failed bool) {
	close(g.probe)
	g.probe = nil
	if failed {
		g.failed = time.Now()
	}
}
