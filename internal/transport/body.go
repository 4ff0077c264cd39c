package transport

import (
	"cmp"
	"context"
	"io"
	"net/url"
	"time"
)

// bounded reads a body up to its limit. Every error but io.EOF is a
// *provider.Error.
type bounded struct {
	ctx   context.Context // of the request: the body's life ends with it
	url   *url.URL
	body  io.ReadCloser
	limit int64
	left  int64

	// Of streams only.
	timer    *time.Timer   // ends the request
	stall    time.Duration // for each floorSize
	patience time.Duration // what is left of it
	arrived  int64         // of floorSize
	stalled  error
	cancel   context.CancelCauseFunc
}

// Read reads one byte more than the limit allows, to tell a body that ends
// there from one that goes on.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, tooLong(b.url, b.limit)
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.watched(p)
	b.left -= int64(n)
	switch {
	case b.left < 0:
		return n - 1, tooLong(b.url, b.limit)
	case err == nil || err == io.EOF:
		return n, err
	case b.stalled != nil && context.Cause(b.ctx) == b.stalled:
		return n, failure(context.WithoutCancel(b.ctx), b.url, b.stalled)
	}
	return n, failure(b.ctx, b.url, err)
}

// watched counts the time that is spent waiting for data against what has
// arrived. A reader that is slow itself is no fault of the server.
func (b *bounded) watched(p []byte) (int, error) {
	if b.timer == nil {
		return b.body.Read(p)
	}
	began := time.Now()
	b.timer.Reset(b.patience)
	n, err := b.body.Read(p)
	b.timer.Stop()
	b.patience -= time.Since(began)
	if b.arrived += int64(n); b.arrived >= floorSize {
		b.arrived, b.patience = 0, b.stall
	}
	return n, err
}

func (b *bounded) Close() error {
	if b.timer != nil {
		b.timer.Stop()
		defer b.cancel(nil)
	}
	return b.body.Close()
}

// arriving is the body of an answer, as it arrives: it is counted, and tells how the
// host is.
type arriving struct {
	io.ReadCloser
	guard    *guard
	ctx      context.Context // of the request: the body's life ends with it
	hostport string
	began    time.Time
	cancel   context.CancelCauseFunc // of the request
	begins   func()                  // called when the body does; then nil
	read     int64
	told     bool
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	a.guard.bytes.Add(int64(n))
	if a.begins != nil && (err == nil || err == io.EOF) {
		a.begins()
		a.begins = nil
	}
	if err != nil && context.Cause(a.ctx) == errNoAnswer {
		err = errNoAnswer
	}
	if a.read += int64(n); err != nil || a.read >= floorSize {
		a.tell(err)
	}
	return n, err
}

// tell says how the host is, once. One that cuts a body off is there.
func (a *arriving) tell(err error) {
	if a.told {
		return
	}
	a.told = true
	if err != nil && err != io.EOF && a.late() {
		if cause := cmp.Or(context.Cause(a.ctx), context.DeadlineExceeded); cause != context.Canceled {
			err = cause // which says how long it took
		}
		a.guard.hosts.failed(a.ctx, a.hostport, a.began, err)
		return
	}
	a.guard.hosts.well(a.hostport)
}

// late reports whether the time of the question is over. The connection is closed
// for that before the context says so, and it is not the host that cut it off.
func (a *arriving) late() bool {
	deadline, bounded := a.ctx.Deadline()
	return a.ctx.Err() != nil || bounded && !time.Now().Before(deadline)
}

func (a *arriving) Close() error {
	a.tell(nil)
	defer a.cancel(nil)
	return a.ReadCloser.Close()
}
