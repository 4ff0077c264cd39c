package transport

import (
	"cmp"
	"context"
	"io"
	"net/url"
	"time"
)

// bounded limits the bytes of a body. Every error but io.EOF is a *problem.Error.
type bounded struct {
	inquiry *inquiry
	url     *url.URL
	body    io.ReadCloser
	limit   int64
	left    int64
}

// Read reads one byte beyond the limit, to see whether the body ends there.
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
	}
	return n, b.inquiry.failure(b.url, err)
}

// watched compares the time spent waiting for a stream's data with the bytes that
// arrived. The time of a slow reader does not count.
func (b *bounded) watched(p []byte) (int, error) {
	if !b.inquiry.stream {
		return b.body.Read(p)
	}
	b.inquiry.wait()
	n, err := b.body.Read(p)
	b.inquiry.rest(n)
	return n, err
}

func (b *bounded) Close() error { return b.body.Close() }

// arriving is the body of an answer while it arrives. It counts the bytes and
// reports the state of the host.
type arriving struct {
	io.ReadCloser
	guard   *guard
	attempt *attempt
	ctx     context.Context // of the request: it ends with the body
	cancel  context.CancelCauseFunc
	stand   time.Duration // the longest silence of a stream; 0 for no limit
	try     *time.Timer   // ends the request; nil if nothing ends it
	begins  func()        // called once, when the body begins
	read    int64
	told    bool
}

func (a *arriving) Read(p []byte) (int, error) {
	if a.stand > 0 {
		a.try.Reset(a.stand)
	}
	n, err := a.ReadCloser.Read(p)
	if a.stand > 0 {
		a.try.Stop()
	}
	a.guard.shared.bytes.Add(int64(n))
	if a.begins != nil && (err == nil || err == io.EOF) {
		a.begins()
		a.begins = nil
	}
	if err != nil && err != io.EOF {
		err = lateness(a.ctx, err)
	}
	a.read += int64(n)
	if err != nil || a.read >= floorSize {
		a.tell(err)
	}
	return n, err
}

// tell reports the state of the host once. A host that cuts a body off is up.
func (a *arriving) tell(err error) {
	if a.told {
		return
	}
	a.told = true
	if err != nil && err != io.EOF && a.late() {
		if cause := cmp.Or(context.Cause(a.ctx), context.DeadlineExceeded); cause != context.Canceled {
			err = cause // it says how long the wait was
		}
		a.attempt.failed(err)
		return
	}
	a.attempt.well()
}

// late reports whether the question's time is over. Then the connection is closed
// before the context says so, and the host has not cut it off.
func (a *arriving) late() bool {
	deadline, bounded := a.ctx.Deadline()
	return a.ctx.Err() != nil || bounded && !time.Now().Before(deadline)
}

func (a *arriving) Close() error {
	a.tell(nil)
	defer a.cancel(nil)
	stop(a.try)
	return a.ReadCloser.Close()
}
