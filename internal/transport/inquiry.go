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
	// questionTime is the time of a question with all its tries, and of a stream
	// for each floorSize bytes. It does not limit a whole stream, since a package
	// may be large and a line slow. A slower stream would hold its place for
	// hours.
	questionTime = time.Minute
	floorSize    = 64 << 10
	// standTime is the silence of a stream after which its rest is requested
	// again.
	standTime = 30 * time.Second
)

// late is the error of an answer that did not come in time.
type late struct {
	what  string
	after time.Duration
}

func (l *late) Error() string { return l.what + " within " + inSeconds(l.after) }

// inSeconds is a duration for people.
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

// inquiry is a question with all its tries, whose contexts carry it. One
// goroutine makes the tries and reads their answers.
type inquiry struct {
	ctx    context.Context // of its tries: it ends when the question's time is over
	cancel context.CancelCauseFunc
	caller context.Context // of the caller; nil if unknown to this package
	key    string          // in hosts.stuck
	// try is the time of one try with its body. For a stream, it is the longest
	// silence. 0 means no limit here.
	try    time.Duration
	stream bool

	// The remaining time runs while somebody waits for the server.
	timer       *time.Timer // cancels the tries
	whole, left time.Duration
	since       time.Time // when the wait began; zero without a wait
	arrived     int64     // bytes of the present floorSize
	flowing     bool      // the body of a stream has begun

	// The history of the question.
	probing  *gate // that the question passed as a probe
	repeated bool  // it has been sent before
	last     bool  // it must not be sent again
	// Guarded by hosts.mu. silent: it was sent and got no answer. spent: its time
	// is over. ended: it has ended.
	silent, spent, ended bool
}

type inquiryKey struct{}

// inquiryOf returns the question of a context. A library's request gets an empty
// one.
func inquiryOf(ctx context.Context) *inquiry {
	if q, ok := ctx.Value(inquiryKey{}).(*inquiry); ok {
		return q
	}
	return &inquiry{}
}

// newInquiry begins a question; its time starts now. If an earlier question to
// the same URL used up its time, this one is a probe with less time, and others
// wait for it. The caller ends it.
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

// unstick returns the gate of a URL after a question used up its time, once the
// caller may pass as a probe; nil without such a URL.
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
		if err := await(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// spend ends a question whose time is over.
func (h *hosts) spend(q *inquiry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if q.ended {
		return // it ended at the same moment
	}
	q.spent = true
	if h.stuck[q.key] == nil && !unwanted(q.ctx) {
		h.stuck[q.key] = &gate{}
	}
	q.cancel(noAnswer(q.whole))
}

// end ends a question, with or without an answer.
func (h *hosts) end(q *inquiry) {
	q.timer.Stop()
	q.cancel(nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	if q.ended {
		return // callers may close a body twice
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

// wait starts the time of a wait for the server.
func (q *inquiry) wait() {
	q.since = time.Now()
	q.timer.Reset(q.left)
}

// rest ends the wait, and counts the bytes that arrived.
func (q *inquiry) rest(n int) {
	q.timer.Stop()
	q.left -= time.Since(q.since)
	q.since = time.Time{}
	q.arrived += int64(n)
	if q.arrived >= floorSize {
		q.arrived, q.left = 0, questionTime
	}
}

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

// bears reports whether the question has time for the pause and a retry.
func (q *inquiry) bears(pause time.Duration) bool {
	return q.caller != nil && pause <= maxRetryAfter && pause < q.remains()
}

// unwanted reports whether the caller of a request has gone.
func unwanted(ctx context.Context) bool {
	caller := inquiryOf(ctx).caller
	if caller == nil {
		// A library's own timeout ends so. An interrupt, and the end of a run,
		// have another cause.
		return ctx.Err() != nil && context.Cause(ctx) != context.DeadlineExceeded
	}
	end, bounded := caller.Deadline()
	return caller.Err() != nil || bounded && !time.Now().Before(end)
}

func (q *inquiry) failure(u *url.URL, err error) *problem.Error {
	// A try that ended with the question's time has no other reason.
	err = lateness(q.ctx, err)
	if context.Cause(q.ctx) == err && q.flowing {
		err = &late{fmt.Sprintf("less than %d bytes", floorSize), q.whole}
	}
	return failure(q.caller, u, err)
}
