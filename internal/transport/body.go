package transport

import (
	"context"
	"io"
	"net/url"
	"sync/atomic"
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
	timer   *time.Timer
	stall   time.Duration
	stalled error
	cancel  context.CancelCauseFunc
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
	n, err := b.body.Read(p)
	if b.timer != nil {
		b.timer.Reset(b.stall)
	}
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

func (b *bounded) Close() error {
	if b.timer != nil {
		b.timer.Stop()
		defer b.cancel(nil)
	}
	return b.body.Close()
}

// counted adds what is read of a body to a counter.
type counted struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}
