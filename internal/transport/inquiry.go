package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/relock-dev/relock/internal/problem"
)

// The patience with one question.
const (
	// questionTime is what a question has with all its tries, and a stream for each
	// floorSize bytes. A package may be large and a line slow, so its whole time
	// cannot be bounded; but what is slower than this would hold its place for hours.
	questionTime = time.Minute
	floorSize    = 64 << 10
	// standTime is for how long nothing of a stream may arrive before its rest is
	// asked for again.
	standTime = 30 * time.Second
)

// late is why something is given up: it did not come in its time.
type late struct {
	what  string
	after time.Duration
}

func (l *late) Error() string { return l.what + " within " + inSeconds(l.after) }

// inSeconds is a time as people read it.
func inSeconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'g', 3, 64) + " s"
}

// Timeout implements net.Error.
func (l *late) Timeout() bool { return true }

// Temporary implements net.Error.
func (l *late) Temporary() bool { return true }

func noAnswer(d time.Duration) error { return &late{"no answer", d} }

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// inquiry is a question with all its tries. It travels in their contexts. One
// goroutine makes the tries and reads their answers.
type inquiry struct {
	ctx    context.Context // of its tries: it ends with the time of the question
	cancel context.CancelCauseFunc
	caller context.Context // of the caller; nil if this package does not know it
	key    string          // of what hosts.stuck holds
	// try is the time of one try with its body; of a stream, for which nothing of it
	// may arrive. 0: nobody bounds it here.
	try    time.Duration
	stream bool

	// The time that is left runs while somebody waits for the server.
	timer       *time.Timer // cancels the tries
	whole, left time.Duration
	since       time.Time // that somebody waits; zero: nobody does
	arrived     int64     // of floorSize
	flowing     bool      // the body of a stream has begun

	// What has happened to it so far.
	probing  *gate // that the question passed as a probe
	repeated bool  // it has been sent before
	last     bool  // it must not be sent again
	// Guarded by hosts.mu: it has been sent and had no answer, its time is over, and
	// it has ended.
	silent, spent, ended bool
}

type inquiryKey struct{}

// inquiryOf returns the question that a context belongs to. That of a request that
// some library makes knows nothing.
func inquiryOf(ctx context.Context) *inquiry {
	if q, ok := ctx.Value(inquiryKey{}).(*inquiry); ok {
		return q
	}
	return &inquiry{}
}

// newInquiry begins a question, whose time runs from now on. Where an earlier one
// to the same URL has spent its time, this one is a probe with less, and others wait
// for it. The caller ends it.
func (h *hosts) newInquiry(ctx context.Context, method string, u *url.URL, try time.Duration) (*inquiry, error) {
	key := cmp.Or(method, http.MethodGet) + " " + HostPort(u) + u.EscapedPath()
	stuck, err := h.unstick(ctx, key, HostPort(u))
	if err != nil {
		return nil, err
	}
	whole := max(questionTime, try)
	if stuck != nil {
		whole = probeTimeout
	}
	q := &inquiry{caller: ctx, key: key, try: try, left: whole, whole: whole, probing: stuck}
	q.repeated, q.silent = stuck != nil, stuck != nil
	tries, cancel := context.WithCancelCause(ctx)
	q.ctx, q.cancel = context.WithValue(tries, inquiryKey{}, q), cancel
	q.timer = time.AfterFunc(q.left, func() { h.spend(q) })
	q.since = time.Now()
	return q, nil
}

// unstick returns the gate of a URL that has left a question without an answer for
// all its time, once the caller may pass it as a probe; nil where there is none.
func (h *hosts) unstick(ctx context.Context, key, hostport string) (*gate, error) {
	for {
		h.mu.Lock()
		stuck := h.stuck[key]
		if stuck == nil {
			h.mu.Unlock()
			return nil, nil
		}
		probing, wait := stuck.enter()
		h.mu.Unlock()
		switch {
		case probing:
			return stuck, nil
		case wait == nil:
			return nil, &outage{hostport, "has not answered this a moment ago"}
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// spend ends a question whose time is over.
func (h *hosts) spend(q *inquiry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if q.ended {
		return // in the same moment
	}
	q.spent = true
	if h.stuck[q.key] == nil && !unwanted(q.ctx) {
		h.stuck[q.key] = &gate{}
	}
	q.cancel(noAnswer(q.whole))
}

// end ends a question, answered or not.
func (h *hosts) end(q *inquiry) {
	q.timer.Stop()
	q.cancel(nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	if q.ended {
		return // a body may be closed twice
	}
	q.ended = true
	if q.probing == nil {
		return
	}
	q.probing.leave(q.spent)
	if !q.spent && !unwanted(q.ctx) {
		delete(h.stuck, q.key)
	}
}

// wait says that somebody waits for the server from now on.
func (q *inquiry) wait() {
	q.since = time.Now()
	q.timer.Reset(q.left)
}

// rest says that nobody waits any more, and how many bytes have arrived meanwhile.
func (q *inquiry) rest(n int) {
	q.timer.Stop()
	q.left -= time.Since(q.since)
	q.since = time.Time{}
	q.arrived += int64(n)
	if q.arrived >= floorSize {
		q.arrived, q.left = 0, questionTime
	}
}

// remains is the time that the question still has.
func (q *inquiry) remains() time.Duration {
	left := q.left
	if !q.since.IsZero() {
		left -= time.Since(q.since)
	}
	if end, bounded := q.caller.Deadline(); bounded {
		left = min(left, time.Until(end))
	}
	return left
}

// bears reports whether the question can wait so long, and be asked again then.
func (q *inquiry) bears(pause time.Duration) bool {
	return q.caller != nil && pause <= maxRetryAfter && pause < q.remains()
}

// unwanted reports whether nobody wants the answer to a request any more.
func unwanted(ctx context.Context) bool {
	caller := inquiryOf(ctx).caller
	if caller == nil {
		// The patience of a library ends so. An interrupt, and the end of a run, have
		// another cause.
		return ctx.Err() != nil && context.Cause(ctx) != context.DeadlineExceeded
	}
	end, bounded := caller.Deadline()
	return caller.Err() != nil || bounded && !time.Now().Before(end)
}

// failure is the error of the question.
func (q *inquiry) failure(u *url.URL, err error) *problem.Error {
	// Of a try that the end of the time has ended nothing else is known.
	err = lateness(q.ctx, err)
	if context.Cause(q.ctx) == err && q.flowing {
		err = &late{fmt.Sprintf("less than %d bytes", floorSize), q.whole}
	}
	return failure(q.caller, u, err)
}
