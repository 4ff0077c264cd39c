package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// The patience with a host. That of one question is in Options and Request.
const (
	// failuresInRow is how many questions without an answer open the circuit of a
	// host. Questions are asked side by side, so that this many are no proof: what
	// is asked already may go on trying.
	failuresInRow = 3
	// hiccup is how long they have to last. It is as long as one question is tried
	// again: what refuses for a shorter time, as a server that starts anew, is not
	// down for whoever comes last.
	hiccup = 3 * time.Second
	// probeTimeout is how long a host that did not answer has for its next chance.
	probeTimeout = 10 * time.Second
	// betweenProbes is how long a new question does not try such a host.
	betweenProbes = 15 * time.Second
	// maxPauses bounds what a host may make the run wait by asking again and again
	// to come back later. A single wait is bounded by maxRetryAfter.
	maxPauses = 45 * time.Second
	// troublesInRow is how many refusals and server errors of a host end the trying
	// again: what is tried so often in vain costs the others their time.
	troublesInRow = 24
	// silentHosts is how many hosts have to be silent, and none to have answered,
	// for the line itself to be in doubt.
	silentHosts = 3
	// atOncePerHost bounds the questions that are open at a host at once. They take
	// bytes and no processor, so that their number does not depend on this machine; more
	// would look like an attack to some servers.
	atOncePerHost = 32
)

// hosts knows how each host of a run is. Its times are those of the package time.
type hosts struct {
	mu    sync.Mutex
	known map[string]*host // by host and port
	// answered is whether any host has, silent those that timed out before.
	answered bool
	silent   map[string]bool
}

// host is the state of one host.
type host struct {
	places chan struct{} // holds an element for each question that is open

	failures    int       // questions without an answer, in a row
	first, last time.Time // when the first of them was asked, and the last one failed
	cause       error     // of the last
	probe       chan struct{}

	troubles int           // answers 429 and 5xx, in a row
	until    time.Time     // when the host wants to be asked again
	pauses   int           // that it asked for since its last good answer
	paused   time.Duration // by them
}

// outage is why a question is not sent: the host does not answer others.
type outage struct {
	hostport string
	why      string
	retry    bool // whether the question may be tried again
}

func (o *outage) Error() string { return o.hostport + " " + o.why }

// open reports whether the circuit is: then only probes are sent, one at a time.
func (s *host) open() bool {
	return s.failures >= failuresInRow && s.last.Sub(s.first) >= hiccup
}

// state returns the state of a host. The mutex is held.
func (h *hosts) state(hostport string) *host {
	if h.known == nil {
		h.known, h.silent = map[string]*host{}, map[string]bool{}
	}
	if h.known[hostport] == nil {
		h.known[hostport] = &host{places: make(chan struct{}, atOncePerHost)}
	}
	return h.known[hostport]
}

