package transport

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/relock-dev/relock/internal/provider"
)

// maxResumes is how often a transfer that breaks is taken up again. What breaks
// more often than that will not end in a time that a run can wait.
const maxResumes = 5

// state is what tells a body from any other that its URL may stand for.
type state struct {
	validator string // an entity tag or a date, as If-Range takes it
	size      int64
}

// resumable returns the state of a body whose rest can be asked for: the server
// must have said how long it is, and by what it knows it again, in a way that is
// strong in the words of RFC 9110. A date is so if it is at least a second older
// than the answer. What net/http has unpacked has other bytes than were sent.
func resumable(r Request, resp *Response) (state, bool) {
	s := state{validator: resp.Header.Get("Etag"), size: resp.Size}
	if s.validator == "" {
		s.validator = resp.Header.Get("Last-Modified")
		modified, err := http.ParseTime(s.validator)
		date, dateErr := http.ParseTime(resp.Header.Get("Date"))
		if err != nil || dateErr != nil || date.Sub(modified) < time.Second {
			return s, false
		}
	}
	get := cmp.Or(r.Method, http.MethodGet) == http.MethodGet && r.Header.Get("Range") == ""
	return s, get && resp.Status == http.StatusOK && s.size > 0 && !strings.HasPrefix(s.validator, "W/")
}

// resuming is a body that goes on where its transfer breaks.
type resuming struct {
	client  *Client
	ctx     context.Context // of the request: the body's life ends with it
	request Request
	state
	body io.ReadCloser
	read int64
	left int // of maxResumes
}

// Read returns the error of a broken transfer if it cannot be taken up again.
func (b *resuming) Read(p []byte) (int, error) {
	for {
		n, err := b.body.Read(p)
		b.read += int64(n)
		if err == nil || err == io.EOF || !b.resume(err) {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
	}
}

func (b *resuming) Close() error { return b.body.Close() }

// resume replaces a broken body by one that begins where it ended, and reports
// whether it could. A server that refuses or fails once is not asked again.
func (b *resuming) resume(broken error) bool {
	if !provider.Coded(broken, provider.CodeUnreachable) || b.left == 0 || !b.wait() {
		return false
	}
	b.left--
	rest := b.rest()
	if rest == nil {
		return false
	}
	b.body.Close() // that it broke is known
	b.body = rest
	return true
}

// wait lets the server come to itself, longer each time.
func (b *resuming) wait() bool {
	opts := b.client.opts
	timer := time.NewTimer(retryablehttp.DefaultBackoff(opts.RetryWait, max(maxRetryWait, opts.RetryWait), maxResumes-b.left, nil))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-b.ctx.Done():
		return false
	}
}

// rest asks for what is missing; nil if the server does not give it. It asks the
// URL that was asked first: the one that it redirects to may be for a short time
// or for one use. A server that knows no ranges sends the whole body again.
func (b *resuming) rest() io.ReadCloser {
	r := b.request
	r.Header = http.Header{"Range": {fmt.Sprintf("bytes=%d-", b.read)}, "If-Range": {b.validator}}
	maps.Copy(r.Header, b.request.Header)
	resp, body, err := b.client.begin(b.ctx, r)
	if err != nil {
		return nil
	}
	if b.isRest(resp) {
		return body
	}
	if again, ok := resumable(b.request, resp); ok && again == b.state {
		if _, err := io.CopyN(io.Discard, body, b.read); err == nil {
			return body
		}
	}
	body.Close()
	return nil
}

// isRest reports whether the answer is what is missing of the very same body.
func (b *resuming) isRest(resp *Response) bool {
	etag := resp.Header.Get("Etag")
	return resp.Status == http.StatusPartialContent && resp.Size == b.size-b.read &&
		resp.Header.Get("Content-Range") == fmt.Sprintf("bytes %d-%d/%d", b.read, b.size-1, b.size) &&
		(etag == "" || etag == b.validator || !strings.HasPrefix(b.validator, `"`))
}
