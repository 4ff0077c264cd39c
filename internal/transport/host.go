package transport

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
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
	mu     sync.Mutex
	known  map[string]*host // by host and port
	stuck  map[string]*gate // of what has not been answered in its time, by inquiry.key
	events int64            // counts what is sent and what is heard, to say which was first
	// answered is whether any host has, silent those that timed out before.
	answered bool
	silent   map[string]bool
}

// host is the state of one host.
type host struct {
	places   chan struct{} // holds an element for each question that is open
	circuit  circuit
	pauses   pauses
	gate     gate // of new questions, while the circuit is open or the host busy for too long
	troubles int  // answers 429 and 5xx, in a row
}

// outage is why a question is not sent.
type outage struct {
	hostport string
	why      string
}

func (o *outage) Error() string { return o.hostport + " " + o.why }

func newHosts() hosts {
	return hosts{known: map[string]*host{}, stuck: map[string]*gate{}, silent: map[string]bool{}}
}

// state returns the state of a host. The mutex is held.
func (h *hosts) state(hostport string) *host {
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
		return nil, context.Cause(ctx)
	}
}

// attempt is one request to a host, from when it may be sent to what happens to it.
type attempt struct {
	hosts    *hosts
	host     *host
	hostport string
	path     string
	ctx      context.Context // of the request
	began    time.Time
	sent     int64 // by hosts.events
	brief    bool  // the answer has to begin within probeTimeout
	probing  bool  // others wait for what happens to it
}

// enter waits until a request may be sent. While the circuit is open, or the host
// is busy for longer than the question can wait, the first new question is a probe
// and others wait for it; after one that failed they fail at once for a while. What
// was asked before has one more try, beside the probes: it is known to be silent.
func (h *hosts) enter(ctx context.Context, hostport, path string) (*attempt, error) {
	for {
		next, err := h.admit(ctx, hostport, path)
		switch {
		case err != nil:
		case next.probe != nil:
			err = await(ctx, next.probe)
		case next.pause > 0:
			err = waitFor(ctx, next.pause)
		default:
			return next.attempt, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// admission is what a request gets that wants to be sent: an attempt, or what it must
// wait for before it asks again.
type admission struct {
	attempt *attempt
	probe   <-chan struct{} // closed at its end; nil: there is none
	pause   time.Duration   // that the host asks for
}

// admit lets a request be sent, or wait; else the error is an outage.
func (h *hosts) admit(ctx context.Context, hostport, path string) (admission, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, q := h.state(hostport), inquiryOf(ctx)
	h.events++
	a := &attempt{hosts: h, host: s, hostport: hostport, path: path, ctx: ctx, began: time.Now(), sent: h.events}
	open, busy := s.circuit.open(), s.pauses.left()
	if q.caller == nil { // a library waits by rules of its own
		busy = 0
	}
	if !open && busy == 0 {
		a.brief = h.doubtful()
		return admission{attempt: a}, nil
	}
	if !open && s.pauses.bearable() && q.bears(busy) {
		return admission{pause: busy}, nil
	}
	a.brief = true
	if open && q.repeated && q.silent {
		q.last = true
		return admission{attempt: a}, nil
	}
	probing, probe := s.gate.enter()
	if probing {
		a.probing, q.last = true, true
		return admission{attempt: a}, nil
	}
	if probe != nil {
		return admission{probe: probe}, nil
	}
	if open {
		return admission{}, &outage{hostport, "does not answer"}
	}
	return admission{}, &outage{hostport, "asks to come back later"}
}

func await(ctx context.Context, end <-chan struct{}) error {
	select {
	case <-end:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func waitFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// doubtful reports whether it seems that the machine has no line. The mutex is
// held.
func (h *hosts) doubtful() bool { return !h.answered && len(h.silent) >= silentHosts }

// heard notes what an answer says of how its host is.
func (a *attempt) heard(resp *http.Response) {
	a.hosts.mu.Lock()
	defer a.hosts.mu.Unlock()
	if !troubled(resp) {
		a.host.troubles = 0
		a.host.pauses.answered(a.sent)
		return
	}
	a.host.troubles++
	if pause, asked := pauseOf(resp); asked {
		a.hosts.events++
		a.host.pauses.add(saying{path: a.path, until: time.Now().Add(pause), at: a.hosts.events})
	}
}

// alive says that an answer has begun to arrive. A probe ends with that; what it
// asked for may still fail to come whole.
func (a *attempt) alive() {
	a.hosts.mu.Lock()
	defer a.hosts.mu.Unlock()
	a.hosts.answered = true
	if a.probing {
		a.host.circuit.began()
	}
	a.leave(false)
}

// well says that a whole answer has come.
func (a *attempt) well() {
	a.hosts.mu.Lock()
	defer a.hosts.mu.Unlock()
	a.hosts.answered = true
	a.host.circuit.answered()
	a.leave(false)
}

// failed says that there was no answer, or not in time. That nobody wants it any
// more, as after an interrupt, says nothing about the host.
func (a *attempt) failed(cause error) {
	a.hosts.mu.Lock()
	defer a.hosts.mu.Unlock()
	if unwanted(a.ctx) {
		a.leave(true)
		return
	}
	a.host.circuit.failed(a.path, a.began, cause)
	inquiryOf(a.ctx).silent = true
	if timedOut(cause) {
		a.hosts.silent[a.hostport] = true
	}
	a.leave(false)
}

// unsent says that this package has refused to connect.
func (a *attempt) unsent() {
	a.hosts.mu.Lock()
	defer a.hosts.mu.Unlock()
	a.leave(true)
}

// leave ends a probe, so that others go on. The mutex is held.
func (a *attempt) leave(unwanted bool) {
	shut := a.host.circuit.open() || a.host.pauses.left() > 0
	if a.probing {
		a.probing = false
		a.host.gate.leave(shut && !unwanted)
	}
	if !shut {
		a.host.gate.failed = time.Time{}
	}
}

// hopeless reports whether a question that got this answer, or none, is not worth
// another try.
func (h *hosts) hopeless(ctx context.Context, resp *http.Response, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	q := inquiryOf(ctx)
	switch {
	case err != nil:
		return q.last || timedOut(err) && h.doubtful()
	case resp == nil || !troubled(resp):
		return false
	}
	s := h.state(HostPort(resp.Request.URL))
	pause, asked := pauseOf(resp)
	return s.troubles > troublesInRow || asked && !(s.pauses.bearable() && q.bears(pause))
}