// place waits for a place at a host; leave gives it back.
func (h *hosts) place(ctx context.Context, hostport string) (leave func(), err error) {
	h.mu.Lock()
	places := h.state(hostport).places
	h.mu.Unlock()
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// enter asks whether a request may be sent. Where the circuit is open a new
// question fails at once, unless it is time for a probe; one that is tried again
// is the probe, or waits for it. A probe has less time.
func (h *hosts) enter(ctx context.Context, hostport string) (probing bool, err error) {
	again := triedBefore(ctx)
	for waited := false; ; waited = true {
		h.mu.Lock()
		s := h.state(hostport)
		open, probe := s.open(), s.probe
		may := probe == nil && !waited && (again || time.Since(s.last) >= betweenProbes)
		if open && may {
			s.probe = make(chan struct{})
		}
		doubtful := h.doubtful()
		h.mu.Unlock()
		switch {
		case !open:
			return doubtful, nil
		case may:
			return true, nil
		case probe == nil || !again:
			return false, &outage{hostport: hostport, why: "does not answer", retry: again}
		}
		select {
		case <-probe:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// doubtful reports whether it seems that the machine has no line. The mutex is
// held.
func (h *hosts) doubtful() bool { return !h.answered && len(h.silent) >= silentHosts }

// alive says that an answer has begun to arrive. A probe ends with that; what it
// asked for may still fail to come whole.
func (h *hosts) alive(hostport string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered = true
	if s := h.state(hostport); s.probe != nil {
		s.failures = min(s.failures, failuresInRow-1)
		s.endProbe()
	}
}

// well says that a whole answer has come.
func (h *hosts) well(hostport string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.state(hostport)
	h.answered, s.failures = true, 0
	s.endProbe()
}

// failed says that a question got no answer, or not in time. That nobody wants it
// any more, as after an interrupt, says nothing about the host.
func (h *hosts) failed(ctx context.Context, hostport string, began time.Time, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.state(hostport)
	defer s.endProbe()
	if unwanted(ctx) {
		return
	}
	if s.failures++; s.failures == 1 {
		s.first = began
	}
	s.cause, s.last = cause, time.Now()
	if timedOut(cause) {
		h.silent[hostport] = true
	}
}

// endProbe lets those go on who wait for one.
func (s *host) endProbe() {
	if s.probe != nil {
		close(s.probe)
		s.probe = nil
	}
}

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, errNoAnswer)
}

var errNoAnswer = fmt.Errorf("no answer for %s", probeTimeout)

// heard notes what an answer says of how its host is.
func (h *hosts) heard(hostport string, resp *http.Response) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.state(hostport)
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < http.StatusInternalServerError {
		s.troubles, s.pauses, s.paused = 0, 0, 0
		return
	}
	s.troubles++
	until := time.Now().Add(pauseOf(resp))
	if !until.After(s.until) {
		return
	}
	begin := time.Now()
	if s.until.After(begin) {
		begin = s.until
	} else if until.After(begin) {
		s.pauses++
	}
	s.paused += until.Sub(begin)
	s.until = until
}

// pauseOf is how long an answer asks to wait; 0 if it does not.
func pauseOf(resp *http.Response) time.Duration {
	if pauses(resp) {
		return max(retryAfter(resp.Header.Get("Retry-After")), 0)
	}
	return 0
}

// pauses reports whether an answer is one that may ask to wait.
func pauses(resp *http.Response) bool {
	return resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable
}

// pause is how long to wait until the host may be asked, and whether that is worth
// it: before the run ends, and not again and again.
func (h *hosts) pause(ctx context.Context, hostport string) (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.state(hostport)
	left := max(time.Until(s.until), 0)
	if end, bounded := ctx.Deadline(); bounded && left >= time.Until(end) {
		return left, false
	}
	return left, s.paused <= maxRetryAfter && (s.pauses < 2 || s.paused <= maxPauses)
}

// await waits until the host wants to be asked.
func (h *hosts) await(ctx context.Context, hostport string) error {
	for {
		left, worth := h.pause(ctx, hostport)
		switch {
		case left == 0:
			return nil
		case !worth:
			return &outage{hostport: hostport, why: "asks to come back later"}
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// hopeless reports whether a question that got this answer, or none, is not worth
// another try.
func (h *hosts) hopeless(ctx context.Context, resp *http.Response, err error) bool {
	if resp == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		return timedOut(err) && h.doubtful()
	}
	if _, worth := h.pause(ctx, HostPort(resp.Request.URL)); !worth {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state(HostPort(resp.Request.URL)).troubles > troublesInRow
}

// Outage is a host that did not answer.
type Outage struct {
	Host   string // with the port
	Reason error  // of the last question that was asked
}

// Outages returns the hosts whose circuits are open, sorted.
func (c *Client) Outages() []Outage {
	h := &c.guard.hosts
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []Outage
	for name, s := range h.known {
		if s.open() {
			all = append(all, Outage{name, WithoutURLs(s.cause)})
		}
	}
	slices.SortFunc(all, func(a, b Outage) int { return cmp.Compare(a.Host, b.Host) })
	return all
}

// callerKey is the key of the context that the caller of a request gave: the
// request's own also ends where the answer takes too long.
type callerKey struct{}

func withCaller(ctx context.Context) context.Context {
	return context.WithValue(ctx, callerKey{}, ctx)
}

// unwanted reports whether a request ended because its caller's context did.
func unwanted(ctx context.Context) bool {
	if caller, ok := ctx.Value(callerKey{}).(context.Context); ok {
		return caller.Err() != nil
	}
	return errors.Is(ctx.Err(), context.Canceled)
}

type triedKey struct{}

// tried marks a request as one that is sent again.
func tried(req *http.Request) error {
	*req = *req.WithContext(again(req.Context()))
	return nil
}

// again marks the context of a question that is asked again.
func again(ctx context.Context) context.Context { return context.WithValue(ctx, triedKey{}, true) }

func triedBefore(ctx context.Context) bool { return ctx.Value(triedKey{}) != nil }
