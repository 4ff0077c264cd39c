package transport

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	// troublesInRow is the number of refusals and server errors of a host after
	// which retries end. Further retries would cost other requests their time.
	troublesInRow = 24
	// silentHosts is the number of silent hosts, with none that answers, that
	// suggests that the machine has no network.
	silentHosts = 3
	// atOncePerHost limits the open questions at one host. They wait for the
	// network, not the processor, so the number does not depend on this machine.
	// More would look like an attack to some servers.
	atOncePerHost = 32
)

// hosts has the state of each host of a run. Its times come from package time.
type hosts struct {
	mu     sync.Mutex
	known  map[string]*host // by host and port
	stuck  map[string]*gate // of URLs that did not answer in time, by inquiry.key
	events int64            // counts requests and answers, to order them
	// answered is true after the first answer of any host. silent are the hosts
	// that timed out before.
	answered bool
	silent   map[string]bool
}

type host struct {
	places   chan struct{} // holds an element for each open question
	circuit  circuit
	pauses   pauses
	gate     gate // of new questions, while the circuit is open or the host is busy for too long
	troubles int  // answers 429 and 5xx, in a row
}

// outage is the reason why a question is not sent.
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

// place waits for a place at a host; leave frees it.
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

// attempt is one request to a host, from its permission to its result.
type attempt struct {
	hosts    *hosts
	host     *host
	hostport string
	path     string
	ctx      context.Context // of the request
	began    time.Time
	sent     int64 // in terms of hosts.events
	brief    bool  // the answer must begin within probeTimeout
	probing  bool  // others wait for its result
}

// enter waits until a request may be sent. It matters if the circuit is open, or
// the host busy for longer than the question can wait. Then the first new
// question is a probe, and others wait for its result. After a failed probe they
// fail at once for a while. A question that was sent before has one more try
// beside the probes.
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

// admission answers a request to be sent: it has an attempt, or the event to wait
// for.
type admission struct {
	attempt *attempt
	probe   <-chan struct{} // closed at its end; nil without one
	pause   time.Duration   // that the host demands
}

// admit lets a request be sent, or wait. An error is an outage.
func (h *hosts) admit(ctx context.Context, hostport, path string) (admission, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, q := h.state(hostport), inquiryOf(ctx)
	h.events++
	a := &attempt{hosts: h, host: s, hostport: hostport, path: path, ctx: ctx, began: time.Now(), sent: h.events}
	open, busy := s.circuit.open(), s.pauses.left()
	if q.caller == nil { // a library has its own rules for waiting
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

// doubtful reports whether the machine seems to have no network. The mutex is
// held.
func (h *hosts) doubtful() bool { return !h.answered && len(h.silent) >= silentHosts }

// heard records what an answer says about the state of its host.
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

// alive records that an answer has begun. That ends a probe; the body may still
// break off.
func (a *attempt) alive() {
	a.hosts.mu.Lock()
	defer a.hosts.mu.Unlock()
	a.hosts.answered = true
	if a.probing {
		a.host.circuit.began()
	}
	a.leave(false)
}

// well records a complete answer.
func (a *attempt) well() {
	a.hosts.mu.Lock()
	defer a.hosts.mu.Unlock()
	a.hosts.answered = true
	a.host.circuit.answered()
	a.leave(false)
}

// failed records that there was no answer in time. A cancelled request, as after
// an interrupt, says nothing about the host.
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

// unsent records that this package refused to connect.
func (a *attempt) unsent() {
	a.hosts.mu.Lock()
	defer a.hosts.mu.Unlock()
	a.leave(true)
}

// leave ends a probe, so that others continue. The mutex is held.
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

// hopeless reports whether a retry after this answer or error is useless.
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
